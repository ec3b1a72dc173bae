"""One thread that writes: jobs are grouped into transactions and acknowledged after COMMIT.

Jobs that arrive while a transaction is under way join it, up to a number and a time, and a busy
store waits a moment for more before it begins: one COMMIT for twenty polls costs a tenth less CPU
per poll than one for two. So a busy store writes in large groups, and an idle one answers at once. A group runs without savepoints;
when a job fails, the group is rolled back and run again with one savepoint per job, so that one
bad job does not sink the others. A job must therefore be repeatable: it reads and writes nothing
but the connection.

A large job waits while small ones do, and takes turns with their groups: a small job waits for one large one at most. When
it kept small ones waiting, the next large one begins fifteen times as long after it as it took: publishers of ever new entries have
a sixteenth of the writer at most, and the polls of the other feeds have the rest.
"""
# Tested in tests/integration/adapters/store/sqlite/

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.sqlite.connection import (
    FROM_STORE,
    Connect,
    error_code,
    is_busy,
    store_error,
)
from feedmill.adapters.store.sqlite.run_query import translate
from feedmill.adapters.store.tables.running.figures import SAVE_TOTALS, TotalsWriter
from feedmill.errors import StoreError

T = TypeVar("T")

WRITE_GROUP_JOBS: Final = 500
WRITE_GROUP_SEC: Final = 0.03
LARGE_REST_FACTOR: Final = 15.0  # between large jobs, by the time that the last one took
LARGE_REST_SEC: Final = 20.0  # and no longer: a commit must not outlast the lease of its lane
QUIET_SEC: Final = 0.5  # without any small job: then a large one keeps no other job waiting
LINGER_SEC: Final = 0.004  # for a group to gather, when the last one had company
BUSY_TIMEOUT_SEC: Final = 60.0  # for a foreign writer; after that the jobs fail as `busy`
CLOSE_TIMEOUT_SEC: Final = 2.0  # the same, once the store is being closed

_SAVE_TOTALS: Final = translate(SAVE_TOTALS)
_WHOLE_DATABASE: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_NOMEM,
    }
)


class WriteJob(NamedTuple):
    """Something to do inside a transaction, and who waits for it."""

    run: Callable[[sqlite3.Connection], Any]
    future: "asyncio.Future[Any]"
    loop: asyncio.AbstractEventLoop
    is_large: bool = False


class JobOutcome(NamedTuple):
    job: WriteJob
    value: Any = None
    error: BaseException | None = None


class Writer:
    """The thread, its connection and its queue; begun by the constructor, ended by `close`."""

    def __init__(
        self,
        connect: Connect,
        path: str,
        *,
        patience_sec: float = BUSY_TIMEOUT_SEC,
        totals: TotalsWriter | None = None,
    ) -> None:
        """`totals` is what the jobs of a group count together; it is written with the group."""
        self._connect, self._path, self._patience_sec = connect, path, patience_sec
        self._totals = totals or TotalsWriter()
        self._connection: sqlite3.Connection | None = connect()
        self._queue = _Queue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="feedmill-writer", daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[sqlite3.Connection], T], *, is_large: bool = False) -> T:
        """What the job returned, once it is committed; small jobs go first."""
        if self._closed:
            message = f"{self._path}: the store is closed"
            raise StoreError(message, reason="closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(WriteJob(job, future, loop, is_large))
        return await future

    async def close(self) -> None:
        """Finish what was asked, then end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        """The thread's whole life: one group after the other, until the end mark."""
        busy = False
        while (first := self._queue.next()) is not None:
            if busy and not self._closed:
                time.sleep(LINGER_SEC)
            group, began = _Group(self._queue, first), time.monotonic()
            try:
                outcomes = self._transact(group)
            except Exception as error:  # noqa: BLE001  # the edge of a task: raised in all that wait
                outcomes = self._abandon(group, error)
            resolve(outcomes)
            if first.is_large:
                self._queue.rest(time.monotonic() - began)
            busy = len(outcomes) > 1
        if self._connection is not None:
            self._connection.close()

    def _transact(self, group: "_Group") -> list[JobOutcome]:
        connection = self._connection = self._connection or self._connect()
        reach("store-begin")
        self._begin(connection)
        try:
            reach("store-begun")
            outcomes = [JobOutcome(job, job.run(connection)) for job in group.arriving()]
        except Exception as error:
            self._roll_back()
            if error_code(error) in _WHOLE_DATABASE or self._connection is None:
                raise
            if error_code(error) == sqlite3.SQLITE_CORRUPT:
                return [self._alone(connection, job) for job in group.jobs]
            outcomes = self._one_by_one(connection, group.jobs)
        self._commit(connection)
        return outcomes

    def _commit(self, connection: sqlite3.Connection) -> None:
        if rows := self._totals.rows():
            connection.executemany(_SAVE_TOTALS, rows)
        reach("store-commit")
        connection.execute("COMMIT")
        self._totals.committed()
        reach("store-committed")

    def _alone(self, connection: sqlite3.Connection, job: WriteJob) -> JobOutcome:
        """A job in a transaction of its own: SQLite writes nothing more in one that met a damaged page."""
        try:
            self._begin(connection)
            outcome = JobOutcome(job, job.run(connection))
            self._commit(connection)
        except Exception as error:  # noqa: BLE001  # the edge of a task: raised in what waits
            self._roll_back()
            return JobOutcome(job, error=_translated(error, self._path))
        return outcome

    def _one_by_one(
        self, connection: sqlite3.Connection, jobs: Sequence[WriteJob]
    ) -> list[JobOutcome]:
        self._begin(connection)
        outcomes = []
        for job in jobs:
            connection.execute("SAVEPOINT job")
            try:
                outcomes.append(JobOutcome(job, job.run(connection)))
            except Exception as error:
                if error_code(error) in _WHOLE_DATABASE or not connection.in_transaction:
                    raise
                connection.execute("ROLLBACK TO job")
                outcomes.append(JobOutcome(job, error=_translated(error, self._path)))
            connection.execute("RELEASE job")
        return outcomes

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Take the write lock, however long another process needs it, within our patience."""
        began = time.monotonic()
        while True:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                patience = CLOSE_TIMEOUT_SEC if self._closed else self._patience_sec
                if not is_busy(error) or time.monotonic() - began >= patience:
                    raise
            else:
                break
        self._totals.begin()

    def _abandon(self, group: "_Group", error: Exception) -> list[JobOutcome]:
        """Nothing of the group was written; the next one gets a fresh start."""
        self._roll_back()
        if is_busy(error):  # those who came meanwhile have waited too, and would wait in vain
            group.take_all()
        problem = _translated(error, self._path)
        return [JobOutcome(job, error=problem) for job in group.jobs]

    def _roll_back(self) -> None:
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:  # a connection that cannot even do this is of no more use
            connection.close()
            self._connection = None


class _Queue:
    """Jobs that wait; any thread may put, only the writer takes."""

    def __init__(self) -> None:
        self._arrived: SimpleQueue[WriteJob | None] = SimpleQueue()
        self._large: deque[WriteJob] = deque()
        self._was_large = True
        self._rest_until = 0.0
        self._ended = False

    def put(self, job: WriteJob | None) -> None:
        """Add a job; None: no more will come."""
        self._arrived.put(job)

    def next(self) -> WriteJob | None:
        """The job that begins a group, waited for; None: all is done."""
        job = self.next_small() if self._was_large else None
        if self._was_large and job is None:
            self._rest_until = 0.0  # the large one kept no other job waiting
        if job is None:
            job = self._next_small_in_time()
        self._was_large = job is None
        return self._large.popleft() if job is None and self._large else job

    def rest(self, took_sec: float) -> None:
        """Let the next large job begin some time after one that took so long."""
        rest_sec = min(took_sec * LARGE_REST_FACTOR, LARGE_REST_SEC)
        self._rest_until = time.monotonic() + rest_sec

    def next_small(self, wait_sec: float | None = 0.0) -> WriteJob | None:
        """A small job, waited for so long (None: for ever), but no longer than until a large one comes."""
        while not self._ended:
            try:
                job = self._arrived.get(block=wait_sec != 0, timeout=wait_sec)
            except Empty:
                break
            if job is None:
                self._ended = True
            elif not job.is_large:
                return job
            else:
                self._large.append(job)
                if wait_sec is None:
                    break
        return None

    def _next_small_in_time(self) -> WriteJob | None:
        """A small job that comes before a large one may begin."""
        if not self._large and (job := self.next_small(None)) is not None:
            return job
        left_sec = self._rest_until - time.monotonic()
        return self.next_small(min(left_sec, QUIET_SEC)) if left_sec > 0 else None

    def take_all(self) -> Iterator[WriteJob]:
        """Everything that waits now."""
        while (job := self.next_small()) is not None:
            yield job
        while self._large:
            yield self._large.popleft()


class _Group:
    """The jobs of one transaction: the first, and those that arrive before it is full or late."""

    def __init__(self, queue: _Queue, first: WriteJob) -> None:
        self._queue = queue
        self.jobs = [first]

    def arriving(self) -> Iterator[WriteJob]:
        """The first job, then whatever small ones are waiting by the time the one before is done."""
        deadline = time.monotonic() + WRITE_GROUP_SEC
        yield self.jobs[0]
        while len(self.jobs) < WRITE_GROUP_JOBS and time.monotonic() < deadline:
            job = self._queue.next_small()
            if job is None:
                break
            self.jobs.append(job)
            yield job

    def take_all(self) -> None:
        """Everything that is waiting now."""
        self.jobs.extend(self._queue.take_all())


def _translated(error: Exception, path: str) -> BaseException:
    return store_error(error, path) if isinstance(error, (*FROM_STORE, OSError)) else error


def resolve(outcomes: Sequence[JobOutcome]) -> None:
    """Wake those who wait, one call per event loop; a loop that has ended waits for nothing."""
    by_loop: dict[asyncio.AbstractEventLoop, list[JobOutcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome.job.loop, []).append(outcome)
    for loop, chosen in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, chosen)
        except RuntimeError:
            continue


def _resolve(outcomes: Sequence[JobOutcome]) -> None:
    for job, value, error in outcomes:
        if job.future.done():
            continue
        if error is None:
            job.future.set_result(value)
        else:
            job.future.set_exception(error)
