-- Tags that the other feed got from a merged one; it gives them back when the merge is undone.
ALTER TABLE merged_feeds ADD COLUMN given_tags TEXT NOT NULL DEFAULT '[]';
