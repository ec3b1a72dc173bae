-- The blocks that a feed's next fetch is compared with stand in header_blocks already. Their second copy made the feed's
-- row twice as wide, and every poll writes that row.
ALTER TABLE feeds DROP COLUMN request_headers, DROP COLUMN response_headers;
