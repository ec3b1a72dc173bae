"""The store on PostgreSQL: the same promises as on one file, for many processes.

PostgreSQL coordinates: lanes are leased by rows, commits are fenced by epochs, runs are unique. Work is
grouped into transactions (`batchers`), and events get their numbers when no transaction that began
earlier can still add one (`event_log`).
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import datetime, timedelta
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from feedmill.adapters.store.check_rows import POSTGRES, check_rows, postgres_problems
from feedmill.adapters.store.postgres import (
    claims,
    event_log,
    identities,
)
from feedmill.adapters.store.postgres import partitions as partition_purge
from feedmill.adapters.store.postgres.batchers import CommitBatcher, ReleaseBatcher
from feedmill.adapters.store.postgres.claims import ClaimPlanner
from feedmill.adapters.store.postgres.lanes import LaneSettings, apply_lane_layout, limit_host
from feedmill.adapters.store.postgres.migrate import check_schema
from feedmill.adapters.store.postgres.partitions import ensure_partitions
from feedmill.adapters.store.postgres.pool import Database, LostCommitError, PgConnection
from feedmill.adapters.store.postgres.run_query import QueryRunner
from feedmill.adapters.store.sql_store import SqlStore, look, sentences_of, write
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables import purge
from feedmill.adapters.store.tables.lanes import ClaimTerms, ReleasedLane
from feedmill.adapters.store.tables.running.blobs import forget_unneeded_blobs
from feedmill.adapters.store.tables.running.workers import save_worker
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import StoreError
from feedmill.model.event import Event
from feedmill.model.feed import Claim
from feedmill.model.refresh import Committed, Refresh
from feedmill.model.running.webhook import Webhook
from feedmill.model.running.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")


def reading(
    query: Callable[Concatenate[PgConnection, P], Awaitable[T]],
) -> Callable[Concatenate["PostgresStore", P], Coroutine[Any, Any, T]]:
    """A method that runs a query of PostgreSQL's own, of one statement."""

    @wraps(query)
    async def method(self: "PostgresStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._database.read(lambda c: query(c, *args, **kwargs))

    return method


class PostgresStore(SqlStore):
    """Implements `engine.ports.store.Store`; made by `open`, ended by `close`."""

    # Clocks that follow one database differ by milliseconds, so others are always a little ahead of us.
    # That is no step: to take it for one would shorten leases that are being extended.
    clock_leeway = timedelta(seconds=5)
    check_rows = look(partial(check_rows, POSTGRES))
    delete_blobs = write(forget_unneeded_blobs)
    known = reading(identities.known)
    current_document = reading(identities.current_document)
    stored_document = reading(identities.stored_document)
    load_existing = reading(identities.load_existing)
    unremoved_entries = reading(identities.unremoved_entries)
    articles = reading(identities.articles)

    def __init__(
        self, database: Database, pacing: LaneSettings, *, searchable: bool = True
    ) -> None:
        self._database, self._pacing = database, pacing
        self.queries = QueryRunner(pacing)
        self._planner, self._log = ClaimPlanner(), event_log.PostgresEventLog(database)
        self._committer = CommitBatcher(database, pacing, searchable=searchable)
        self._releaser = ReleaseBatcher(database)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        gap_ms: int = 1_000,
        lanes: Mapping[str, int] | None = None,
        connections: int = 10,
        timeout_sec: float = 60.0,
        pooled: bool = False,
        wait_sec: float = 0.0,
        searchable: bool = True,
    ) -> Self:
        """Connect to a database that `feedmill migrate` has prepared, waiting for that if asked to.

        `gap_ms` is the pace of a host that nothing is known about, `lanes` how many lanes big hosts
        have: those that have another number are changed, unless it is None. With `pooled`, a pooler in transaction mode stands between.
        With `searchable`, new entries are indexed.
        """
        database = await Database.open(
            url, connections=connections, timeout_sec=timeout_sec, pooled=pooled
        )
        try:
            await check_schema(database, wait_sec=wait_sec)
            pacing = LaneSettings(gap_ms=gap_ms, lanes=dict(lanes or {}))
            if lanes is not None:
                await apply_lane_layout(database, pacing)
        except BaseException:
            await database.close()
            raise
        return cls(database, pacing, searchable=searchable)

    @property
    def database(self) -> Database:
        """The connections, for the clock that follows the database's."""
        return self._database

    async def close(self) -> None:
        """Write what was asked, then close every connection."""
        await self._committer.close()
        await self._releaser.close()
        await self._database.close()

    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None:
        """Send no request to the URL's host before `until`."""
        await self._database.write(lambda c: limit_host(c, url, until, reason, self._pacing))

    async def _claim(self, terms: ClaimTerms) -> tuple[Claim, ...]:
        """The lanes of this process's own shards come first; when they do not fill the places, any do."""
        try:
            return await self._database.write(lambda c: claims.claim(c, self._planner, terms))
        except StoreError as problem:
            return await self._claimed_after_all(terms.owner, problem)

    async def _release(self, given: ReleasedLane) -> None:
        await self._releaser.release(given)

    async def commit(self, refresh: Refresh) -> Committed:
        """Write what a refresh decided: all or nothing, once per run."""
        done = await self._committer.commit(refresh)
        is_written = not done.fenced and not done.duplicate
        if refresh.lane is not None and refresh.release is not None and is_written:
            await self._release(ReleasedLane(refresh.lane, refresh.release))
        return done

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]:
        """Events after a number, in order."""
        found = await self._log.events(after, limit)
        if found:
            await self._note_told(found[-1])
        return found

    async def append_rewound(self, delivered: NewestEvent, now: datetime) -> bool:
        """Append `log.rewound`, unless the log has the event or has said so already."""
        return await self._database.write(lambda c: event_log.append_rewound(c, delivered, now))

    async def last_seq(self) -> int:
        """The number of the newest event, 0 before the first."""
        return await self._log.last_seq()

    async def _purge_fetches(self, before: datetime, now: datetime) -> int:
        await self._number()
        await ensure_partitions(self._database, now)
        return await partition_purge.purge_fetches(self._database, before)

    async def _purge_events(self, before: datetime, unread: datetime) -> int:
        """Millions from the beginning of the log, then events from the beginning of the next one."""
        dropped = await partition_purge.drop_pieces(self._database, before, unread)
        if dropped.is_busy:
            return dropped.events
        cut = purge.Cut(before, held=dropped.free)
        return dropped.events + await self._purge_kind(purge.POSTGRES_EVENTS, cut)

    async def problems(self, *, quick: bool = False) -> tuple[str, ...]:
        """What is wrong with the database, one sentence each; `quick` leaves out what takes long."""
        if quick:
            return ()
        await self._number()
        return await sentences_of(self._look(postgres_problems))

    async def add_webhook(self, webhook: Webhook, *, after: int | None = None) -> None:
        """Store a webhook; its first event is the one after `after`, or after the newest one."""
        await self._number()
        await super().add_webhook(webhook, after=after)

    async def rewind_webhook(self, webhook_id: str, after: int) -> bool:
        """Deliver again what follows `after`; False when there is no such webhook."""
        await self._number()
        return await super().rewind_webhook(webhook_id, after)

    async def save_worker(self, worker: Worker) -> None:
        """Store a heartbeat, and divide the shards among all live workers."""
        live = await self._write(lambda: save_worker(worker))
        self._planner.share(worker.name, live)

    async def _claimed_after_all(self, owner: str, problem: StoreError) -> tuple[Claim, ...]:
        """What a claim has leased whose commit got no answer; else those lanes would be idle."""
        lost = problem.__cause__
        if not isinstance(lost, LostCommitError):
            raise problem
        made: tuple[Claim, ...] = lost.value  # type: ignore[assignment]  # what a claim returns
        held = await self._database.read(lambda c: claims.still_held(c, owner, made))
        if not held:
            raise problem
        return held

    async def _number(self) -> None:
        """Give numbers to the events that can have one."""
        await self._log.number()

    async def _read(self, make: Callable[[], Query[T]]) -> T:
        return await self._database.read(lambda c: self.queries.run(c, make()))

    async def _look(self, make: Callable[[], Query[T]]) -> T:
        return await self._database.look(lambda c: self.queries.run(c, make()))

    async def _write(self, make: Callable[[], Query[T]]) -> T:
        return await self._database.write(lambda c: self.queries.run(c, make()))
