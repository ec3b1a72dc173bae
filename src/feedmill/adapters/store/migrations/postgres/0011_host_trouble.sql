-- Since when a host pauses or fails, and which feed tries it meanwhile (the canary).
ALTER TABLE lanes ADD COLUMN troubled_since bigint;
ALTER TABLE lanes ADD COLUMN canary text COLLATE "C";
