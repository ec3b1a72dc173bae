-- Where feeds lived before, and since when. A row with `undone_at` is a target that was refused by a
-- person: it is never adopted again by itself (D6).
CREATE TABLE feed_moves (
  move_id   INTEGER PRIMARY KEY,
  feed_no   INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  from_url  TEXT    NOT NULL,
  to_url    TEXT    NOT NULL,
  source    TEXT    NOT NULL,
  proof     TEXT    NOT NULL,
  moved_at  INTEGER NOT NULL,
  undone_at INTEGER
) STRICT;
CREATE INDEX feed_moves_by_feed ON feed_moves (feed_no, move_id);

-- When an http feed was last tried by https.
ALTER TABLE feeds ADD COLUMN https_probed_at INTEGER;

-- Public ids of entries that became one with another when their feeds were merged.
CREATE TABLE entry_aliases (
  entry_uid TEXT    PRIMARY KEY,
  entry_id  INTEGER NOT NULL                 -- of an entry or of its tombstone
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_aliases_by_entry ON entry_aliases (entry_id);

-- Who points at an entry that becomes one with another.
CREATE INDEX entries_by_same_as ON entries (same_as) WHERE same_as IS NOT NULL;

-- What became of each outline of an imported list, so that an import that was cut short goes on
-- where it was instead of asking everybody again.
CREATE TABLE import_outlines (
  list_id TEXT    NOT NULL,                  -- a digest of the list
  url     TEXT    NOT NULL,                  -- as the list has it
  outcome TEXT    NOT NULL,
  feed_id TEXT,
  reason  TEXT    NOT NULL DEFAULT '',
  detail  TEXT    NOT NULL DEFAULT '',
  at      INTEGER NOT NULL,
  digest  TEXT    NOT NULL DEFAULT '',       -- of the document that was seen there
  PRIMARY KEY (list_id, url)
) STRICT, WITHOUT ROWID;
