"""The store on one SQLite file: one writer thread with group commit, and reader threads.

Two processes may share the file: each has its own writer, and BEGIN IMMEDIATE lets them take
turns. In memory there is one connection for all, for a run that cannot have a file.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from feedmill.adapters.files import make_private_file
from feedmill.adapters.store.check_rows import SQLITE, check_rows, sqlite_pages, sqlite_problems
from feedmill.adapters.store.migrate import check_migrated, migrate
from feedmill.adapters.store.sql_store import SqlStore, look, read, sentences_of
from feedmill.adapters.store.sqlite import (
    claims,
    event_log,
    identities,
)
from feedmill.adapters.store.sqlite.commit import commit
from feedmill.adapters.store.sqlite.connection import (
    MEMORY,
    Synchronous,
    connect,
    connect_reader,
    is_damage,
    is_read_only,
    translated,
)
from feedmill.adapters.store.sqlite.event_log import WalSync
from feedmill.adapters.store.sqlite.readers import ChangeWatch, Readers
from feedmill.adapters.store.sqlite.run_query import QueryRunner
from feedmill.adapters.store.sqlite.writer import BUSY_TIMEOUT_SEC, Writer
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables import purge
from feedmill.adapters.store.tables.contents.entries import entry_texts_of_sqlite
from feedmill.adapters.store.tables.lanes import ClaimTerms, ReleasedLane
from feedmill.adapters.store.tables.running.figures import TotalsWriter
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import DAMAGE, StoreError
from feedmill.model.event import Event
from feedmill.model.feed import Claim
from feedmill.model.refresh import Committed, Refresh

_TERMS = "search_terms"  # a temporary view of the search index: each term with its entries
_LARGE_COMMIT = 500  # changes: those of smaller ones go first

P = ParamSpec("P")
T = TypeVar("T")


def on_reader(
    query: Callable[Concatenate[sqlite3.Connection, P], T],
) -> Callable[Concatenate["SqliteStore", P], Coroutine[Any, Any, T]]:
    """A method that runs a query of SQLite's own on a reader thread."""

    @wraps(query)
    async def method(self: "SqliteStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run_reader(lambda c: query(c, *args, **kwargs))

    return method


class SqliteStore(SqlStore):
    """Implements `engine.ports.store.Store`; made by `open`, ended by `close`."""

    entry_texts = read(entry_texts_of_sqlite)
    check_rows = look(partial(check_rows, SQLITE))
    _pages = look(sqlite_pages)
    _inconsistencies = look(sqlite_problems)
    known = on_reader(identities.known)
    current_document = on_reader(identities.current_document)
    stored_document = on_reader(identities.stored_document)
    load_existing = on_reader(identities.load_existing)
    unremoved_entries = on_reader(identities.unremoved_entries)
    articles = on_reader(identities.articles)

    def __init__(
        self,
        writer: Writer,
        readers: Readers | None,
        totals: TotalsWriter,
        *,
        gap_ms: int,
        wal_sync: WalSync | None = None,
        watch: ChangeWatch | None = None,
        searchable: bool = True,
    ) -> None:
        self._writer, self._readers, self._gap_ms = writer, readers, gap_ms
        self._wal_sync, self._totals, self._searchable = wal_sync, totals, searchable
        self._watch = watch
        self.queries = QueryRunner(gap_ms)

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        synchronous: Synchronous = "normal",
        readers: int = 4,
        gap_ms: int = 1_000,
        patience_sec: float = BUSY_TIMEOUT_SEC,
        searchable: bool = True,
    ) -> Self:
        """Open or create the file, bring it to this version and start its threads.

        `gap_ms` is the pace of a host that nothing is known about; `patience_sec` is how long a
        foreign writer may hold the file before a write fails as `busy`; with `searchable`, new entries are indexed.
        """
        name, totals = str(path), TotalsWriter()
        connect_writer = partial(connect, name, synchronous=synchronous)
        if name == MEMORY:
            connection = connect_writer()
            migrate(connection)
            writer = Writer(lambda: connection, name, totals=totals)
            return cls(writer, None, totals, gap_ms=gap_ms, searchable=searchable)
        await asyncio.to_thread(_prepare, name)
        writer = Writer(connect_writer, name, patience_sec=patience_sec, totals=totals)
        pool = Readers(partial(connect_reader, name), name, threads=readers)
        sync = None if is_read_only(name) else WalSync(name)
        return cls(
            writer,
            pool,
            totals,
            gap_ms=gap_ms,
            wal_sync=sync,
            watch=ChangeWatch(partial(connect_reader, name)),
            searchable=searchable,
        )

    async def close(self) -> None:
        """Write what was asked, then close every connection."""
        if self._readers is not None:
            await self._readers.close()
        if self._watch is not None:
            self._watch.close()
        await self._writer.close()

    async def problems(self, *, quick: bool = False) -> tuple[str, ...]:
        """What is wrong with the file, one sentence each; `quick` leaves out what takes long."""
        found = await sentences_of(self._pages(quick=quick))
        if quick:
            return found
        found += await sentences_of(self._run_reader(_search_index_problems))
        return found + await sentences_of(self._inconsistencies())

    def version(self) -> int | None:
        """A number that changes with every commit of any process; None when it cannot be had at once."""
        return None if self._watch is None else self._watch.version()

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]:
        """Events after a number, in order; a power cut cannot take them back."""
        found = await self._run_reader(lambda c: event_log.events(c, after=after, limit=limit))
        if found:
            await self._make_durable(found[-1].seq)
            await self._note_told(found[-1])
        return found

    async def append_rewound(self, delivered: NewestEvent, now: datetime) -> bool:
        """Append `log.rewound`, unless the log has the event or has said so already."""
        return await self._writer.run(lambda c: event_log.append_rewound(c, delivered, now))

    async def last_seq(self) -> int:
        """The number of the newest event, 0 before the first; a power cut cannot take it back."""
        last = await self._run_reader(event_log.last_seq)
        await self._make_durable(last)
        return last

    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None:
        """Send no request to the URL's host before `until`."""
        await self._writer.run(lambda c: claims.limit_host(c, url, until, reason, self._gap_ms))

    async def _claim(self, terms: ClaimTerms) -> tuple[Claim, ...]:
        """A claim that was cancelled is not made: its lanes would be idle for a lease."""
        wanted = terms
        try:
            try:
                return await self._writer.run(lambda c: claims.claim(c, wanted))
            except StoreError as problem:
                if problem.reason not in DAMAGE:
                    raise
                damaged = await self._run_reader(
                    lambda c: claims.unreadable_feeds(c, terms.now, terms.only)
                )
                if not damaged:
                    raise
                return await self._writer.run(lambda c: claims.claim(c, wanted, damaged))
        except asyncio.CancelledError:
            wanted = terms._replace(max_lanes=0)
            raise

    async def _release(self, given: ReleasedLane) -> None:
        await self._writer.run(lambda c: claims.release(c, given))

    async def commit(self, refresh: Refresh) -> Committed:
        """Write what a refresh decided: all or nothing, once per run."""
        changes = () if refresh.changes is None else refresh.changes.changes
        return await self._writer.run(
            lambda c: commit(c, refresh, self.queries, self._totals, searchable=self._searchable),
            is_large=len(changes) > _LARGE_COMMIT,
        )

    async def _purge_fetches(self, before: datetime, now: datetime) -> int:
        return await self._purge_kind(purge.SQLITE_FETCHES, purge.Cut(before, now))

    async def _purge_events(self, before: datetime, unread: datetime) -> int:
        return await self._purge_kind(purge.SQLITE_EVENTS, purge.Cut(before, held=unread))

    async def _make_durable(self, seq: int) -> None:
        if self._wal_sync is not None and not self._wal_sync.covers(seq):
            await asyncio.to_thread(self._wal_sync.cover, seq)

    async def _run_reader(self, job: Callable[[sqlite3.Connection], T]) -> T:
        if self._readers is None:
            return await self._writer.run(job)
        return await self._readers.run(job)

    async def _read(self, make: Callable[[], Query[T]]) -> T:
        return await self._run_reader(lambda c: self.queries.read(c, make))

    _look = _read  # a reader answers from one snapshot anyway

    async def _write(self, make: Callable[[], Query[T]]) -> T:
        return await self._writer.run(lambda c: self.queries.run(c, make()))


def _prepare(path: str) -> None:
    """Create the folder and the file, and migrate it; what is read-only must have been migrated."""
    if is_read_only(path):
        with closing(connect(path)) as connection:
            translated(path, lambda: check_migrated(connection, path))
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        make_private_file(Path(path))
    except OSError as error:
        message = f"{path}: its folder cannot be made; check path and permissions ({error})"
        raise StoreError(message, reason="cannot-open") from error
    connection = connect(path)
    try:
        translated(path, lambda: migrate(connection))
    finally:
        connection.close()


def _search_index_problems(connection: sqlite3.Connection) -> tuple[str, ...]:
    """One sentence when the search index cannot be read to its end; `PRAGMA integrity_check` sees its pages only.

    SQLite's own check of the index is a write, which would stop every poll while it lasts.
    """
    (is_reader,) = connection.execute("PRAGMA query_only").fetchone()
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute("SELECT rowid FROM entry_search_index LIMIT 1").fetchone()
        connection.execute(
            f"CREATE VIRTUAL TABLE temp.{_TERMS} USING fts5vocab (main, entry_search_index, instance)"
        )
        connection.execute(f"SELECT count(*) FROM temp.{_TERMS}").fetchone()
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
        return (f"the search index is damaged ({error}): `feedmill reindex` makes it anew",)
    finally:
        connection.execute(f"DROP TABLE IF EXISTS temp.{_TERMS}")
        connection.execute(f"PRAGMA query_only = {is_reader}")
    return ()
