-- Search: the tokens of each entry (`search/tokens.py`), and an index of them. Empty until entries come in or `feedmill reindex`.
CREATE TABLE entry_search (
  entry_id   bigint PRIMARY KEY REFERENCES entries (entry_id) ON DELETE CASCADE,
  terms      text   COLLATE "C" NOT NULL,  -- of title, summary and content
  full_terms text   COLLATE "C"            -- of the full text, where one was extracted
);
-- No parser of PostgreSQL sees the text: a token is what stands between two spaces. Costly on purpose, so that the planner
-- takes the index and does not compute it for every row.
CREATE FUNCTION feedmill_tokens(terms text, full_terms text) RETURNS tsvector
 LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000
 AS $$ BEGIN RETURN array_to_tsvector(string_to_array(btrim(terms || coalesce(full_terms, '')), ' ')); END $$;
CREATE INDEX entry_search_index ON entry_search USING gin (feedmill_tokens(terms, full_terms))
 WITH (gin_pending_list_limit = 256);  -- kB: a query reads through what is pending
