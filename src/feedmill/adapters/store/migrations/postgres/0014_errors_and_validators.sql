-- What a feed that works and fails by turns has spent of its error budget, as JSON; which validators made
-- the server answer 304: both, etag or date.
ALTER TABLE feeds ADD COLUMN errors text;
ALTER TABLE feeds ADD COLUMN validator_use text;
