-- Fields of a feed's entries that the publisher changes with every request, and how that was learnt, as JSON.
ALTER TABLE feeds ADD COLUMN volatile_fields text;
-- Feeds that have spent some of their error budget: few, and those with an open circuit are among them.
CREATE INDEX feeds_errors ON feeds (feed_no) WHERE errors IS NOT NULL;
