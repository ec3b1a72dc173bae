-- Full texts: what was extracted from the web page of an entry, apart from the entry itself.
CREATE TABLE fulltexts (
  entry_id     INTEGER PRIMARY KEY REFERENCES entries (entry_id) ON DELETE CASCADE,
  host         TEXT    NOT NULL,             -- of the page, for the pause that its robots.txt asks for
  url          TEXT    NOT NULL,             -- asked for
  final_url    TEXT    NOT NULL,
  fetched_at   INTEGER NOT NULL,
  extracted_at INTEGER NOT NULL,
  state        TEXT    NOT NULL,             -- extracted, failed
  reason       TEXT,                         -- of a failure
  detail       TEXT    NOT NULL DEFAULT '',
  http_status  INTEGER,
  content_type TEXT,
  body_sha256  TEXT,                         -- of the page
  title        TEXT,
  author       TEXT,
  published    TEXT,                         -- a day, as the page says it
  language     TEXT,
  paywalled    INTEGER NOT NULL DEFAULT 0,
  words        INTEGER NOT NULL DEFAULT 0,
  html         TEXT,                         -- sanitised
  extractor    TEXT,
  version      TEXT,                         -- of the extractor: another one may be replayed
  selector     TEXT
) STRICT;
CREATE INDEX fulltexts_by_host ON fulltexts (host, fetched_at);
CREATE INDEX fulltexts_by_body ON fulltexts (body_sha256) WHERE body_sha256 IS NOT NULL;
