-- WebSub: one row per feed and hub. The token is the last part of the callback's path.
CREATE TABLE push_subscriptions (
  subscription_id  INTEGER PRIMARY KEY,
  token            TEXT    NOT NULL UNIQUE,
  feed_id          TEXT,                         -- NULL: the feed is gone
  hub              TEXT    NOT NULL,
  topic            TEXT    NOT NULL,
  secret           TEXT    NOT NULL,             -- verifying needs it as it is
  state            TEXT    NOT NULL,
  created_at       INTEGER NOT NULL,
  asked_at         INTEGER,
  verified_at      INTEGER,
  lease_until      INTEGER,
  last_error       TEXT    NOT NULL DEFAULT '',
  last_push_at     INTEGER,
  last_body_sha256 TEXT,
  pushes           INTEGER NOT NULL DEFAULT 0,
  rejected         INTEGER NOT NULL DEFAULT 0,
  by_push          INTEGER NOT NULL DEFAULT 0,   -- entries that a ping brought first
  by_poll          INTEGER NOT NULL DEFAULT 0,   -- entries that a poll found first
  streak           INTEGER NOT NULL DEFAULT 0,   -- entries by push since the last one by poll
  missed_at        INTEGER
) STRICT;
CREATE INDEX push_subscriptions_by_feed ON push_subscriptions (feed_id);
CREATE INDEX push_subscriptions_by_hub ON push_subscriptions (hub);

-- A feed with push_only was never polled. It is polled once a week now.
UPDATE feed_sched SET paused = 0
 WHERE feed_no IN (SELECT feed_no FROM feeds WHERE paused = 0 AND overrides LIKE '%"push_only":true%');
UPDATE lanes SET claim_at = max(coalesce(next_ok_at, 0),
       (SELECT min(s.next_run_at) FROM feed_sched s WHERE s.lane_id = lanes.lane_id AND s.paused = 0))
 WHERE owner IS NULL AND lane_id IN (SELECT s.lane_id FROM feed_sched s JOIN feeds f ON f.feed_no = s.feed_no
                                      WHERE f.paused = 0 AND f.overrides LIKE '%"push_only":true%');
