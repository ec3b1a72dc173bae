"""The store that is moved into: a PostgreSQL that is empty, or in the middle of this very move.

Rows and how far they have come are written in one transaction. A process that was killed anywhere
leaves whole batches behind, and the next one goes on after the last of them.
"""
# Tested in tests/integration/adapters/store/transfer/

from collections.abc import AsyncIterator, Sequence
from secrets import token_hex
from typing import Final, NamedTuple

import asyncpg
import msgspec

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.check_rows import TABLES, Key
from feedmill.adapters.store.postgres import partitions
from feedmill.adapters.store.postgres.pool import ConnectionJob, Database, PgConnection
from feedmill.adapters.store.statements import insert_into
from feedmill.adapters.store.tables.codec import Row
from feedmill.adapters.store.transfer.sqlite_source import RowBatch, Survey, Translation
from feedmill.errors import ConflictError

_NAMES: Final = (*(table.name for table in TABLES), "outbox")
_MOST_DAYS: Final = 400  # of fetches that get a partition each; older ones share the default one
_READ_ROWS: Final = 500  # wide ones among them

_HERE: Final = "SELECT source, mark, ended_at IS NOT NULL FROM transfers"
_BEGIN: Final = (
    "INSERT INTO transfers (source, mark, began_at) VALUES ($1, $2, feedmill_now())"
    " ON CONFLICT DO NOTHING RETURNING true"
)
# The old store has been locked since the move began, so whatever is younger was made here.
_WORKED_ON: Final = """
SELECT EXISTS (SELECT 1 FROM outbox)
    OR EXISTS (SELECT 1 FROM events WHERE occurred_at > t.began_at)
    OR EXISTS (SELECT 1 FROM fetches WHERE scheduled_at > t.began_at) FROM transfers t"""
_COUNT_ON: Final = "SELECT setval(pg_get_serial_sequence($1, $2), $3)"
_STORE_ID: Final = (
    "INSERT INTO store_identity (one, id) VALUES (1, $1)"
    " ON CONFLICT (one) DO UPDATE SET one = 1 RETURNING id"
)
_NOTE: Final = """
INSERT INTO transfer_parts (part, last_key, copied, folded, replaced) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (part) DO UPDATE SET last_key = excluded.last_key,
       copied = transfer_parts.copied + excluded.copied,
       folded = transfer_parts.folded + excluded.folded,
       replaced = transfer_parts.replaced + excluded.replaced"""
_key_of: Final = msgspec.json.Decoder(Key).decode


class StartedTransfer(NamedTuple):
    """A move that was begun here."""

    source: str
    mark: str
    is_ended: bool


class TableProgress(NamedTuple):
    """How far one table has come."""

    last_key: Key
    copied: int
    folded: int
    replaced: int


class PostgresTarget:
    """One database, through its pool."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def under_way(self) -> StartedTransfer | None:
        """The move that was begun here, also when it has ended."""
        if not await self._there("transfers"):
            return None
        row = await self.database.read(lambda c: c.fetchrow(_HERE))
        return None if row is None else StartedTransfer(*row)

    async def occupied(self) -> str | None:
        """The first table that has a row, None when there is none."""
        for name in _NAMES:
            if await self._there(name) and await self.database.read(_any_row(name)):
                return name
        return None

    async def begin(self, source: str, survey: Survey) -> None:
        """Note the move, and let this store count on where the other one stopped."""
        wanted = [partitions.fetch_partition(day) for day in survey.days[-_MOST_DAYS:]]
        first, last = (seq // partitions.EVENTS_EACH for seq in (survey.first_seq, survey.last_seq))
        wanted += [partitions.event_partition(number) for number in range(first, last + 1)]
        await partitions.create_partitions(self.database, wanted)
        await self.database.write(lambda c: _begin(c, source, survey))

    async def parts(self) -> dict[str, TableProgress]:
        """How far each table has come, of those that have begun."""
        rows = await self.database.read(lambda c: c.fetch("SELECT * FROM transfer_parts"))
        return {row[0]: TableProgress(_key_of(row[1]), *row[2:]) for row in map(tuple, rows)}

    async def keep(self, translation: Translation, batch: RowBatch, after: Key | None) -> int:
        """Write a batch that follows `after`, and how far that is; how many rows were new."""
        return await self.database.write(lambda c: _keep(c, translation, batch, after))

    async def end(self) -> None:
        """Note that everything is here, and let the planner know what that is."""
        await self.database.write(
            lambda c: c.execute("UPDATE transfers SET ended_at = feedmill_now()")
        )
        for name in _NAMES:
            await self.database.write(_analyse(name))

    async def store_id(self) -> str:
        """The id of this store, made at random when it has none yet."""
        store_id: str = await self.database.write(lambda c: c.fetchval(_STORE_ID, token_hex(16)))
        return store_id

    async def clear(self) -> None:
        """Throw away what a move that did not end has written; everything, or nothing."""
        await self.database.write(_clear)

    async def _there(self, name: str) -> bool:
        return await self.database.read(
            lambda c: c.fetchval("SELECT to_regclass($1) IS NOT NULL", name)
        )


async def read_batches(
    connection: PgConnection, translation: Translation
) -> AsyncIterator[list[Row]]:
    """The rows of a table in the order of their keys, inside a transaction of the caller."""
    columns = ", ".join(f'"{name}"' for name in translation.new_columns)
    order = ", ".join(f'"{name}"' for name in translation.table.key)
    # By the index where there is one: a sort of everything would be waited for without a sign. A cursor
    # of SQL has no name outside of its transaction, so a pooler may stand between.
    await connection.execute("SET LOCAL enable_seqscan = off")
    cursor = f"moved_{translation.table.name}"
    await connection.execute(
        f"DECLARE {cursor} NO SCROLL CURSOR FOR"
        f" SELECT {columns} FROM {translation.table.name} ORDER BY {order}"
    )
    while rows := await connection.fetch(f"FETCH {_READ_ROWS} FROM {cursor}"):
        yield [tuple(row) for row in rows]


async def has_twin(connection: PgConnection, translation: Translation, row: Row) -> bool:
    """True when the table holds a row that this one could not stand beside."""
    table = translation.table
    values = [row[translation.new_columns.index(name)] for name in table.unique]
    same = " AND ".join(f'"{name}" = ${at}' for at, name in enumerate(table.unique, start=1))
    return bool(
        await connection.fetchval(
            f"SELECT EXISTS (SELECT 1 FROM {table.name} WHERE {same})", *values
        )
    )


async def _begin(connection: PgConnection, source: str, survey: Survey) -> None:
    if await connection.fetchval(_BEGIN, source, survey.mark) is None:
        raise another_move()
    for table in TABLES:
        number = survey.numbers.get(table.name, 0)
        if number:
            await connection.execute(_COUNT_ON, table.name, table.number, number)
    await connection.execute("UPDATE log_head SET seq = $1", survey.last_seq)


async def _keep(
    connection: PgConnection, translation: Translation, batch: RowBatch, after: Key | None
) -> int:
    name = translation.table.name
    await connection.execute("SELECT 1 FROM transfers FOR UPDATE")
    found = await connection.fetchval("SELECT last_key FROM transfer_parts WHERE part = $1", name)
    if (None if found is None else _key_of(found)) != after:
        raise another_move()
    reach("transfer-copy")
    new = await _insert(connection, translation, batch.rows)
    reach("transfer-copied")
    key = msgspec.json.encode(batch.last_key).decode()
    folded = len(batch.rows) - new
    await connection.execute(_NOTE, name, key, new, folded, batch.replaced)
    return new


async def _insert(connection: PgConnection, translation: Translation, rows: Sequence[Row]) -> int:
    """Write the rows; how many, without those that are another's twin."""
    table = translation.table
    try:
        async with connection.transaction():
            await connection.copy_records_to_table(
                table.name, records=rows, columns=translation.new_columns
            )
    except asyncpg.UniqueViolationError:
        if not table.unique:
            raise
    else:
        return len(rows)
    insert = insert_into(table.name, translation.new_columns)
    statement = f"{insert} ON CONFLICT DO NOTHING RETURNING true"
    return sum([bool(await connection.fetchval(statement, *row)) for row in rows])


async def _clear(connection: PgConnection) -> None:
    under = await connection.fetchrow(f"{_HERE} FOR UPDATE")
    if under is None or under[2]:
        raise another_move()
    if await connection.fetchval(_WORKED_ON):
        message = "a mill has worked on this store since the move began; it is not emptied"
        hint = "empty the database yourself, or name another"
        raise ConflictError(message, reason="not-empty", hint=hint)
    names = ", ".join((*_NAMES, "transfer_parts", "transfers"))
    await connection.execute(f"TRUNCATE {names}")
    await connection.execute("UPDATE log_head SET seq = 0")


def _any_row(name: str) -> ConnectionJob[bool]:
    async def look(connection: PgConnection) -> bool:
        return bool(await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {name})"))

    return look


def _analyse(name: str) -> ConnectionJob[str]:
    async def analyse(connection: PgConnection) -> str:
        return await connection.execute(f"ANALYZE {name}")

    return analyse


def another_move() -> ConflictError:
    """The error when another process has changed the target meanwhile."""
    message = "another move into this store is under way, or has ended meanwhile"
    hint = "let it end, then look at the store with `feedmill stats`"
    return ConflictError(message, reason="in-use", hint=hint)
