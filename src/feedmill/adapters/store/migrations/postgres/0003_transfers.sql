-- A store that moves in here from somewhere else, row by row: how far it has come. What was written and
-- how far that is are one transaction, so a move that was cut short goes on where it was.

-- No row: nothing ever moved in.
CREATE TABLE transfers (
  one      smallint PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  source   text     NOT NULL,                -- where from, for people
  mark     text     NOT NULL,                -- what the source was like: another mark is another state
  began_at bigint   NOT NULL,
  ended_at bigint                            -- NULL: it is still under way
);

CREATE TABLE transfer_parts (
  part     text     COLLATE "C" PRIMARY KEY, -- a table
  last_key text     NOT NULL,                -- JSON; of the last row that came over
  copied   bigint   NOT NULL,                -- rows
  folded   bigint   NOT NULL,                -- rows that were another's twin once their NUL was replaced
  replaced bigint   NOT NULL                 -- characters that no text of PostgreSQL holds
);
