-- Which store this is: random, written when the store is first opened, never changed. The raw store
-- carries the same id, so that no other index decides about its segments (D36).
CREATE TABLE store_identity (
  one       INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  id        TEXT    NOT NULL,
  raw_place TEXT                             -- the raw store that is known to carry this id
) STRICT;

-- Segments from which this store has removed pointers: nothing else may be swept.
CREATE TABLE released_segments (
  segment TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Bodies that were found in the raw store and indexed again; kept by age until a fetch refers to them.
CREATE TABLE adopted_blobs (
  sha256     TEXT    PRIMARY KEY,
  adopted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
