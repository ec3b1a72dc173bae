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
from feedmill.observe import log

BITE: Final = 2_000  # events of one transaction

_CONSUMER: Final = "cells:home"  # of a cell's log
_DONE: Final = "SELECT seq FROM gathered WHERE cell = $1"
_KNOWN: Final = """
SELECT e.id FROM unnest($1::text[], $2::bigint[]) AS a (id, at)
  JOIN events e ON e.occurred_at = a.at AND e.id = a.id
 UNION ALL SELECT id FROM outbox WHERE id = ANY($1::text[])"""

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
        self._is_joined = False  # the cell goes on where the copy ends
        self._turn = asyncio.Lock()

    async def gather(self, home: Database) -> bool:
        """Copy what there is; False when the cell does not answer, or when somebody else is at it."""
        async with self._turn:
            self._is_joined = self._is_joined or await self._join(home)
            while self._is_joined:
                asked = partial(PostgresStore.events, after=self._known, limit=BITE)
                events = await self._cell.ask_if_there(asked, None)
                if not events:
                    self._is_joined = events is not None
                    return self._is_joined
                if not await self._copy(home, events):
                    return False
            return False

    async def note(self, cell: PostgresStore) -> None:
        """Tell the cell how far it was read: what it keeps for nobody else may go with age."""
        await cell.set_cursor(_CONSUMER, self._known)

    def doubt(self) -> None:
        """Look again, with the next copy, whether the cell goes on where the last one ended."""
        self._is_joined = False

    async def _join(self, home: Database) -> bool:
        """Go back to the last event that both logs have; False when the cell does not answer.

        Mostly that is the last that was copied. A cell that was set back (a standby without the last
        transactions, an older backup) gives its numbers to other events, which would be left out.
        """
        if await self._cell.ask_if_there(PostgresStore.last_seq, None) is None:
            return False
        done = end = int(await home.read(lambda c: c.fetchval(_DONE, self._cell.id)) or 0)
        size = 1
        while end > 0:
            after = max(0, end - size)
            asked = partial(PostgresStore.events, after=after, limit=end - after)
            events = await self._cell.ask_if_there(asked, None)
            if events is None:
                return False
            if events and events[0].seq > end:
                break  # retention took it, so others followed it
            common = await home.read(partial(_common, events=events))
            if common:
                end = common
                break
            end, size = after, BITE
        if end != done:
            asked = partial(PostgresStore.events, after=end, limit=1)
            following = await self._cell.ask_if_there(asked, None)
            if following is None:
                return False
            log.logger("store").warning(
                "a cell was set back", cell=self._cell.name, from_seq=done, to_seq=end
            )
            await home.write(lambda c: go_back(c, self._cell.id, done, end, following))
        self._known = end
        return True

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


async def go_back(
    connection: Connection, cell_id: str, done: int, end: int, following: Sequence[Event]
) -> None:
    """Let the copy begin after `end` again, unless somebody has done so and copied what follows."""
    found = await connection.fetchval(f"{_DONE} FOR UPDATE", cell_id)
    if found == done and not await _common(connection, following):
        await connection.execute("UPDATE gathered SET seq = $2 WHERE cell = $1", cell_id, end)


async def register(connection: Connection, cell_id: str) -> None:
    """Let there be a row for the cell; in a transaction of its own, for `take` must not make it."""
    await connection.execute(
        "INSERT INTO gathered (cell) VALUES ($1) ON CONFLICT DO NOTHING", cell_id
    )


async def _common(connection: Connection, events: Sequence[Event]) -> int:
    """The number of the last of these events that the home has, 0 when it has none."""
    ids, instants = [one.id for one in events], [micros(one.occurred_at) for one in events]
    known = {row[0] for row in await connection.fetch(_KNOWN, ids, instants)}
    return max((one.seq for one in events if one.id in known), default=0)


def _row(event: Event) -> tuple[object, ...]:
    data = storable_json(event.data)
    at = micros(event.occurred_at)
    return (event.id, event.type, event.feed_id, event.entry_uid, at, data)
