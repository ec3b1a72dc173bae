-- Full texts: what was extracted from the web page of an entry, apart from the entry itself.
CREATE TABLE fulltexts (
  entry_id     bigint   PRIMARY KEY REFERENCES entries (entry_id) ON DELETE CASCADE,
  host         text     COLLATE "C" NOT NULL,  -- of the page, for the pause that its robots.txt asks for
  url          text     NOT NULL,              -- asked for
  final_url    text     NOT NULL,
  fetched_at   bigint   NOT NULL,
  extracted_at bigint   NOT NULL,
  state        text     NOT NULL,              -- extracted, failed
  reason       text,                           -- of a failure
  detail       text     NOT NULL DEFAULT '',
  http_status  integer,
  content_type text,
  body_sha256  text     COLLATE "C",           -- of the page
  title        text,
  author       text,
  published    text,                           -- a day, as the page says it
  language     text,
  paywalled    smallint NOT NULL DEFAULT 0,
  words        integer  NOT NULL DEFAULT 0,
  html         text,                           -- sanitised
  extractor    text,
  version      text,                           -- of the extractor: another one may be replayed
  selector     text
);
CREATE INDEX fulltexts_by_host ON fulltexts (host, fetched_at);
CREATE INDEX fulltexts_by_body ON fulltexts (body_sha256) WHERE body_sha256 IS NOT NULL;
