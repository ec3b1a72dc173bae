-- Clusters: entries of different feeds that tell the same story. Switched off, all of these are empty.
ALTER TABLE entries ADD COLUMN cluster_no bigint; -- NULL: it stands alone
CREATE INDEX entries_by_cluster ON entries (cluster_no) WHERE cluster_no IS NOT NULL;

CREATE TABLE cluster_sketches (
  entry_id bigint PRIMARY KEY REFERENCES entries (entry_id) ON DELETE CASCADE,
  sketch   text    NOT NULL              -- what it is compared by: msgpack in base64
);

-- What candidates are found by: hashes of links, titles and LSH bands of the text.
CREATE TABLE cluster_keys (
  entry_id bigint  NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
  key      bigint  NOT NULL,
  PRIMARY KEY (entry_id, key)
);
CREATE INDEX cluster_keys_by_key ON cluster_keys (key, entry_id);

-- Evidence between two entries; clusters are made of it, and split when it goes.
CREATE TABLE cluster_edges (
  entry_id bigint  NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
  other_id bigint  NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE, -- the smaller number
  kind     text    NOT NULL,
  score    double precision  NOT NULL,
  PRIMARY KEY (entry_id, other_id)
);
CREATE INDEX cluster_edges_by_other ON cluster_edges (other_id);

CREATE TABLE clusters (
  cluster_no        bigint PRIMARY KEY, -- the number of the entry that it was named after
  representative_id bigint  NOT NULL,
  entries           bigint  NOT NULL,    -- each of another feed
  updated_at        bigint  NOT NULL
);
CREATE INDEX clusters_in_order ON clusters (updated_at, cluster_no);
