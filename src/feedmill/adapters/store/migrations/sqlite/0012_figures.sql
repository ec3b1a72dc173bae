-- Figures of polls. Those of a feed's present day stand beside its schedule, in a row that every poll
-- writes anyway; the first poll of another day moves them to feed_days. `today` and `day` count days since 1970.

ALTER TABLE feed_sched ADD COLUMN today INTEGER;
ALTER TABLE feed_sched ADD COLUMN today_polls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_unchanged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_same_body INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_failed_ours INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_failed_theirs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_failed_host INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_bytes_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_bytes_decoded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_bytes_saved INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_entries_new INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_entries_updated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_elapsed_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_elapsed_ms_max INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_lag REAL NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_lag_max REAL NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_late INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_sched ADD COLUMN today_interval_sec REAL;
ALTER TABLE feed_sched ADD COLUMN today_ewma_sec REAL;

CREATE TABLE feed_days (
  day             INTEGER NOT NULL,
  feed_no         INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  polls           INTEGER NOT NULL DEFAULT 0,
  unchanged       INTEGER NOT NULL DEFAULT 0,
  same_body       INTEGER NOT NULL DEFAULT 0,
  failed_ours     INTEGER NOT NULL DEFAULT 0,
  failed_theirs   INTEGER NOT NULL DEFAULT 0,
  failed_host     INTEGER NOT NULL DEFAULT 0,
  bytes_in        INTEGER NOT NULL DEFAULT 0,
  bytes_decoded   INTEGER NOT NULL DEFAULT 0,
  bytes_saved     INTEGER NOT NULL DEFAULT 0,
  entries_new     INTEGER NOT NULL DEFAULT 0,
  entries_updated INTEGER NOT NULL DEFAULT 0,
  elapsed_ms      INTEGER NOT NULL DEFAULT 0,
  elapsed_ms_max  INTEGER NOT NULL DEFAULT 0,
  lag             REAL NOT NULL DEFAULT 0,
  lag_max         REAL NOT NULL DEFAULT 0,
  late            INTEGER NOT NULL DEFAULT 0,
  retries         INTEGER NOT NULL DEFAULT 0,
  interval_sec    REAL,
  ewma_sec        REAL,
  PRIMARY KEY (day, feed_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_days_by_feed ON feed_days (feed_no, day);

-- All days of all feeds.
CREATE VIEW feed_figures AS
  SELECT feed_no, day, polls, unchanged, same_body, failed_ours, failed_theirs, failed_host, bytes_in, bytes_decoded, bytes_saved, entries_new, entries_updated, elapsed_ms, elapsed_ms_max, lag, lag_max, late, retries, interval_sec, ewma_sec FROM feed_days
  UNION ALL
  SELECT feed_no, today, today_polls, today_unchanged, today_same_body, today_failed_ours, today_failed_theirs, today_failed_host, today_bytes_in, today_bytes_decoded, today_bytes_saved, today_entries_new, today_entries_updated, today_elapsed_ms, today_elapsed_ms_max, today_lag, today_lag_max, today_late, today_retries, today_interval_sec, today_ewma_sec FROM feed_sched WHERE today IS NOT NULL;

-- How polls failed, exactly; status 0: no answer came.
CREATE TABLE feed_failures (
  day     INTEGER NOT NULL,
  feed_no INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  outcome TEXT NOT NULL,
  status  INTEGER NOT NULL,
  polls   INTEGER NOT NULL,
  PRIMARY KEY (day, feed_no, outcome, status)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_failures_by_feed ON feed_failures (feed_no, day);

-- Figures of all feeds together. Each process writes rows of its own, so that they never wait for each
-- other; a span is the sum of its rows, and housekeeping adds them up.
CREATE TABLE poll_totals (
  start    INTEGER NOT NULL,
  span_sec INTEGER NOT NULL,
  writer   INTEGER NOT NULL,
  totals   TEXT NOT NULL,  -- JSON
  PRIMARY KEY (start, span_sec, writer)
) STRICT, WITHOUT ROWID;

-- What a figure is made of: the interval that a poll waited for, the bytes that a 304 saved, retries.
ALTER TABLE fetches ADD COLUMN interval_sec REAL;
ALTER TABLE fetches ADD COLUMN saved_bytes INTEGER;
ALTER TABLE fetches ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feeds ADD COLUMN document_bytes INTEGER;  -- of the last document, as transferred
UPDATE feeds SET document_bytes =
  (SELECT coalesce(x.wire_length, x.content_length) FROM fetches x WHERE x.fetch_id = feeds.document_fetch_id)
 WHERE document_fetch_id IS NOT NULL;
