-- Who works here. A row is a hint for people: nothing relies on it being true.
CREATE TABLE workers (
  name       TEXT    PRIMARY KEY,
  role       TEXT    NOT NULL,
  version    TEXT    NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  draining   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
