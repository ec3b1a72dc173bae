-- When a feed's entries come out: decayed counts and a profile of hours and weekdays, as JSON. NULL: not
-- learnt yet; the first poll learns it from the entries and fetches that are stored.
ALTER TABLE feeds ADD COLUMN arrivals TEXT;

-- Every time at which an entry came out, six hexadecimal digits each: seconds since the month began (UTC).
-- They outlive entries and fetches, so that other policies can be simulated on a long history.
CREATE TABLE arrival_times (
  feed_no INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  month   INTEGER NOT NULL, -- 202611
  times   TEXT    NOT NULL,
  PRIMARY KEY (feed_no, month)
) STRICT, WITHOUT ROWID;
