"""Groups what comes together into one transaction; each gets its own result.

While a transaction is under way, others gather; the next one takes them all, up to a number and
a weight. So a busy store writes in large groups, and an idle one answers at once.

A group that fails is halved until the one that fails alone is found, so that one bad refresh does
not sink the others. What is wrong with the database itself fails all of them at once.

Commits: a feed has one refresh in a group and in all groups under way: what comes after it sees what
it wrote. When the connection breaks during COMMIT, it is unknown whether it counted: the group is repeated,
and the runs that did count answer that they are known (D26).

Releases: many feeds are alone on their host, so there can be nearly one release for every poll, and a transaction
for each cost more CPU time than committing the polls (`make bench-claims`). A lane of several of its host that was
asked to wait is a transaction of its own, because it binds its siblings.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.postgres.claims import binds_siblings, release, release_all
from feedmill.adapters.store.postgres.commit import commit_group
from feedmill.adapters.store.postgres.lanes import LaneSettings
from feedmill.adapters.store.postgres.parameters import clean_and_size
from feedmill.adapters.store.postgres.pool import Database, LostCommitError, PgConnection
from feedmill.adapters.store.tables.lanes import ReleasedLane
from feedmill.adapters.store.tables.running.figures import TotalsWriter
from feedmill.errors import DAMAGE, StoreError
from feedmill.model.refresh import Committed, Refresh

COMMIT_GROUP_SIZE: Final = 200
COMMIT_GROUP_BYTES: Final = 8 * 1024 * 1024
IN_FLIGHT: Final = 2  # transactions: one is written while the other's answer is read
RELEASE_GROUP_SIZE: Final = 200

_TRIES: Final = 3  # of a group whose COMMIT got no answer

J = TypeVar("J")
R = TypeVar("R")


class _Waiting(NamedTuple, Generic[J, R]):
    """A job, its weight, what no other job of a group may share with it, and who waits for it."""

    job: J
    size: int
    key: str | None
    future: "asyncio.Future[R]"


class Batcher(ABC, Generic[J, R]):
    """Gathers and writes; its tasks begin with what is asked and end with `close`."""

    _task_name: str

    def __init__(self, database: Database, *, in_flight: int, group_size: int) -> None:
        self._database, self._in_flight, self._group_size = database, in_flight, group_size
        self._waiting: deque[_Waiting[J, R]] = deque()
        self._busy: set[str | None] = set()  # keys of the groups under way
        self._tasks: set[asyncio.Task[None]] = set()
        self._working = 0
        self._closed = False

    async def close(self) -> None:
        """Finish what was asked."""
        self._closed = True
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @abstractmethod
    async def _transact(self, jobs: Sequence[J]) -> Sequence[R]:
        """Write these jobs; what became of each."""

    def _check_open(self) -> None:
        if self._closed:
            message = f"{self._database.name}: the store is closed"
            raise StoreError(message, reason="closed")

    async def _ask(self, job: J, *, size: int = 0, key: str | None = None) -> R:
        """What became of the job. Who stops waiting changes nothing: what was asked is written."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(job, size, key, future))
        if self._working < self._in_flight:
            self._working += 1
            task = asyncio.create_task(self._work(), name=self._task_name)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _work(self) -> None:
        """One group after the other, as long as a job waits."""
        try:
            while group := self._take():
                await self._write(group)
        finally:
            self._working -= 1

    def _take(self) -> list[_Waiting[J, R]]:
        """The next group, in the order of arrival; a job whose key is being written waits."""
        group: list[_Waiting[J, R]] = []
        passed: list[_Waiting[J, R]] = []
        size = 0
        while self._waiting and len(group) < self._group_size and size < COMMIT_GROUP_BYTES:
            one = self._waiting.popleft()
            if one.key is not None and one.key in self._busy:
                passed.append(one)
            else:
                self._busy.add(one.key)
                group.append(one)
                size += one.size
        self._waiting.extendleft(reversed(passed))
        return group

    async def _write(self, group: Sequence[_Waiting[J, R]]) -> None:
        try:
            outcomes = await self._settle([one.job for one in group])
        except BaseException:
            for one in group:
                one.future.cancel()
            raise
        finally:
            self._busy.difference_update(one.key for one in group)
        for one, outcome in zip(group, outcomes, strict=True):
            _tell(one.future, outcome)

    async def _settle(self, jobs: Sequence[J]) -> list[R | Exception]:
        """What became of each: together, or by halves when there is a bad one among them."""
        try:
            return [*await self._transact(jobs)]
        except Exception as error:  # noqa: BLE001  # the edge of a task: raised in all that wait
            if len(jobs) == 1 or _concerns_all(error):
                return [error] * len(jobs)
        half = len(jobs) // 2
        return [*await self._settle(jobs[:half]), *await self._settle(jobs[half:])]


class CommitBatcher(Batcher[Refresh, Committed]):
    """Commits refreshes."""

    _task_name = "feedmill-commit"

    def __init__(
        self,
        database: Database,
        pacing: LaneSettings,
        *,
        in_flight: int = IN_FLIGHT,
        group_size: int = COMMIT_GROUP_SIZE,
        searchable: bool = True,
    ) -> None:
        super().__init__(database, in_flight=in_flight, group_size=group_size)
        self._pacing, self._searchable = pacing, searchable
        self._totals = [TotalsWriter() for _ in range(in_flight)]  # one for each transaction

    async def commit(self, refresh: Refresh) -> Committed:
        """Write what a refresh decided: all or nothing, once per run."""
        self._check_open()
        storable, size = clean_and_size(refresh)
        return await self._ask(storable, size=size, key=refresh.feed.id)

    async def _transact(self, jobs: Sequence[Refresh]) -> Sequence[Committed]:
        totals = self._totals.pop()
        try:
            for tries_left in reversed(range(_TRIES)):
                try:
                    return await self._write_once(jobs, totals)
                except StoreError as error:
                    if not tries_left or not isinstance(error.__cause__, LostCommitError):
                        raise
        finally:
            self._totals.append(totals)
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


class ReleaseBatcher(Batcher[ReleasedLane, None]):
    """Gives lanes back."""

    _task_name = "feedmill-release"

    def __init__(self, database: Database, *, group_size: int = RELEASE_GROUP_SIZE) -> None:
        super().__init__(database, in_flight=1, group_size=group_size)

    async def release(self, given: ReleasedLane) -> None:
        """Give a lane back."""
        self._check_open()
        await self._ask(given)

    async def _transact(self, jobs: Sequence[ReleasedLane]) -> Sequence[None]:
        together = [one for one in jobs if not binds_siblings(one)]
        if together:
            await self._database.write(lambda c: release_all(c, together))
        for one in jobs:
            if binds_siblings(one):
                await self._database.write(lambda c, one=one: release(c, one))  # type: ignore[misc]  # a bound default
        return [None] * len(jobs)


def _concerns_all(error: Exception) -> bool:
    """Whether something is wrong with the database and not with one job."""
    return isinstance(error, StoreError) and error.reason not in ("failed", *DAMAGE)


def _tell(future: "asyncio.Future[R]", outcome: R | Exception) -> None:
    if future.done():  # who asked has stopped waiting
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
