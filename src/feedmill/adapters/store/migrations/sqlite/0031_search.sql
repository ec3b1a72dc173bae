-- Search: the tokens of each entry (`search/tokens.py`), and an index of them. Empty until entries come in or `feedmill reindex`.
CREATE TABLE entry_search (
  entry_id   INTEGER PRIMARY KEY REFERENCES entries (entry_id) ON DELETE CASCADE,
  terms      TEXT    NOT NULL,  -- of title, summary and content
  full_terms TEXT               -- of the full text, where one was extracted
) STRICT;
-- The text stands in the table above, and which tokens stand side by side is read there: the index keeps neither. Our tokens
-- are parted by spaces already, and `ascii` parts them nowhere else.
CREATE VIRTUAL TABLE entry_search_index USING fts5 (
  terms, full_terms, content = 'entry_search', content_rowid = 'entry_id', detail = none, columnsize = 0, tokenize = 'ascii'
);
CREATE TRIGGER entry_search_added AFTER INSERT ON entry_search BEGIN
  INSERT INTO entry_search_index (rowid, terms, full_terms) VALUES (new.entry_id, new.terms, new.full_terms);
END;
CREATE TRIGGER entry_search_deleted AFTER DELETE ON entry_search BEGIN
  INSERT INTO entry_search_index (entry_search_index, rowid, terms, full_terms)
  VALUES ('delete', old.entry_id, old.terms, old.full_terms);
END;
CREATE TRIGGER entry_search_changed AFTER UPDATE ON entry_search BEGIN
  INSERT INTO entry_search_index (entry_search_index, rowid, terms, full_terms)
  VALUES ('delete', old.entry_id, old.terms, old.full_terms);
  INSERT INTO entry_search_index (rowid, terms, full_terms) VALUES (new.entry_id, new.terms, new.full_terms);
END;
