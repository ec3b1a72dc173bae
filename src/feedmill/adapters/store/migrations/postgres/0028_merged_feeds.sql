-- Subscriptions that were merged into another one by hand, for as long as that can be undone: not listed, not
-- polled, and found by their addresses as the feed that they were merged into.
CREATE TABLE merged_feeds (
  feed_no   bigint PRIMARY KEY REFERENCES feeds (feed_no) ON DELETE CASCADE,
  into_no   bigint NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  merged_at bigint NOT NULL,
  aliases   text   NOT NULL,
  paused    integer NOT NULL
);
CREATE INDEX merged_feeds_by_target ON merged_feeds (into_no);
