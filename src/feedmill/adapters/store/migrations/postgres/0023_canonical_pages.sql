-- What a fetched page calls itself (rel=canonical): evidence that two entries tell the same story.
ALTER TABLE fulltexts ADD COLUMN canonical_url TEXT;
