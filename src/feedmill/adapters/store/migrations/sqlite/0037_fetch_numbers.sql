-- The number of a fetch is never used again, or an export that is resumed would take a new fetch for one that it has. AUTOINCREMENT would
-- need a new table; the last number that went is kept here instead.
CREATE TABLE fetch_numbers (last_removed INTEGER NOT NULL) STRICT;
INSERT INTO fetch_numbers VALUES (0);
CREATE TRIGGER fetches_keep_numbers AFTER DELETE ON fetches
WHEN NOT EXISTS (SELECT 1 FROM fetches WHERE fetch_no > old.fetch_no)
BEGIN
  UPDATE fetch_numbers SET last_removed = old.fetch_no WHERE last_removed < old.fetch_no;
END;
