-- The text of the header blocks that a feed's next fetch is compared with, in the feed's own row:
-- a poll reads that row anyway, and with many feeds two more pages are two more cache misses.
ALTER TABLE feeds ADD COLUMN request_headers TEXT;
ALTER TABLE feeds ADD COLUMN response_headers TEXT;
UPDATE feeds SET
  request_headers = (SELECT block FROM header_blocks WHERE block_id = request_block),
  response_headers = (SELECT block FROM header_blocks WHERE block_id = response_block);
