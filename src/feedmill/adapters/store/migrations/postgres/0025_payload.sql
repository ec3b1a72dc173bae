-- Webhooks that are sent whole entries.
ALTER TABLE webhooks ADD COLUMN payload text NOT NULL DEFAULT 'compact';
