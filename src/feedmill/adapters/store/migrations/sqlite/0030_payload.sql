-- Webhooks that are sent whole entries.
ALTER TABLE webhooks ADD COLUMN payload TEXT NOT NULL DEFAULT 'compact';
