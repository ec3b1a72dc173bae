-- Cells: several databases, each with the hosts of a range of shards. One of them is the home: what does
-- not belong to a host lives there, and the log that everybody reads.

-- Which cell this database is; no row: it stands alone.
CREATE TABLE cell (
  one         smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  id          text     NOT NULL,
  is_home     smallint NOT NULL,
  first_shard smallint NOT NULL,
  last_shard  smallint NOT NULL
);

-- In the home: up to which number the log of each other cell has been copied into this one.
CREATE TABLE gathered (
  cell text   COLLATE "C" PRIMARY KEY,
  seq  bigint NOT NULL DEFAULT 0
);
