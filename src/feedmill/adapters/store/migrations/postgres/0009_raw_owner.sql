-- Which store this is: random, written when the store is first opened, never changed. The raw store
-- carries the same id, so that no other index decides about its segments (D36).
CREATE TABLE store_identity (
  one       smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  id        text     NOT NULL,
  raw_place text                             -- the raw store that is known to carry this id
);

-- Segments from which this store has removed pointers: nothing else may be swept.
CREATE TABLE released_segments (
  segment text COLLATE "C" PRIMARY KEY
);

-- Bodies that were found in the raw store and indexed again; kept by age until a fetch refers to them.
CREATE TABLE adopted_blobs (
  sha256     text   COLLATE "C" PRIMARY KEY,
  adopted_at bigint NOT NULL
);
