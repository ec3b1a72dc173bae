-- The blocks that a feed's next fetch is compared with stand in `header_blocks` already. Their second copy made the feed's
-- row so wide that a page held one feed, and every poll wrote that page.
ALTER TABLE feeds DROP COLUMN request_headers;
ALTER TABLE feeds DROP COLUMN response_headers;
