-- Clusters: entries of different feeds that tell the same story. Switched off, all of these are empty.
ALTER TABLE entries ADD COLUMN cluster_no INTEGER; -- NULL: it stands alone
CREATE INDEX entries_by_cluster ON entries (cluster_no) WHERE cluster_no IS NOT NULL;

CREATE TABLE cluster_sketches (
  entry_id INTEGER PRIMARY KEY REFERENCES entries (entry_id) ON DELETE CASCADE,
  sketch   TEXT    NOT NULL              -- what it is compared by: msgpack in base64
) STRICT;

-- What candidates are found by: hashes of links, titles and LSH bands of the text.
CREATE TABLE cluster_keys (
  entry_id INTEGER NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
  key      INTEGER NOT NULL,
  PRIMARY KEY (entry_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX cluster_keys_by_key ON cluster_keys (key, entry_id);

-- Evidence between two entries; clusters are made of it, and split when it goes.
CREATE TABLE cluster_edges (
  entry_id INTEGER NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
  other_id INTEGER NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE, -- the smaller number
  kind     TEXT    NOT NULL,
  score    REAL    NOT NULL,
  PRIMARY KEY (entry_id, other_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX cluster_edges_by_other ON cluster_edges (other_id);

CREATE TABLE clusters (
  cluster_no        INTEGER PRIMARY KEY, -- the number of the entry that it was named after
  representative_id INTEGER NOT NULL,
  entries           INTEGER NOT NULL,    -- each of another feed
  updated_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX clusters_in_order ON clusters (updated_at, cluster_no);
