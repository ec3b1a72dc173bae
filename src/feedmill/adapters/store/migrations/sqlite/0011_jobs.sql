-- Background work: one row per job of any kind. A job that names a host runs under the host's lane.
CREATE TABLE jobs (
  job_id      INTEGER PRIMARY KEY,
  kind        TEXT    NOT NULL,
  key         TEXT    NOT NULL,             -- what the job is about: one row per kind and key
  state       TEXT    NOT NULL,             -- queued, running, done, failed, cancelled
  url         TEXT,                         -- the address that its next step asks
  host        TEXT,                         -- the lane of that address; NULL: no host is asked
  feed_id     TEXT,
  payload     TEXT    NOT NULL DEFAULT '{}',  -- JSON; as it was queued
  cursor      TEXT    NOT NULL DEFAULT '{}',  -- JSON; how far it has come
  progress    TEXT    NOT NULL DEFAULT '{}',  -- JSON; numbers for people
  priority    INTEGER NOT NULL,             -- the smaller, the earlier
  not_before  INTEGER NOT NULL,
  attempts    INTEGER NOT NULL DEFAULT 0,   -- begun since the last step that succeeded
  steps       INTEGER NOT NULL DEFAULT 0,   -- begun altogether
  epoch       INTEGER NOT NULL DEFAULT 0,   -- fencing token: grows with each claim
  owner       TEXT,                         -- the process that runs it, until lease_until
  lease_until INTEGER,
  keep        INTEGER NOT NULL DEFAULT 0,   -- retention leaves the row: it records what was done once
  last_error  TEXT    NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  ended_at    INTEGER,
  UNIQUE (kind, key)
) STRICT;
CREATE INDEX jobs_due ON jobs (priority, not_before) WHERE state = 'queued';
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'running';
CREATE INDEX jobs_by_feed ON jobs (feed_id) WHERE feed_id IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- Steps that were begun, by day; host '' counts those of all hosts. Only kinds with a limit are counted.
CREATE TABLE job_budgets (
  kind TEXT    NOT NULL,
  host TEXT    NOT NULL,
  day  INTEGER NOT NULL,                    -- since 1970-01-01
  used INTEGER NOT NULL,
  PRIMARY KEY (kind, host, day)
) STRICT, WITHOUT ROWID;
