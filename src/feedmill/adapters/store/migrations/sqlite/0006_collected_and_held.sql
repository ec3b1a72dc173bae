-- What is known before it is stored: documents of collected windows, and new entries that polling holds
-- back until somebody has said yes.

-- Their bodies are kept as long as those of polled feeds, whether or not anything of them is inserted.
CREATE TABLE collected_documents (
  collected_no INTEGER PRIMARY KEY,
  fetch_id     TEXT    NOT NULL UNIQUE,
  url          TEXT    NOT NULL,
  final_url    TEXT    NOT NULL,
  fetched_at   INTEGER NOT NULL,
  body_sha256  TEXT    NOT NULL,
  content_type TEXT
) STRICT;
CREATE INDEX collected_documents_by_body ON collected_documents (body_sha256);

CREATE TABLE standing_screens (
  id         TEXT    PRIMARY KEY,
  created_at INTEGER NOT NULL,
  feed_id    TEXT,                           -- one of the two
  tag        TEXT,
  keep_at    REAL,                           -- NULL: everything is held
  method     TEXT    NOT NULL,
  topics     TEXT                            -- JSON
) STRICT, WITHOUT ROWID;

-- A row that was dropped stays, so that the same entry is not held again at the next poll.
CREATE TABLE held_entries (
  held_no      INTEGER PRIMARY KEY AUTOINCREMENT,
  feed_no      INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  entry_uid    TEXT    NOT NULL,
  dedupe_key   TEXT    NOT NULL,
  content_hash TEXT    NOT NULL,
  held_at      INTEGER NOT NULL,
  fetch_id     TEXT    NOT NULL,
  body_sha256  TEXT    NOT NULL,             -- its bytes are never let go while it is held
  slice_offset INTEGER,
  title        TEXT,
  dropped      INTEGER NOT NULL DEFAULT 0,
  screening    TEXT,                         -- JSON
  UNIQUE (feed_no, entry_uid)
) STRICT;
CREATE INDEX held_entries_by_body ON held_entries (body_sha256);
