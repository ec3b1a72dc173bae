-- Every entry that carries an article points to the first one that did; lists are read by publication, too.
UPDATE entries SET same_as = (SELECT a.entry_id FROM articles a WHERE a.article_hash = entries.article_hash)
  WHERE same_as IS NULL AND article_hash IS NOT NULL
  AND EXISTS (SELECT 1 FROM articles a WHERE a.article_hash = entries.article_hash AND a.entry_id <> entries.entry_id);
UPDATE entries SET same_as = (SELECT nullif(t.same_as, entries.entry_id) FROM entries t WHERE t.entry_id = entries.same_as)
  WHERE same_as IN (SELECT entry_id FROM entries WHERE same_as IS NOT NULL);
UPDATE entries SET same_as = (SELECT nullif(t.same_as, entries.entry_id) FROM entries t WHERE t.entry_id = entries.same_as)
  WHERE same_as IN (SELECT entry_id FROM entries WHERE same_as IS NOT NULL);
CREATE INDEX entries_newest ON entries (published_effective, entry_id);
