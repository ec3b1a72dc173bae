"""Lanes that are given back together are one transaction.

Many feeds are alone on their host, so there can be nearly one release for every poll, and a transaction
for each cost more CPU time than committing the polls (`make bench-claims`). While one is under way, others
gather; the next one takes them all. An idle store answers at once.

Locks are taken as everywhere: lanes by number, before feeds. A lane of several of its host that was asked
to wait is a transaction of its own, because it binds its siblings.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from feedmill.adapters.store.postgres.claim_planner import host_of_lane, is_split
from feedmill.adapters.store.postgres.lanes import limit_lanes, lock_host_lanes
from feedmill.adapters.store.postgres.parameters import to_columns
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.tables.codec import PACE_COLUMNS, instant, micros, pace_row
from feedmill.adapters.store.tables.lanes import FIRST_DUE, ReleasedLane
from feedmill.errors import StoreError
from feedmill.model.feed import HostPace

RELEASE_GROUP_SIZE: Final = 200

_HOLD: Final = (
    "SELECT l.lane_id, l.next_ok_at, l.blocked_reason"
    " FROM unnest($1::bigint[], $2::bigint[]) AS n (lane_id, epoch)"
    " JOIN lanes l ON l.lane_id = n.lane_id AND l.epoch = n.epoch"
    " ORDER BY l.lane_id FOR NO KEY UPDATE OF l"
)
# A feed that has left the lane meanwhile keeps the run that it has.
_DEFER: Final = (
    "UPDATE feed_sched s SET next_run_at = n.at"
    " FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (id, at, lane_id)"
    " JOIN feeds f ON f.id = n.id WHERE s.feed_no = f.feed_no AND s.lane_id = n.lane_id"
)
_GIVE_BACK: Final = (
    f"UPDATE lanes l SET owner = NULL, ({PACE_COLUMNS}) ="
    f" ({', '.join(f'n.{name}' for name in PACE_COLUMNS.split(', '))}),"
    f" claim_at = greatest({FIRST_DUE}, coalesce(n.next_ok_at, 0))"
    " FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[], $5::double precision[],"
    f" $6::integer[], $7::text[], $8::text[], $9::bigint[], $10::text[]) AS n (lane_id, {PACE_COLUMNS})"
    " WHERE l.lane_id = n.lane_id"
)


class ReleaseBatcher:
    """Gathers and writes; its task begins with what is asked and ends with `close`."""

    def __init__(self, database: Database, *, group_size: int = RELEASE_GROUP_SIZE) -> None:
        self._database, self._group_size = database, group_size
        self._waiting: deque[tuple[ReleasedLane, asyncio.Future[None]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def release(self, given: ReleasedLane) -> None:
        """Give a lane back; who stops waiting changes nothing: what was asked is written."""
        if self._closed:
            message = f"{self._database.name}: the store is closed"
            raise StoreError(message, reason="closed")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((given, future))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work(), name="feedmill-release")
        await future

    async def close(self) -> None:
        """Finish what was asked."""
        self._closed = True
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        """One group after the other, as long as a release waits."""
        while self._waiting:
            group = [
                self._waiting.popleft() for _ in range(min(self._group_size, len(self._waiting)))
            ]
            try:
                await self._settle(group)
            except BaseException:
                for _, future in group:
                    future.cancel()
                raise

    async def _settle(self, group: "Sequence[tuple[ReleasedLane, asyncio.Future[None]]]") -> None:
        """Write a group and set its results; where one of them fails, each is written alone."""
        problem = await self._write([given for given, _ in group])
        is_settled = problem is None or len(group) == 1 or _concerns_all(problem)
        for given, future in group:
            _tell(future, problem if is_settled else await self._write([given]))

    async def _write(self, givens: Sequence[ReleasedLane]) -> Exception | None:
        """Nothing, or what is wrong with these together."""
        try:
            together = [one for one in givens if not _binds_siblings(one)]
            if together:
                await self._database.write(lambda c: release_all(c, together))
            for one in givens:
                if _binds_siblings(one):
                    await self._database.write(lambda c, one=one: release(c, one))  # type: ignore[misc]  # a bound default
        except Exception as problem:  # noqa: BLE001  # the edge of a task: raised in all that wait
            return problem
        return None


async def release(connection: PgConnection, given: ReleasedLane) -> None:
    """Give one lane back; a pause that one of several of its host was asked for binds them all."""
    if not _binds_siblings(given):
        await release_all(connection, (given,))
        return
    await lock_host_lanes(connection, host_of_lane(given.lane.key))
    for one in await release_all(connection, (given,)):
        if one.next_ok_at is not None:
            at = micros(one.next_ok_at)
            await limit_lanes(connection, host_of_lane(given.lane.key), at, one.blocked_reason)


async def release_all(
    connection: PgConnection, givens: Sequence[ReleasedLane]
) -> Sequence[HostPace]:
    """Give lanes back with the paces learnt; those that are written. Nothing happens to lost ones.

    A pause that another request was given meanwhile (`limit_host`) stands when it is the longer.
    """
    # Of two leases on one lane the later one counts; the other was lost to it.
    by_lane = {one.lane.id: one for one in sorted(givens, key=lambda one: one.lane.epoch)}
    epochs = [one.lane.epoch for one in by_lane.values()]
    held = await connection.fetch(_HOLD, list(by_lane), epochs)
    if not held:
        return ()
    written = [(by_lane[row[0]], _pace(by_lane[row[0]].pace, row[1], row[2])) for row in held]
    late = [
        (feed_id, micros(due_at), one.lane.id)
        for one, _ in written
        for feed_id, due_at in one.deferred
    ]
    if late:
        await connection.execute(_DEFER, *to_columns(late))
    rows = [(one.lane.id, *pace_row(pace)) for one, pace in written]
    await connection.execute(_GIVE_BACK, *to_columns(rows))
    return [pace for _, pace in written]


def _pace(learnt: HostPace, next_ok_at: int | None, reason: str | None) -> HostPace:
    if next_ok_at is None or (learnt.next_ok_at and instant(next_ok_at) <= learnt.next_ok_at):
        return learnt
    return replace(learnt, next_ok_at=instant(next_ok_at), blocked_reason=reason)


def _binds_siblings(given: ReleasedLane) -> bool:
    return is_split(given.lane.key) and given.pace.blocked_reason is not None


def _concerns_all(problem: Exception) -> bool:
    """Whether something is wrong with the database and not with a lane."""
    return isinstance(problem, StoreError) and problem.reason != "failed"


def _tell(future: "asyncio.Future[None]", problem: Exception | None) -> None:
    if future.done():  # who asked has stopped waiting
        return
    if problem is None:
        future.set_result(None)
    else:
        future.set_exception(problem)
