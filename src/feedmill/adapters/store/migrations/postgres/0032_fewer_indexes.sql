-- A claim and a release write a new version of a lane and of its schedule, with an entry in every index of them. A lane is found
-- by its key, one of several lanes of a host by the index of those. Lanes that are due together lie together in the order of
-- time; behind the shard each had a page of its own, and a claim looked into all 1,024 of them.
DROP INDEX lanes_by_host;
DROP INDEX lanes_by_claim_at;
CREATE INDEX lanes_by_claim_at ON lanes (claim_at, shard);
DROP INDEX feed_sched_lanes;
DROP INDEX feed_sched_by_lane;
CREATE INDEX feed_sched_by_lane ON feed_sched (lane_id, paused, next_run_at);
