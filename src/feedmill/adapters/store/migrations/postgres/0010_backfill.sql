-- Entries that were read from an archive page: retention by age leaves them alone.
ALTER TABLE entries ADD COLUMN backfill smallint NOT NULL DEFAULT 0;
