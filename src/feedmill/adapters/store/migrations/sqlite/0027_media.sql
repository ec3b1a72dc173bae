-- Media: files of entries that are downloaded, apart from the entries themselves.
CREATE TABLE media (
  media_no       INTEGER PRIMARY KEY,
  media_id       TEXT    NOT NULL UNIQUE,
  entry_id       INTEGER NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
  url            TEXT    NOT NULL,
  url_key        TEXT    NOT NULL,             -- a digest of the address
  published_at   INTEGER NOT NULL,             -- of the entry: the oldest goes first
  type           TEXT,                         -- as the feed says
  length         INTEGER,
  integrity      TEXT,
  state          TEXT    NOT NULL,             -- queued, stored, failed, pruned
  queued_at      INTEGER NOT NULL,
  received_bytes INTEGER NOT NULL DEFAULT 0,   -- of a download under way
  reserved_bytes INTEGER NOT NULL DEFAULT 0,   -- of the quota, for it
  ended_at       INTEGER,
  final_url      TEXT,
  http_status    INTEGER,
  media_type     TEXT,                         -- as its first bytes say
  sha256         TEXT,
  size_bytes     INTEGER,
  path           TEXT,                         -- readable name
  path_key       TEXT    UNIQUE,               -- what a file system may take for the same name
  reason         TEXT,                         -- of a failure
  detail         TEXT    NOT NULL DEFAULT '',
  UNIQUE (entry_id, url_key)
) STRICT;
CREATE INDEX media_by_file ON media (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX media_under_way ON media (media_no) WHERE state = 'queued';

-- Contents that are kept, each once however many rows of media have it.
CREATE TABLE media_files (
  sha256     TEXT    PRIMARY KEY,
  size_bytes INTEGER NOT NULL,
  state      TEXT    NOT NULL,                 -- coming, kept, deleting
  changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
