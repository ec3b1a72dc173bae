-- Who may ask, and who is told.

CREATE TABLE tokens (
  id           TEXT    PRIMARY KEY,
  name         TEXT    NOT NULL,
  scopes       TEXT    NOT NULL,             -- JSON
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;

-- Only hashes: a secret is shown once, when it is made. A token has two while one replaces another.
CREATE TABLE token_secrets (
  sha256      TEXT    PRIMARY KEY,
  token_id    TEXT    NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  valid_until INTEGER                        -- NULL: as long as the token
) STRICT, WITHOUT ROWID;
CREATE INDEX token_secrets_by_token ON token_secrets (token_id);

-- The cursor of a webhook is a row of consumer_cursors, named 'webhook:' and its id.
CREATE TABLE webhooks (
  id               TEXT    PRIMARY KEY,
  url              TEXT    NOT NULL,
  created_at       INTEGER NOT NULL,
  secrets          TEXT    NOT NULL,         -- JSON; signing needs them as they are
  types            TEXT,
  feed_id          TEXT,
  tag              TEXT,
  format           TEXT    NOT NULL,
  state            TEXT    NOT NULL,
  paused_reason    TEXT,
  attempts         INTEGER NOT NULL DEFAULT 0,
  next_attempt_at  INTEGER,
  last_delivery_at INTEGER,
  last_result      TEXT,
  last_status      INTEGER,
  owner            TEXT,                     -- the process that tells it, until lease_until
  lease_until      INTEGER
) STRICT, WITHOUT ROWID;

-- The events themselves: retention may have taken them from the log by the time they are wanted.
CREATE TABLE dead_letters (
  number     INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  webhook_id TEXT    NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  events     TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  attempts   INTEGER NOT NULL,
  died_at    INTEGER NOT NULL,
  status     INTEGER,
  detail     TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX dead_letters_by_webhook ON dead_letters (webhook_id, number);

-- The tags of a feed that is gone stand in the event of its end, or are those of the feed that it was
-- merged into: for webhooks that filter by tag and have not been told everything yet.
CREATE INDEX outbox_removals ON outbox (feed_id) WHERE type = 'feed.removed';
CREATE INDEX outbox_mergers ON outbox (json_extract(data, '$.from')) WHERE type = 'feed.merged';
