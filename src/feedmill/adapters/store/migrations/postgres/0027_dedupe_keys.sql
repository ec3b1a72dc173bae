-- Entries without keys, as an older version left them, are found by their dedupe_key (000 step 4).
-- A hash index: a key may be longer than a row of a tree may be.
CREATE INDEX entries_by_dedupe_key ON entries USING hash (dedupe_key);
