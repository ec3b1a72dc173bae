-- Since when a host pauses or fails, and which feed tries it meanwhile (the canary).
ALTER TABLE lanes ADD COLUMN troubled_since INTEGER;
ALTER TABLE lanes ADD COLUMN canary TEXT;
