-- A row of more than a quarter of a page does not fit into a page of a table WITHOUT ROWID: every commit freed a page and took another.
CREATE TABLE new_totals (
  start    INTEGER NOT NULL,
  span_sec INTEGER NOT NULL,
  writer   INTEGER NOT NULL,
  totals   TEXT NOT NULL,  -- JSON
  PRIMARY KEY (start, span_sec, writer)
) STRICT;
INSERT INTO new_totals SELECT start, span_sec, writer, totals FROM poll_totals;
DROP TABLE poll_totals;
ALTER TABLE new_totals RENAME TO poll_totals;
