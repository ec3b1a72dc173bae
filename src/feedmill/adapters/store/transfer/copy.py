"""Copies a store from a SQLite file that no process has open into an empty PostgreSQL database.

Table by table, in the order of keys, in batches; each batch and how far it came are one transaction.
Then both are compared, row by row, and only when nothing differs the move has ended. Whatever kills it
on the way, the same command goes on where it was.

A comparison says how many rows each has, a digest over all of them, and where they part. Both are read in the order of the same key, at the same time, and never held as a whole. What is hashed
is a row as the new store should have it, so the digests agree exactly when every value of every row does.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.check_rows import TABLES, Key, Table
from feedmill.adapters.store.postgres.migrate import check_schema
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.tables.codec import Row
from feedmill.adapters.store.transfer.postgres_target import PostgresTarget, has_twin, read_batches
from feedmill.adapters.store.transfer.sqlite_source import (
    REPLACED,
    SqliteSource,
    Survey,
    Translation,
)
from feedmill.config import StoreConfig
from feedmill.errors import ConflictError, UsageError
from feedmill.model.running.worker import (
    ComparedTable,
    CopiedTable,
    DifferenceKind,
    RowDifference,
    Transfer,
)
from feedmill.observe.log import database_address

_FILE: Final = "sqlite:"
_SERVERS: Final = ("postgresql://", "postgres://")
_STATEMENT_SEC: Final = 3_600.0  # the first row of a big table may need a sort of all

RowsDone = Callable[[int], None]
Progress = Callable[[int, str], AbstractContextManager[RowsDone]]
Switch = Callable[[str | None, str], Awaitable[None]]


class Places(NamedTuple):
    """The file that is left and the database that is moved into."""

    path: Path
    url: str

    @property
    def source(self) -> str:
        """The old store as it may be shown."""
        return f"{_FILE}{self.path}"

    @property
    def target(self) -> str:
        """The new store as it may be shown, without its password."""
        return database_address(self.url)


def read_places(source: str, target: str, database: str) -> Places:
    """The two stores; UsageError when they are none that a move is between.

    A folder is the home of a mill, whose file is called `database`.
    """
    if source.startswith(_SERVERS) and target.startswith(_SERVERS):
        message = "a move is from SQLite to PostgreSQL; between two PostgreSQLs use pg_dump"
        raise UsageError(message)
    if source.startswith(_SERVERS) and target.startswith(_FILE):
        message = "a move is from SQLite to PostgreSQL, and there is no way back into a file"
        raise UsageError(message)
    if not source.removeprefix(_FILE) or not source.startswith(_FILE):
        message = (
            f"{_shown(source)} is no store to move from; write sqlite:feedmill-data/feedmill.db"
        )
        raise UsageError(message)
    if not target.startswith(_SERVERS):
        message = f"{_shown(target)} is no store to move into; write postgresql://user@host/name"
        raise UsageError(message)
    path = Path(source.removeprefix(_FILE))
    return Places(path / database if path.is_dir() else path, target)


class StoreTransfer:
    """The two stores of a move, the old one locked; made by `opened`."""

    def __init__(
        self, source: SqliteSource, target: PostgresTarget, places: Places, batch_rows: int
    ) -> None:
        self._source, self._target = source, target
        self._places, self._batch_rows = places, batch_rows

    @property
    def path(self) -> Path:
        """The file of the old store."""
        return self._places.path

    async def plan(self) -> Transfer:
        """What would be carried; ConflictError when it would be refused. Nothing is written."""
        survey = await self._source.survey()
        resumed = await self._check(survey)
        return self._transfer(survey, {}, resumed=resumed)

    async def carry(
        self, progress: Progress, *, restart: bool = False, switch: Switch | None = None
    ) -> Transfer:
        """Carry what is not over there yet, compare, and end the move when nothing differs.

        Before it ends, `switch` gets the ids of the old and the new store: it hands over the raw store.
        """
        survey = await self._source.survey()
        if restart and await self._is_cut_short():
            await self._target.clear()
        resumed = await self._check(survey)
        if not resumed:
            await self._target.begin(self._places.source, survey)
        reach("transfer-begun")
        copied = await self._carry_all(survey, progress)
        done = await self._with_comparison(
            await self._carried(survey, copied, resumed=resumed), survey, progress
        )
        if not done.is_same:
            return done
        reach("transfer-compared")
        if switch is not None:
            await switch(await self._source.store_id(), await self._target.store_id())
        reach("transfer-switched")
        await self._target.end()
        return replace(done, ended=True)

    async def compare(self, progress: Progress) -> Transfer:
        """What differs between the two; nothing is written."""
        await check_schema(self._target.database, wait_sec=0.0)
        survey = await self._source.survey()
        return await self._with_comparison(self._transfer(survey, {}), survey, progress)

    async def _is_cut_short(self) -> bool:
        under = await self._target.under_way()
        return under is not None and not under.is_ended

    async def _check(self, survey: Survey) -> bool:
        """True when this very move was begun before; ConflictError when the target is taken."""
        under = await self._target.under_way()
        if under is None:
            if (table := await self._target.occupied()) is not None:
                raise _occupied(self._places.target, table)
            return False
        if under.is_ended:
            raise _ended(self._places.target, under.source)
        if under.mark != survey.mark:
            raise _changed(self._places.source, under.source)
        return True

    async def _carry_all(self, survey: Survey, progress: Progress) -> dict[str, int]:
        parts = await self._target.parts()
        copied: dict[str, int] = {}
        with progress(sum(survey.rows.values()), "carrying rows") as step:
            for table in TABLES:
                part = parts.get(table.name)
                if part is not None:
                    step(part.copied + part.folded)
                after = None if part is None else part.last_key
                copied[table.name] = await self._carry_table(table, after, step)
        return copied

    async def _carry_table(self, table: Table, after: Key | None, step: RowsDone) -> int:
        copied = 0
        translation = self._source.translation(table)
        async for batch in self._source.batches(table, after, batch_rows=self._batch_rows):
            copied += await self._target.keep(translation, batch, after)
            reach("transfer-kept")
            after = batch.last_key
            step(len(batch.rows))
        return copied

    async def _carried(self, survey: Survey, copied: dict[str, int], *, resumed: bool) -> Transfer:
        parts = await self._target.parts()
        transfer = self._transfer(survey, copied, resumed=resumed)
        tables = [
            replace(table, folded=part.folded, replaced=part.replaced)
            if (part := parts.get(table.name))
            else table
            for table in transfer.tables
        ]
        return replace(transfer, tables=tuple(tables))

    async def _with_comparison(
        self, transfer: Transfer, survey: Survey, progress: Progress
    ) -> Transfer:
        with progress(sum(survey.rows.values()), "comparing rows") as step:
            compared = [
                await compare_table(
                    self._source, self._target, table, batch_rows=self._batch_rows, step=step
                )
                for table in TABLES
            ]
        return replace(transfer, compared=tuple(compared))

    def _transfer(
        self, survey: Survey, copied: dict[str, int], *, resumed: bool = False
    ) -> Transfer:
        tables = [
            CopiedTable(name=name, rows=rows, copied=copied.get(name, 0))
            for name, rows in survey.rows.items()
        ]
        return Transfer(
            source=self._places.source,
            target=self._places.target,
            tables=tuple(tables),
            resumed=resumed,
        )


@asynccontextmanager
async def open_transfer(
    places: Places, settings: StoreConfig, *, batch_rows: int
) -> AsyncIterator[StoreTransfer]:
    """Lock the old store and connect to the new one, for as long as the block runs."""
    source = await SqliteSource.open(places.path)
    try:
        database = await Database.open(
            places.url,
            connections=1,
            timeout_sec=settings.timeout_sec,
            statement_sec=_STATEMENT_SEC,
            pooled=settings.pooled,
        )
        try:
            yield StoreTransfer(source, PostgresTarget(database), places, batch_rows)
        finally:
            await database.close()
    finally:
        await source.close()


def _occupied(target: str, table: str) -> ConflictError:
    message = f"{target} has rows of its own ({table}); a store moves into an empty one"
    hint = "name another database (createdb), or empty this one"
    return ConflictError(message, reason="not-empty", hint=hint)


def _ended(target: str, source: str) -> ConflictError:
    message = f"{source} has moved into {target} already, and nothing was missing"
    hint = "compare the two with `feedmill store verify`"
    return ConflictError(message, reason="already-moved", hint=hint)


def _changed(source: str, begun: str) -> ConflictError:
    message = f"a move of {begun} was begun here, and {source} is not as it was then"
    hint = "begin again with --restart: what was carried so far is thrown away"
    return ConflictError(message, reason="source-changed", hint=hint)


def _shown(place: str) -> str:
    return repr(database_address(place) if "://" in place else place)


async def compare_table(
    source: SqliteSource, target: PostgresTarget, table: Table, *, batch_rows: int, step: RowsDone
) -> ComparedTable:
    """What differs in one table, in one state of the new store."""

    async def look(connection: PgConnection) -> ComparedTable:
        tally = TableComparison(source.translation(table))
        old = Rows(_batches(source, table, batch_rows, step), tally.translation)
        new = Rows(read_batches(connection, tally.translation), tally.translation)
        async for ours, theirs in pairs(old, new):
            if ours is not None and theirs is None and await _is_folded(connection, tally, ours):
                tally.fold()
            else:
                tally.note(ours, theirs)
        return tally.result()

    return await target.database.look(look)


class Rows:
    """Rows one after another, with their keys, from batches."""

    def __init__(self, batches: AsyncIterator[list[Row]], translation: Translation) -> None:
        self._batches, self._key_of = batches, translation.key_of
        self._rows: list[Row] = []  # of this batch, the next one last

    async def peek(self) -> tuple[Key, Row] | None:
        """The next row, which stays the next; None at the end."""
        while not self._rows:
            try:
                self._rows = (await anext(self._batches))[::-1]
            except StopAsyncIteration:
                return None
        row = self._rows[-1]
        return self._key_of(row), row

    def take(self) -> None:
        """Go on to the row after."""
        self._rows.pop()


async def pairs(old: Rows, new: Rows) -> AsyncIterator[tuple[Row | None, Row | None]]:
    """Rows of the same key together, and those that one side alone has."""
    while True:
        ours, theirs = await old.peek(), await new.peek()
        if ours is None and theirs is None:
            return
        is_ours = ours is not None and (theirs is None or ours[0] <= theirs[0])
        is_theirs = theirs is not None and (ours is None or theirs[0] <= ours[0])
        if is_ours:
            old.take()
        if is_theirs:
            new.take()
        yield (ours[1] if ours and is_ours else None, theirs[1] if theirs and is_theirs else None)


class TableComparison:
    """What has been seen of a table so far."""

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self._rows = [0, 0]
        self._digests = [sha256(), sha256()]
        self._folded = self._differing = 0
        self._first: RowDifference | None = None

    def note(self, ours: Row | None, theirs: Row | None) -> None:
        """Take in a row of both, or of one of them."""
        if ours == theirs and ours is not None:
            encoded = msgspec.msgpack.encode(ours)
            self._count(0, encoded)
            self._count(1, encoded)
            return
        if ours is not None:
            self._count(0, msgspec.msgpack.encode(ours))
        if theirs is not None:
            self._count(1, msgspec.msgpack.encode(theirs))
        self._differing += 1
        self._first = self._first or self._difference(ours, theirs)

    def fold(self) -> None:
        """Take in a row of the old store that another of the new one speaks for."""
        self._rows[0] += 1
        self._folded += 1

    def result(self) -> ComparedTable:
        """Everything together."""
        return ComparedTable(
            name=self.translation.table.name,
            rows_from=self._rows[0],
            rows_to=self._rows[1],
            digest_from=self._digests[0].hexdigest(),
            digest_to=self._digests[1].hexdigest(),
            folded=self._folded,
            differing=self._differing,
            first=self._first,
        )

    def _count(self, side: int, encoded: bytes) -> None:
        self._rows[side] += 1
        self._digests[side].update(encoded)

    def _difference(self, ours: Row | None, theirs: Row | None) -> RowDifference:
        kind: DifferenceKind = "changed"
        columns: tuple[str, ...] = ()
        if ours is None or theirs is None:
            kind = "extra" if ours is None else "missing"
        else:
            named = zip(self.translation.new_columns, ours, theirs, strict=True)
            columns = tuple(name for name, one, other in named if one != other)
        key = self.translation.key_of(ours or theirs or ())
        return RowDifference(kind=kind, key=msgspec.json.encode(key).decode(), columns=columns)


async def _batches(
    source: SqliteSource, table: Table, batch_rows: int, step: RowsDone
) -> AsyncIterator[list[Row]]:
    async for batch in source.batches(table, batch_rows=batch_rows):
        yield batch.rows
        step(len(batch.rows))


async def _is_folded(connection: PgConnection, tally: TableComparison, row: Row) -> bool:
    """True when the row holds a text that became another row's (NUL and U+FFFD are one there)."""
    if not tally.translation.table.unique:
        return False
    if not any(isinstance(value, str) and REPLACED in value for value in row):
        return False
    return await has_twin(connection, tally.translation, row)
