"""The log that everybody reads, out of the logs of all cells: each event once, each cell's order kept.

Every cell numbers its own events. Those of the other cells are copied into the outbox of the home,
together with the number up to which that was done, in one transaction: a crash repeats nothing and
leaves nothing out. There they get their number like the home's own (D29).

Two copies of one cell never overlap, because the row of `gathered` is held; the later one gets its
transaction number after it has the row, so its events come later in the outbox's order.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from feedmill.adapters.store.cell import Cell
from feedmill.adapters.store.postgres.arrays import columns_of, rows_of
from feedmill.adapters.store.postgres.pool import Connection, Database
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.postgres.texts import storable_json
from feedmill.adapters.store.rows import micros
from feedmill.model.event import Event

BITE: Final = 2_000  # events of one transaction

_COLUMNS: Final = ("id", "type", "feed_id", "entry_uid", "occurred_at", "data")
_COPY: Final = (
    f"INSERT INTO outbox ({', '.join(_COLUMNS)})"  # noqa: S608  # the names above
    f" SELECT {', '.join(_COLUMNS)} FROM {rows_of(_COLUMNS)}"
)


class Gatherer:
    """The way of one cell's events into the home's log."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._known = 0  # up to which number; a hint, the home knows better
        self._is_registered = False
        self._turn = asyncio.Lock()

    async def gather(self, home: Database) -> bool:
        """Copy what there is; False when the cell does not answer, or when somebody else is at it."""
        async with self._turn:
            while True:
                asked = partial(PostgresStore.events, after=self._known, limit=BITE)
                events = await self._cell.ask_if_there(asked, None)
                if not events:
                    return events is not None
                if not await self._copy(home, events):
                    return False

    async def _copy(self, home: Database, events: Sequence[Event]) -> bool:
        """Copy events that follow what is known; False when somebody else is at it."""
        after = self._known
        if not self._is_registered:
            await home.write(lambda c: register(c, self._cell.id))
            self._is_registered = True
        reached = await home.write(lambda c: take(c, self._cell.id, after, events))
        self._known = after if reached is None else reached
        return reached is not None


async def take(
    connection: Connection, cell_id: str, after: int, events: Sequence[Event]
) -> int | None:
    """Copy a cell's events that follow `after` into the outbox; up to which number it is done now.

    None when somebody else is at it. Nothing is written when somebody has been here before.
    """
    done: int | None = await connection.fetchval(
        "SELECT seq FROM gathered WHERE cell = $1 FOR UPDATE SKIP LOCKED", cell_id
    )
    if done != after:
        return done
    await connection.execute(_COPY, *columns_of([_row(event) for event in events]))
    for event in events:
        if event.type == "feed.merged" and "from" in event.data:
            await follow_merge(connection, str(event.data["from"]), event.feed_id)
    await connection.execute(
        "UPDATE gathered SET seq = $1 WHERE cell = $2", events[-1].seq, cell_id
    )
    return events[-1].seq


async def follow_merge(connection: Connection, loser_id: str, winner_id: str) -> None:
    """Let those who asked for the one feed hear of the other; what is asked for lives in the home."""
    for table in ("import_outlines", "webhooks", "standing_screens"):
        await connection.execute(
            f"UPDATE {table} SET feed_id = $1 WHERE feed_id = $2",  # noqa: S608  # the names above
            winner_id,
            loser_id,
        )


async def register(connection: Connection, cell_id: str) -> None:
    """Let there be a row for the cell; in a transaction of its own, for `take` must not make it."""
    await connection.execute(
        "INSERT INTO gathered (cell) VALUES ($1) ON CONFLICT DO NOTHING", cell_id
    )


def _row(event: Event) -> tuple[object, ...]:
    data = storable_json(event.data)
    at = micros(event.occurred_at)
    return (event.id, event.type, event.feed_id, event.entry_uid, at, data)
