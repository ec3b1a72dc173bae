-- Questions to a person: may these candidates be inserted? A yes makes a ticket; only its hash is kept.

CREATE TABLE confirmations (
  code              TEXT    PRIMARY KEY,
  window_id         TEXT    NOT NULL,
  file_digest       TEXT    NOT NULL,
  candidate_ids     TEXT    NOT NULL,        -- JSON, sorted
  asked_by          TEXT    NOT NULL,
  asked_at          INTEGER NOT NULL,
  expires_at        INTEGER NOT NULL,
  state             TEXT    NOT NULL,
  answered_by       TEXT,
  answered_at       INTEGER,
  shown             TEXT,
  ticket_sha256     TEXT    UNIQUE,
  ticket_expires_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX confirmations_by_selection ON confirmations (file_digest, state);
