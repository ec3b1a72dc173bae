"""Two stores row by row: how many rows each has, a digest over all of them, and where they part.

Both are read in the order of the same key, at the same time, and never held as a whole. What is hashed
is a row as the new store should have it, so the digests agree exactly when every value of every row does.
"""

from collections.abc import AsyncIterator, Callable
from hashlib import sha256

import msgspec

from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.tables.codec import Row
from feedmill.adapters.store.transfer.postgres_target import PostgresTarget, has_twin, read_batches
from feedmill.adapters.store.transfer.sqlite_source import SqliteSource
from feedmill.adapters.store.transfer.tables import Key, Table
from feedmill.adapters.store.transfer.translate import REPLACED, Translation
from feedmill.model.running.worker import ComparedTable, DifferenceKind, RowDifference

RowsDone = Callable[[int], None]


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
