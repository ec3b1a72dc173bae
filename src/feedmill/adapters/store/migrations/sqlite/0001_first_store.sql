-- The first store. Instants are INTEGER microseconds since 1970 in UTC, lists and structs are JSON.
-- 253402300799000000 (the end of the year 9999) is "never": infinities do not survive arithmetic.

-- Lanes: the feeds of one host, worked by one process at a time. `claim_at` is the next due moment
-- of a free lane and the end of the lease of a leased one, so an expired lease needs no reaper.
CREATE TABLE lanes (
  lane_id        INTEGER PRIMARY KEY,
  shard          INTEGER NOT NULL,           -- crc32(lane_key) & 1023: routing, once there are cells
  lane_key       TEXT    NOT NULL UNIQUE,    -- host or host:port, without the scheme
  claim_at       INTEGER NOT NULL,
  epoch          INTEGER NOT NULL DEFAULT 0, -- fencing token
  owner          TEXT,                       -- NULL: free
  gap_ms         INTEGER NOT NULL,
  next_ok_at     INTEGER,
  blocked_reason TEXT,
  slow_down      REAL    NOT NULL DEFAULT 1.0,
  failures       INTEGER NOT NULL DEFAULT 0,
  failing_with   TEXT,
  limited_urls   TEXT
) STRICT;
CREATE INDEX lanes_by_claim_at ON lanes (claim_at);

CREATE TABLE feeds (
  feed_no                INTEGER PRIMARY KEY AUTOINCREMENT, -- short, for the rows that point here
  id                     TEXT    NOT NULL UNIQUE,
  url                    TEXT    NOT NULL UNIQUE,
  feed_key               TEXT    NOT NULL,
  created_at             INTEGER NOT NULL,
  tags                   TEXT    NOT NULL DEFAULT '[]',
  paused                 INTEGER NOT NULL DEFAULT 0,
  overrides              TEXT,
  type                   TEXT    NOT NULL DEFAULT 'unknown',
  title                  TEXT,
  site_url               TEXT,
  etag                   TEXT,
  last_modified          TEXT,
  validators_url         TEXT,
  vary                   TEXT,               -- NULL: there are no validators at all
  vary_any               INTEGER NOT NULL DEFAULT 0,
  interval_sec           REAL    NOT NULL,
  consecutive_failures   INTEGER NOT NULL DEFAULT 0,
  health                 TEXT    NOT NULL DEFAULT 'active',
  gone_seen_at           INTEGER,
  ewma_interarrival_sec  REAL,
  last_published_at      INTEGER,
  hints                  TEXT,
  reason                 TEXT    NOT NULL DEFAULT '',
  last_decision_at       INTEGER,
  last_fetch_at          INTEGER,
  last_success_at        INTEGER,
  last_result            TEXT,
  last_status            INTEGER,
  last_detail            TEXT    NOT NULL DEFAULT '',
  new_entries_last_fetch INTEGER NOT NULL DEFAULT 0,
  body_sha256            TEXT,
  document_fetch_id      TEXT,
  reader_version         TEXT,
  same_bodies            INTEGER NOT NULL DEFAULT 0,
  self_url               TEXT,
  hubs                   TEXT,
  ignored_guids          TEXT,
  ignored_links          TEXT,
  move                   TEXT,
  request_block          INTEGER,            -- the header blocks that the next fetch is compared with
  response_block         INTEGER,
  confirmations          INTEGER NOT NULL DEFAULT 0, -- how often the current document was seen
  confirmed_at           INTEGER             -- and when last: one row says it for all its entries
) STRICT;

-- Narrow and hot, apart from the wide rows: a claim writes here only.
CREATE TABLE feed_sched (
  feed_no     INTEGER PRIMARY KEY REFERENCES feeds (feed_no) ON DELETE CASCADE,
  lane_id     INTEGER NOT NULL REFERENCES lanes (lane_id),
  next_run_at INTEGER NOT NULL,
  paused      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX feed_sched_by_lane ON feed_sched (lane_id, next_run_at) WHERE paused = 0;

CREATE TABLE feed_tags (
  tag     TEXT    NOT NULL,
  feed_no INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  PRIMARY KEY (tag, feed_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_tags_by_feed ON feed_tags (feed_no);

CREATE TABLE feed_aliases (
  url     TEXT    PRIMARY KEY,               -- unique over all feeds
  feed_no INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX feed_aliases_by_feed ON feed_aliases (feed_no);

-- Headers repeat: a fetch names the block that it resembles and the values that differ.
CREATE TABLE header_blocks (
  block_id INTEGER PRIMARY KEY,
  feed_no  INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  block    TEXT    NOT NULL
) STRICT;
CREATE INDEX header_blocks_by_feed ON header_blocks (feed_no);

CREATE TABLE fetches (
  fetch_no        INTEGER PRIMARY KEY,
  fetch_id        TEXT    NOT NULL UNIQUE,
  feed_no         INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  scheduled_at    INTEGER NOT NULL,
  fetched_at      INTEGER NOT NULL,
  outcome         TEXT    NOT NULL,
  http_status     INTEGER,
  elapsed_ms      INTEGER NOT NULL DEFAULT 0,
  request_block   INTEGER NOT NULL,          -- begins with the URL asked for
  request_delta   TEXT,
  response_block  INTEGER NOT NULL,          -- begins with the final URL
  response_delta  TEXT,
  detail          TEXT,
  hops            TEXT,
  body_sha256     TEXT,
  content_type    TEXT,
  content_length  INTEGER,
  wire_length     INTEGER,
  entries_seen    INTEGER NOT NULL DEFAULT 0,
  entries_new     INTEGER NOT NULL DEFAULT 0,
  entries_updated INTEGER NOT NULL DEFAULT 0,
  repairs         TEXT,
  truncated       INTEGER NOT NULL DEFAULT 0,
  decision        TEXT                       -- when the feed is asked next, and why
) STRICT;
-- Runs are fetched in the order in which they were scheduled, so this also lists them newest first
-- (002: RawFetch(feed_id, fetched_at desc)); a second index would cost a page of log per poll.
CREATE UNIQUE INDEX fetches_once_per_run ON fetches (feed_no, scheduled_at DESC);

-- Every poll has one decision, so it stands in the same row; this is the table that readers see.
CREATE VIEW schedule_decisions AS
  SELECT fetch_no, feed_no, fetch_id, scheduled_at, fetched_at AS decided_at, decision
    FROM fetches WHERE decision IS NOT NULL;

-- An entry in the feed's current document is seen whenever that document is confirmed: its own
-- last_seen and seen_count are those of confirmation number `confirmation`.
CREATE TABLE entries (
  entry_id            INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, identities rely on it
  entry_uid           TEXT    NOT NULL UNIQUE,
  feed_no             INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  first_seen          INTEGER NOT NULL,
  last_seen           INTEGER NOT NULL,
  seen_count          INTEGER NOT NULL,
  in_document         INTEGER NOT NULL DEFAULT 0,
  confirmation        INTEGER NOT NULL DEFAULT 0,
  revisions           INTEGER NOT NULL DEFAULT 0,
  removed_at          INTEGER,
  removed_reason      TEXT,
  removed_comment     TEXT,
  same_as             INTEGER,               -- another feed's entry with the same address
  dedupe_key          TEXT    NOT NULL,
  match_confidence    TEXT    NOT NULL,
  guid                TEXT,
  link                TEXT,
  canonical_link      TEXT,
  title               TEXT,
  summary             TEXT,
  content             TEXT,
  authors             TEXT,
  categories          TEXT,
  enclosures          TEXT,
  published           INTEGER,
  updated             INTEGER,
  published_effective INTEGER NOT NULL,
  published_source    TEXT    NOT NULL,
  language            TEXT,
  image               TEXT,
  comments_url        TEXT,
  content_hash        TEXT    NOT NULL,
  content_version     TEXT    NOT NULL,
  field_digests       TEXT    NOT NULL,
  title_hash          TEXT,
  item_hash           TEXT    NOT NULL,
  article_hash        TEXT,
  fetch_id            TEXT,                  -- where its bytes stand: fetch, offset, length
  slice_offset        INTEGER,
  slice_length        INTEGER,
  slice_digest        TEXT
) STRICT;
CREATE INDEX entries_by_published ON entries (feed_no, published_effective); -- undated ones in their place
CREATE INDEX entries_by_first_seen ON entries (feed_no, first_seen);
CREATE INDEX entries_in_order ON entries (first_seen);
CREATE INDEX entries_in_document ON entries (feed_no, in_document) WHERE in_document = 1;

-- What retention leaves of an entry, so that an old item never comes back as new.
CREATE TABLE tombstones (
  entry_id       INTEGER PRIMARY KEY,
  entry_uid      TEXT    NOT NULL UNIQUE,
  feed_no        INTEGER NOT NULL REFERENCES feeds (feed_no) ON DELETE CASCADE,
  first_seen     INTEGER NOT NULL,
  last_seen      INTEGER NOT NULL,
  seen_count     INTEGER NOT NULL,
  revisions      INTEGER NOT NULL,
  removed_at     INTEGER,
  guid           TEXT,
  canonical_link TEXT,
  title_hash     TEXT,
  item_hash      TEXT,
  article_hash   TEXT,
  expired_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstones_by_feed ON tombstones (feed_no);

CREATE TABLE entry_identities (
  key_type  TEXT    NOT NULL,
  key_value TEXT    NOT NULL,
  entry_id  INTEGER NOT NULL,                -- of an entry or of its tombstone
  PRIMARY KEY (key_type, key_value)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_identities_by_entry ON entry_identities (entry_id);

CREATE TABLE articles (
  article_hash    TEXT    PRIMARY KEY,       -- unique over all sources; entries are n:1 to articles
  article_version TEXT    NOT NULL,
  entry_id        INTEGER NOT NULL,          -- the entry that brought it
  link            TEXT,
  first_seen      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX articles_by_entry ON articles (entry_id);

CREATE TABLE entry_revisions (
  entry_id       INTEGER NOT NULL REFERENCES entries (entry_id) ON DELETE CASCADE,
  number         INTEGER NOT NULL,
  replaced_at    INTEGER NOT NULL,
  changed        TEXT    NOT NULL,
  content_hash   TEXT    NOT NULL,
  title          TEXT,
  summary        TEXT,
  content        TEXT,
  canonical_link TEXT,
  published      INTEGER,
  updated        INTEGER,
  fetch_id       TEXT,
  PRIMARY KEY (entry_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  seq         INTEGER PRIMARY KEY,           -- last + 1 inside the write transaction: no gaps
  id          TEXT    NOT NULL,
  type        TEXT    NOT NULL,
  feed_id     TEXT    NOT NULL,
  entry_uid   TEXT,
  occurred_at INTEGER NOT NULL,
  data        TEXT    NOT NULL
) STRICT;

CREATE TABLE consumer_cursors (
  consumer TEXT    PRIMARY KEY,
  seq      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
  sha256        TEXT    PRIMARY KEY,
  segment       TEXT    NOT NULL,
  offset        INTEGER NOT NULL,
  length        INTEGER NOT NULL,
  coding        TEXT    NOT NULL,
  raw_length    INTEGER NOT NULL,
  prefix_sha256 TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX blobs_by_segment ON blobs (segment, offset);
