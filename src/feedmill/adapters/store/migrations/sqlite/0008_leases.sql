-- Work that one of many does at a time: whose turn it is, and until when.
CREATE TABLE leases (
  name  TEXT    PRIMARY KEY,
  owner TEXT    NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
