"""Tables `jobs` and `job_budgets`: background work with leases, fencing and daily limits.

A job that asks a host is claimed together with a free lane of that host, and only while no feed of the
host is due; so it keeps the host's gap, and no poll of the host runs beside it. The epoch of a job grows
with each claim: what an earlier holder writes is a no-op, and so is whatever comes after a cancellation.
Rows that another process holds locked are passed over, so claims wait for nothing.
"""
# Tested in tests/contracts/store/test_jobs.py

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query, newest_page
from feedmill.adapters.store.tables import codec
from feedmill.adapters.store.tables.lanes import renew
from feedmill.canonicalise.urls import host_key_of
from feedmill.model.feed import Lane
from feedmill.model.page import Page
from feedmill.model.running.job import (
    Job,
    JobClaim,
    JobCount,
    JobFilter,
    JobLimit,
    JobSettlement,
    JobStep,
    NewJob,
)

_JOB: Final = codec.RowCodec(
    Job,
    "kind key state created_at updated_at not_before priority url host feed_id payload"
    " cursor progress attempts steps epoch owner lease_until keep last_error ended_at id",
    table="jobs",
)
_COLUMNS: Final = _JOB.names("j.").replace("j.id", "j.job_id")
_SELECT: Final = f"SELECT {_COLUMNS} FROM jobs j"
_NEW: Final = (
    "kind", "key", "state", "created_at", "updated_at", "not_before", "priority", "url", "host",
    "feed_id", "payload", "keep",
)  # fmt: skip
_INSERT: Final = f"{sql.insert_into('jobs', _NEW)} ON CONFLICT (kind, key) DO "
# A job that is queued or runs stays as it is.
_RESTART: Final = (
    f"UPDATE SET state = 'queued', {sql.excluded([one for one in _NEW if one not in ('state', 'created_at')])},"
    " cursor = '{}', progress = '{}', attempts = 0, last_error = '', ended_at = NULL"
    " WHERE jobs.state IN ('done', 'failed', 'cancelled')"
)
_COME_FORWARD: Final = (
    "UPDATE jobs SET updated_at = $3, not_before = @least(not_before, $4), url = $5, host = $6,"
    " feed_id = $7, payload = $8 WHERE kind = $1 AND key = $2 AND state = 'queued'"
)
_DUE_FEED: Final = (
    "EXISTS (SELECT 1 FROM lanes l JOIN feed_sched s ON s.lane_id = l.lane_id"
    " WHERE @of_host(l, {host}) AND s.paused = 0 AND s.next_run_at <= $2)"
)
_FREE_LANE: Final = (
    "SELECT l.lane_id FROM lanes l WHERE @of_host(l, {host}) AND l.owner IS NULL"
    " AND coalesce(l.next_ok_at, 0) <= $2"
)
_USED: Final = (
    "coalesce((SELECT b.used FROM job_budgets b"
    " WHERE b.kind = j.kind AND b.host = {host} AND b.day = $3), 0)"
)
_WINDOW: Final = 500  # due jobs that are looked at before hosts are
_QUEUED: Final = "x.state = 'queued' AND x.not_before <= $2"
_FIRST: Final = "ORDER BY x.priority, x.not_before, x.job_id LIMIT"
_IN_WINDOW: Final = f"SELECT x.job_id FROM jobs x WHERE {_QUEUED} {_FIRST} {_WINDOW}"
# One step of an index per host, however many jobs each of them has.
_OF_HOSTS: Final = (
    "WITH RECURSIVE hosts(kind, host) AS ("
    " SELECT k.kind, (SELECT min(x.host) FROM jobs x WHERE x.state = 'queued' AND x.kind = k.kind)"
    " FROM @rows($1, kind text, host_steps bigint, day_steps bigint, alone bigint) AS k"
    " UNION ALL SELECT h.kind, (SELECT min(x.host) FROM jobs x WHERE x.state = 'queued'"
    " AND x.kind = h.kind AND x.host > h.host) FROM hosts h WHERE h.host IS NOT NULL) "
)
_FIRST_OF_HOSTS: Final = (
    "SELECT (SELECT x.job_id FROM jobs x WHERE x.kind = h.kind AND x.host = h.host"
    f" AND {_QUEUED} {_FIRST} 1) FROM hosts h WHERE h.host IS NOT NULL UNION ALL SELECT job_id FROM ("
    f"SELECT x.job_id FROM jobs x WHERE x.host IS NULL AND {_QUEUED} AND x.kind @in($5) {_FIRST} {_WINDOW}) y"
)


def _due_jobs(beginning: str, which: str) -> str:
    """Jobs that can be claimed now. A host without a lane is a new one: it is made with the claim."""
    return (
        f"{beginning}{_SELECT} JOIN @rows($1, kind text, host_steps bigint, day_steps bigint, alone bigint) AS k"
        # Not by an index of the kind: these jobs are few, those of the kind may be many.
        f" ON k.kind = coalesce(j.kind, '') WHERE j.job_id IN ({which})"
        " AND j.state = 'queued' AND j.not_before <= $2"
        " AND (j.host IS NULL OR ((NOT EXISTS (SELECT 1 FROM lanes l WHERE @of_host(l, j.host))"
        f" OR EXISTS ({_FREE_LANE.format(host='j.host')}))"
        f" AND NOT {_DUE_FEED.format(host='j.host')}))"
        f" AND (k.host_steps IS NULL OR {_USED.format(host='j.host')} < k.host_steps)"
        f" AND (k.day_steps IS NULL OR {_USED.format(host=chr(39) * 2)} < k.day_steps)"
        # By the index of leases: the jobs that run are few.
        " AND (k.alone = 0 OR NOT EXISTS (SELECT 1 FROM jobs o WHERE o.state = 'running'"
        " AND o.lease_until > 0 AND coalesce(o.kind, '') = j.kind AND o.host = j.host))"
        " ORDER BY j.priority, j.not_before, j.job_id LIMIT $4 @lock(FOR UPDATE OF j SKIP LOCKED)"
    )


_DUE: Final = _due_jobs("", _IN_WINDOW)
_DUE_ELSEWHERE: Final = _due_jobs(_OF_HOSTS, _FIRST_OF_HOSTS)
_IS_LONG: Final = f"SELECT count(*) FROM (SELECT 1 FROM jobs x WHERE {_QUEUED.replace('$2', '$1')} LIMIT {_WINDOW}) w"
_LEASE_LANE: Final = (
    "UPDATE lanes SET owner = $3, epoch = epoch + 1, claim_at = $4 WHERE lane_id IN ("
    + _FREE_LANE.format(host="$1")
    + " ORDER BY l.lane_id LIMIT 1 @lock(FOR NO KEY UPDATE SKIP LOCKED))"
    f" RETURNING lane_id, lane_key, epoch, {codec.PACE_COLUMNS}"
)
_START: Final = (
    "UPDATE jobs SET state = 'running', owner = $2, lease_until = $3, epoch = epoch + 1,"
    " attempts = attempts + 1, steps = steps + 1, updated_at = $4 WHERE job_id = $1"
)
_SPEND: Final = (
    "INSERT INTO job_budgets (kind, host, day, used) VALUES ($1, $2, $3, 1)"
    " ON CONFLICT (kind, host, day) DO UPDATE SET used = job_budgets.used + 1"
)
# The process of such a job has died. One that kills its process each time ends here.
_EXPIRED: Final = (
    "SELECT j.job_id, j.kind, j.attempts FROM jobs j WHERE j.state = 'running' AND j.lease_until <= $1"
    " AND j.kind @in($2) @lock(FOR UPDATE OF j SKIP LOCKED)"
)
_HELD: Final = "job_id = $1 AND epoch = $2 AND state = 'running'"
_ENDED: Final = "state IN ('done', 'failed', 'cancelled')"
_LOOK_AHEAD: Final = 100  # queued jobs whose hosts are looked at for the next moment with work
_CANDIDATES: Final = 50  # rows of one look; several jobs of one host need several looks


def add_job(new: NewJob, *, now: datetime, restart: bool = False) -> Query[tuple[Job, bool]]:
    """Queue a job, unless there is one of its kind and key; `restart` begins an ended one anew."""
    wish = yield from sql.storable(new)
    at = codec.micros(now)
    values = (
        wish.kind,
        wish.key,
        "queued",
        at,
        at,
        at if wish.not_before is None else codec.micros(wish.not_before),
        wish.priority,
        wish.url,
        None if wish.url is None else host_key_of(wish.url),
        wish.feed_id,
        codec.json_text(wish.payload),
        int(wish.keep),
    )
    restart = restart or wish.sooner
    queued = yield from sql.write(_INSERT + (_RESTART if restart else "NOTHING"), *values)
    if not queued and wish.sooner:
        yield from sql.write(_COME_FORWARD, wish.kind, wish.key, *values[4:6], *values[7:11])
    stored = yield from find_job(wish.kind, wish.key)
    assert stored is not None
    return stored, queued == 1


def job(job_id: int) -> Query[Job | None]:
    """The job of that number."""
    return sql.one_of(_JOB.value, f"{_SELECT} WHERE j.job_id = $1", job_id)


def find_job(kind: str, key: str) -> Query[Job | None]:
    """The job of that kind and key."""
    return sql.one_of(_JOB.value, f"{_SELECT} WHERE j.kind = $1 AND j.key = $2", kind, key)


def jobs(where: JobFilter, *, after: str | None = None, limit: int = 100) -> Query[Page[Job]]:
    """Jobs, the newest first."""
    wanted = {f"j.{name}": getattr(where, name) for name in ("kind", "state", "feed_id")}
    return newest_page(_SELECT, "j.job_id", wanted, _JOB.value, after=after, limit=limit)


def job_counts() -> Query[tuple[JobCount, ...]]:
    """How many jobs of each kind are in each state."""
    found = yield from sql.rows(
        "SELECT kind, state, count(*) FROM jobs GROUP BY kind, state ORDER BY kind, state"
    )
    return tuple(JobCount(kind=kind, state=state, jobs=number) for kind, state, number in found)


def claim_jobs(
    owner: str, limits: Sequence[JobLimit], *, now: datetime, until: datetime, max_jobs: int
) -> Query[tuple[JobClaim, ...]]:
    """Lease due jobs, at most one per lane; their lanes are leased with them."""
    by_kind = {one.kind: one for one in limits}
    yield from _requeue_expired(by_kind, codec.micros(now))
    kinds = codec.json_text(
        [(one.kind, one.host_steps, one.day_steps, int(one.one_per_host)) for one in limits]
    )
    claims: list[JobClaim] = []
    begun_of, hosts = Counter[str](), set[tuple[str, str | None]]()
    asked: tuple[Any, ...] = (kinds, codec.micros(now), _day(now), _CANDIDATES)
    query = _DUE
    while len(claims) < max_jobs:
        found = yield from sql.rows(query, *asked)
        begun = 0
        for one in map(_JOB.value, found):
            if len(claims) == max_jobs:
                break
            limit = by_kind[one.kind]
            is_full = limit.free is not None and begun_of[one.kind] >= limit.free
            if is_full or (limit.one_per_host and (one.kind, one.host) in hosts):
                continue
            claim = yield from _start(one, limit, owner, now, until)
            if claim is not None:
                hosts.add((one.kind, one.host))
                begun_of[one.kind] += 1
                claims.append(claim)
                begun += 1
        if begun and len(found) == _CANDIDATES:
            continue
        if query is _DUE_ELSEWHERE or (yield from sql.value(_IS_LONG, asked[1])) < _WINDOW:
            break
        # The first jobs are those of hosts that rest, or of kinds that have no place free.
        query, asked = _DUE_ELSEWHERE, (*asked, list(by_kind))
    return tuple(claims)


def next_job_at(kinds: Sequence[str]) -> Query[datetime | None]:
    """When a job may be claimed, by its own time and its host's gap; None when none is queued."""
    at = yield from sql.value(
        "SELECT min(@greatest(j.not_before, coalesce((SELECT min(coalesce(l.next_ok_at, 0))"
        " FROM lanes l WHERE @of_host(l, j.host)), 0))) FROM (SELECT not_before, host FROM jobs"
        f" WHERE state = 'queued' AND kind @in($1) ORDER BY not_before LIMIT {_LOOK_AHEAD}) j",
        list(kinds),
    )
    return None if at is None else codec.instant(at)


def renew_job(claim: JobClaim, *, owner: str, until: datetime) -> Query[bool]:
    """Hold the job and its lane longer; False when either was lost or the job was cancelled."""
    if claim.lane is not None and not (yield from renew(claim.lane, owner=owner, until=until)):
        return False
    return (
        yield from sql.write_one(
            f"UPDATE jobs SET lease_until = $3 WHERE {_HELD} AND owner = $4",
            claim.job.id,
            claim.job.epoch,
            until,
            owner,
        )
    )


def settle_job(done: JobSettlement) -> Query[bool]:
    """Store what became of a job; False when it was cancelled or its lease was lost."""
    kept = yield from sql.storable(done)
    ended = codec.micros(done.at) if done.state != "queued" else None
    return (
        yield from sql.write_one(
            "UPDATE jobs SET state = $3, not_before = $4, attempts = $5, cursor = coalesce($6, cursor),"
            " progress = coalesce($7, progress), url = coalesce($8, url), host = coalesce($9, host),"
            " last_error = $10, updated_at = $11, ended_at = $12, owner = NULL, lease_until = NULL"
            f" WHERE {_HELD}",
            kept.job_id,
            kept.epoch,
            kept.state,
            kept.not_before,
            kept.attempts,
            None if kept.cursor is None else codec.json_text(kept.cursor),
            None if kept.progress is None else codec.json_text(kept.progress),
            kept.url,
            None if kept.url is None else host_key_of(kept.url),
            kept.last_error,
            kept.at,
            ended,
        )
    )


def holds_job(step: JobStep) -> Query[bool]:
    """Lock a job for the rest of the transaction; False when it was cancelled or lost."""
    found = yield from sql.value(
        f"SELECT 1 FROM jobs WHERE {_HELD} @lock(FOR UPDATE)", step.job_id, step.epoch
    )
    return found is not None


def advance_job(step: JobStep, at: datetime) -> Query[bool]:
    """Write how far a job has come, in the transaction of what it did; False when it was lost."""
    return sql.write_one(
        "UPDATE jobs SET cursor = $3, progress = coalesce($4, progress), attempts = 1,"
        f" updated_at = $5 WHERE {_HELD}",
        step.job_id,
        step.epoch,
        codec.json_text(step.cursor),
        None if step.progress is None else codec.json_text(step.progress),
        at,
    )


def cancel_job(job_id: int, *, now: datetime) -> Query[bool]:
    """End a job that waits or runs; what a running step writes afterwards is a no-op."""
    return sql.write_one(
        "UPDATE jobs SET state = 'cancelled', owner = NULL, lease_until = NULL, ended_at = $2,"
        " updated_at = $2 WHERE job_id = $1 AND state IN ('queued', 'running')",
        job_id,
        now,
    )


def retry_job(job_id: int, *, now: datetime) -> Query[bool]:
    """Queue a job again that has ended; it goes on where it was."""
    return sql.write_one(
        "UPDATE jobs SET state = 'queued', attempts = 0, not_before = $2, updated_at = $2,"
        f" ended_at = NULL WHERE job_id = $1 AND {_ENDED}",
        job_id,
        now,
    )


def purge_jobs(before: datetime, limit: int) -> Query[int]:
    """Delete jobs that ended before, except those to be kept, and the budgets of days before."""
    yield from sql.write("DELETE FROM job_budgets WHERE day < $1", _day(before))
    return (
        yield from sql.write(
            "DELETE FROM jobs WHERE job_id IN (SELECT j.job_id FROM jobs j WHERE j.ended_at < $1"
            " AND j.keep = 0 ORDER BY j.ended_at LIMIT $2 @lock(FOR UPDATE OF j SKIP LOCKED))",
            before,
            limit,
        )
    )


def delete_jobs_of_feed(feed_id: str) -> Query[None]:
    """Delete the jobs of a feed that is removed; a running one writes nothing afterwards."""
    yield from sql.write("DELETE FROM jobs WHERE feed_id = $1", feed_id)


def _start(
    one: Job, limit: JobLimit, owner: str, now: datetime, until: datetime
) -> Query[JobClaim | None]:
    """Lease a job with a lane of its host; None when another job has taken the lane meanwhile."""
    lane = None
    if one.host is not None:
        lane = yield from _lease_lane(one, owner, now, until)
        if lane is None:
            return None
    yield from sql.write(_START, one.id, owner, until, now)
    if limit.host_steps is not None and one.host is not None:
        yield from sql.write(_SPEND, one.kind, one.host, _day(now))
    if limit.day_steps is not None:
        yield from sql.write(_SPEND, one.kind, "", _day(now))
    stored = yield from job(one.id)
    assert stored is not None
    return JobClaim(job=stored, until=until, lane=lane)


def _lease_lane(one: Job, owner: str, now: datetime, until: datetime) -> Query[Lane | None]:
    asked = (one.host, codec.micros(now), owner, codec.micros(until))
    found = yield from sql.row(_LEASE_LANE, *asked)
    if found is None:
        yield from sql.lane_of(one.url or "", str(one.id))
        found = yield from sql.row(_LEASE_LANE, *asked)
    if found is None:
        return None
    lane_id, key, epoch, *pace = found
    return Lane(id=lane_id, key=key, epoch=epoch, pace=codec.pace_of(tuple(pace)))


def _requeue_expired(limits: dict[str, JobLimit], at: int) -> Query[None]:
    found = yield from sql.rows(_EXPIRED, at, list(limits))
    for job_id, kind, attempts in found:
        given_up = attempts >= limits[kind].max_attempts
        yield from sql.write(
            "UPDATE jobs SET state = $2, owner = NULL, lease_until = NULL, ended_at = $3,"
            " updated_at = $4, last_error = $5 WHERE job_id = $1",
            job_id,
            "failed" if given_up else "queued",
            at if given_up else None,
            at,
            "lease-expired: the process that ran it stopped",
        )


def _day(at: datetime) -> int:
    return at.astimezone(UTC).date().toordinal() - datetime(1970, 1, 1, tzinfo=UTC).toordinal()
