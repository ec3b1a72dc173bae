-- The text of an identity key is stored once, beside the other keys of its entry, and found by a number (sqlite/key_hash.py). Before, the
-- index by entry repeated it. Keys that share a number are told apart by `lookup_no`; the writer keeps (key_type, key_value) unique.
ALTER TABLE entry_identities RENAME TO entry_identities_before;
CREATE TABLE entry_identities (
  entry_id    INTEGER NOT NULL,              -- of an entry or of its tombstone
  lookup_hash INTEGER NOT NULL,              -- key_hash of type and value
  lookup_no   INTEGER NOT NULL,              -- 0, and on where other keys have the same hash
  key_type    TEXT    NOT NULL,
  key_value   TEXT    NOT NULL,
  PRIMARY KEY (entry_id, lookup_hash, lookup_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_identities_by_hash ON entry_identities (lookup_hash);
INSERT OR IGNORE INTO entry_identities
  SELECT entry_id, key_hash(CAST(key_type || ':' || key_value AS BLOB)), 0, key_type, key_value FROM entry_identities_before ORDER BY entry_id;
-- Keys of several entries with one number, then those of one entry, which were left out above: hardly ever any.
UPDATE entry_identities SET lookup_no = (SELECT count(*) FROM entry_identities o
    WHERE o.lookup_hash = entry_identities.lookup_hash AND o.entry_id < entry_identities.entry_id)
  WHERE lookup_hash IN (SELECT lookup_hash FROM entry_identities GROUP BY lookup_hash HAVING count(*) > 1);
INSERT INTO entry_identities
  SELECT b.entry_id, b.h, (SELECT max(o.lookup_no) FROM entry_identities o WHERE o.lookup_hash = b.h)
      + row_number() OVER (PARTITION BY b.h ORDER BY b.entry_id), b.key_type, b.key_value
    FROM (SELECT *, key_hash(CAST(key_type || ':' || key_value AS BLOB)) AS h FROM entry_identities_before
      WHERE (SELECT count(*) FROM entry_identities_before) > (SELECT count(*) FROM entry_identities)) b
    WHERE NOT EXISTS (SELECT 1 FROM entry_identities o
      WHERE o.lookup_hash = b.h AND o.key_type = b.key_type AND o.key_value = b.key_value);
-- Emptied first: dropping a full table keeps a copy of its pages in memory until the statement ends.
DELETE FROM entry_identities_before;
DROP TABLE entry_identities_before;
