-- The first job of each host: many jobs of a host that has to rest do not hide those of the others.
CREATE INDEX jobs_by_host ON jobs (kind, host, priority, not_before) WHERE state = 'queued';
