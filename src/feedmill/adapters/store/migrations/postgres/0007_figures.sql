-- Figures of polls. Those of a feed's present day stand beside its schedule, in a row that every poll
-- writes anyway; the first poll of another day moves them to feed_days. `today` and `day` count days since 1970.

ALTER TABLE feed_sched ADD COLUMN today integer;
ALTER TABLE feed_sched ADD COLUMN today_polls integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_unchanged integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_same_body integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_failed_ours integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_failed_theirs integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_failed_host integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_bytes_in bigint NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_bytes_decoded bigint NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_bytes_saved bigint NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_entries_new integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_entries_updated integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_elapsed_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_elapsed_ms_max integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_lag double precision NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_lag_max double precision NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_late integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_retries integer NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_interval_sec double precision;
ALTER TABLE feed_sched ADD COLUMN today_ewma_sec double precision;

CREATE TABLE feed_days (
  day             integer NOT NULL,
  feed_no         bigint NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  polls           integer NOT NULL DEFAULT 0,
  unchanged       integer NOT NULL DEFAULT 0,
  same_body       integer NOT NULL DEFAULT 0,
  failed_ours     integer NOT NULL DEFAULT 0,
  failed_theirs   integer NOT NULL DEFAULT 0,
  failed_host     integer NOT NULL DEFAULT 0,
  bytes_in        bigint NOT NULL DEFAULT 0,
  bytes_decoded   bigint NOT NULL DEFAULT 0,
  bytes_saved     bigint NOT NULL DEFAULT 0,
  entries_new     integer NOT NULL DEFAULT 0,
  entries_updated integer NOT NULL DEFAULT 0,
  elapsed_ms      bigint NOT NULL DEFAULT 0,
  elapsed_ms_max  integer NOT NULL DEFAULT 0,
  lag             double precision NOT NULL DEFAULT 0,
  lag_max         double precision NOT NULL DEFAULT 0,
  late            integer NOT NULL DEFAULT 0,
  retries         integer NOT NULL DEFAULT 0,
  interval_sec    double precision,
  ewma_sec        double precision,
  PRIMARY KEY (day, feed_no)
);
CREATE INDEX feed_days_by_feed ON feed_days (feed_no, day);

-- All days of all feeds.
CREATE VIEW feed_figures AS
  SELECT feed_no, day, polls, unchanged, same_body, failed_ours, failed_theirs, failed_host, bytes_in, bytes_decoded, bytes_saved, entries_new, entries_updated, elapsed_ms, elapsed_ms_max, lag, lag_max, late, retries, interval_sec, ewma_sec FROM feed_days
  UNION ALL
  SELECT feed_no, today, today_polls, today_unchanged, today_same_body, today_failed_ours, today_failed_theirs, today_failed_host, today_bytes_in, today_bytes_decoded, today_bytes_saved, today_entries_new, today_entries_updated, today_elapsed_ms, today_elapsed_ms_max, today_lag, today_lag_max, today_late, today_retries, today_interval_sec, today_ewma_sec FROM feed_sched WHERE today IS NOT NULL;

-- How polls failed, exactly; status 0: no answer came.
CREATE TABLE feed_failures (
  day     integer NOT NULL,
  feed_no bigint NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  outcome text COLLATE "C" NOT NULL,
  status  integer NOT NULL,
  polls   integer NOT NULL,
  PRIMARY KEY (day, feed_no, outcome, status)
);
CREATE INDEX feed_failures_by_feed ON feed_failures (feed_no, day);

-- Figures of all feeds together. Each process writes rows of its own, so that they never wait for each
-- other; a span is the sum of its rows, and housekeeping adds them up.
CREATE TABLE poll_totals (
  start    bigint NOT NULL,
  span_sec integer NOT NULL,
  writer   bigint NOT NULL,
  totals   text NOT NULL,  -- JSON
  PRIMARY KEY (start, span_sec, writer)
);

-- What a figure is made of: the interval that a poll waited for, the bytes that a 304 saved, retries.
ALTER TABLE fetches ADD COLUMN interval_sec double precision;
ALTER TABLE fetches ADD COLUMN saved_bytes bigint;
ALTER TABLE fetches ADD COLUMN retries integer NOT NULL DEFAULT 0;
ALTER TABLE feeds ADD COLUMN document_bytes bigint;  -- of the last document, as transferred
UPDATE feeds SET document_bytes =
  (SELECT coalesce(x.wire_length, x.content_length) FROM fetches x WHERE x.fetch_id = feeds.document_fetch_id)
 WHERE document_fetch_id IS NOT NULL;
