-- Entries without keys, as an older version left them, are found by their dedupe_key (000 step 4).
CREATE INDEX entries_by_dedupe_key ON entries (dedupe_key);
