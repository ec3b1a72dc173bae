"""Events as they are written: beside what they tell of, in the same transaction, without numbers.

Writers never wait for each other here. `log` gives the numbers afterwards, to transactions that nobody
can come before any more, in the order of (tx, no).
"""

# ruff: noqa: S608  # names come from the list below; values are parameters

from collections.abc import Iterable, Sequence
from typing import Final

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.text_sanitising import storable_json
from feedmill.adapters.store.postgres.unnest import columns_of, rows_of
from feedmill.adapters.store.tables.codec import Row, event_id, micros
from feedmill.model.event import NewEvent

_COLUMNS: Final = ("id", "type", "feed_id", "entry_uid", "occurred_at", "data")
_INSERT: Final = (
    f"INSERT INTO outbox ({', '.join(_COLUMNS)}) SELECT {', '.join(_COLUMNS)}"
    f" FROM {rows_of(_COLUMNS)}"
)


async def append(connection: Connection, events: Sequence[NewEvent], cause: str) -> None:
    """Write the events.

    `cause` names what happened once (a fetch, an addition): the ids derive from it, so that an
    event keeps its id wherever the log is copied to.
    """
    await append_all(connection, [(events, cause)])


async def append_all(
    connection: Connection, told: Iterable[tuple[Sequence[NewEvent], str]]
) -> None:
    """Write the events of several causes, in this order."""
    rows = [
        _row(event, event_id(cause, at))
        for events, cause in told
        for at, event in enumerate(events, start=1)
    ]
    if rows:
        await connection.execute(_INSERT, *columns_of(rows))


def _row(event: NewEvent, id_: str) -> Row:
    data = storable_json(event.data)
    return (id_, event.type, event.feed_id, event.entry_uid, micros(event.occurred_at), data)
