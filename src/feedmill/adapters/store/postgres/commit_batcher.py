"""Groups commits that come together into one transaction; each gets its own result.

While a transaction is under way, refreshes gather; the next one takes them all, up to a number and
a weight. So a busy store writes in large groups, and an idle one answers at once. A feed has one
refresh in a group and in all groups under way: what comes after it sees what it wrote.

A group that fails is halved until the one that fails alone is found, so that one bad refresh does
not sink the others. What is wrong with the database itself fails all of them at once.

When the connection breaks during COMMIT, it is unknown whether it counted: the group is repeated,
and the runs that did count answer that they are known (D26).
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.postgres.claim_planner import LaneSettings
from feedmill.adapters.store.postgres.commit import commit_group
from feedmill.adapters.store.postgres.parameters import clean_and_size
from feedmill.adapters.store.postgres.pool import Database, LostCommitError, PgConnection
from feedmill.adapters.store.totals_writer import TotalsWriter
from feedmill.errors import DAMAGE, StoreError
from feedmill.model.refresh import Committed, Refresh

COMMIT_GROUP_SIZE: Final = 200
COMMIT_GROUP_BYTES: Final = 8 * 1024 * 1024
IN_FLIGHT: Final = 2  # transactions: one is written while the other's answer is read

_TRIES: Final = 3  # of a group whose COMMIT got no answer


class _Waiting(NamedTuple):
    """A refresh, its weight, and who waits for it."""

    refresh: Refresh
    size: int
    future: "asyncio.Future[Committed]"


class CommitBatcher:
    """Gathers and writes; its tasks begin with what is asked and end with `close`."""

    def __init__(
        self,
        database: Database,
        pacing: LaneSettings,
        *,
        in_flight: int = IN_FLIGHT,
        group_size: int = COMMIT_GROUP_SIZE,
        searchable: bool = True,
    ) -> None:
        self._database, self._pacing, self._searchable = database, pacing, searchable
        self._in_flight, self._group_size = in_flight, group_size
        self._waiting: deque[_Waiting] = deque()
        self._busy: set[str] = set()  # feeds of the groups under way
        self._tasks: set[asyncio.Task[None]] = set()
        self._working = 0
        self._totals = [TotalsWriter() for _ in range(in_flight)]  # one for each transaction
        self._closed = False

    async def commit(self, refresh: Refresh) -> Committed:
        """Write what a refresh decided: all or nothing, once per run.

        Who stops waiting changes nothing: what was asked is written.
        """
        if self._closed:
            message = f"{self._database.name}: the store is closed"
            raise StoreError(message, reason="closed")
        storable, size = clean_and_size(refresh)
        future: asyncio.Future[Committed] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(storable, size, future))
        self._begin()
        return await future

    async def close(self) -> None:
        """Finish what was asked."""
        self._closed = True
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self) -> None:
        if self._working < self._in_flight:
            self._working += 1
            task = asyncio.create_task(self._work(), name="feedmill-commit")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        """One group after the other, as long as a commit waits."""
        totals = self._totals.pop()
        try:
            while group := self._take():
                await self._write(group, totals)
        finally:
            self._totals.append(totals)
            self._working -= 1

    def _take(self) -> list[_Waiting]:
        """The next group, in the order of arrival; a feed that is being written waits."""
        group: list[_Waiting] = []
        passed: list[_Waiting] = []
        size = 0
        while self._waiting and len(group) < self._group_size and size < COMMIT_GROUP_BYTES:
            one = self._waiting.popleft()
            if one.refresh.feed.id in self._busy:
                passed.append(one)
            else:
                self._busy.add(one.refresh.feed.id)
                group.append(one)
                size += one.size
        self._waiting.extendleft(reversed(passed))
        return group

    async def _write(self, group: Sequence[_Waiting], totals: TotalsWriter) -> None:
        try:
            outcomes = await self._settle([one.refresh for one in group], totals)
        except BaseException:
            for one in group:
                one.future.cancel()
            raise
        finally:
            self._busy.difference_update(one.refresh.feed.id for one in group)
        for one, outcome in zip(group, outcomes, strict=True):
            _tell(one.future, outcome)

    async def _settle(
        self, refreshes: Sequence[Refresh], totals: TotalsWriter
    ) -> list[Committed | Exception]:
        """What became of each: together, or by halves when there is a bad one among them."""
        try:
            return [*await self._transact(refreshes, totals)]
        except Exception as error:  # noqa: BLE001  # the edge of a task: raised in all that wait
            if len(refreshes) == 1 or _concerns_all(error):
                return [error] * len(refreshes)
        half = len(refreshes) // 2
        return [
            *await self._settle(refreshes[:half], totals),
            *await self._settle(refreshes[half:], totals),
        ]

    async def _transact(
        self, refreshes: Sequence[Refresh], totals: TotalsWriter
    ) -> list[Committed]:
        for tries_left in reversed(range(_TRIES)):
            try:
                return await self._write_once(refreshes, totals)
            except StoreError as error:
                if not tries_left or not isinstance(error.__cause__, LostCommitError):
                    raise
        raise AssertionError

    async def _write_once(
        self, refreshes: Sequence[Refresh], totals: TotalsWriter
    ) -> list[Committed]:
        async def job(connection: PgConnection) -> list[Committed]:
            reach("store-begun")
            done = await commit_group(
                connection, refreshes, self._pacing, totals, searchable=self._searchable
            )
            reach("store-commit")
            return done

        reach("store-begin")
        done = await self._database.write(job)
        totals.committed()
        reach("store-committed")
        return done


def _concerns_all(error: Exception) -> bool:
    """Whether something is wrong with the database and not with a refresh."""
    return isinstance(error, StoreError) and error.reason not in ("failed", *DAMAGE)


def _tell(future: "asyncio.Future[Committed]", outcome: Committed | Exception) -> None:
    if future.done():  # who asked has stopped waiting
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
