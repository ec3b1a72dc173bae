-- Subscribers of our own WebSub hub are webhooks with a topic and a lease.
ALTER TABLE webhooks ADD COLUMN topic text;
ALTER TABLE webhooks ADD COLUMN expires_at bigint;
