"""The event log: sequence numbers without gaps, given once no earlier transaction is open (D29).

Writers put events into `outbox` and never wait for each other. A number is given to an event once every
transaction that began before its own has ended, in the order of (tx, no):

- A transaction below the xmin of a snapshot has ended, and what it wrote is visible in that snapshot
  for good. So the rows with tx < xmin, read in that same snapshot, are all there will ever be.
- A process that gives numbers holds the row of `log_head` until it commits, and takes its snapshot after it
  has the row. So the next one sees what this one took, goes on where it stopped, and can only find
  rows behind it: xmin never goes back.
- A bite takes the first rows of that order. What it leaves comes later in the order than what it took.

Hence a number is seen only after every number below it, nothing appears below a number that was
given, and a transaction that is rolled back leaves no hole. `horizon` is the xmin up to which the
outbox was emptied: looking begins there, past the dead rows that vacuum has not taken yet.

A database that was restored from a dump has the transaction numbers of another server. They may lie in
this one's future, where no snapshot reaches, and so may the horizon. Both are impossible otherwise, so
they are noticed: such events are older than any of this server's, and are numbered first.

The database may also go back under a running process: a backup is put back, an asynchronous standby is promoted. So
every look compares the log with the newest event that this process knows, and says `log.rewound` before it gives a number
again (D37).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from feedmill.adapters.store.postgres.parameters import postgres_json, to_columns, unnest_rows
from feedmill.adapters.store.postgres.pool import NO_SCHEMA, Database, PgConnection
from feedmill.adapters.store.tables.codec import Row, event_id, event_of, micros
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import StoreError
from feedmill.model.event import Event, NewEvent
from feedmill.publish.events import REWOUND_LEAP, event_of_rewound_log, is_rewound_untold

NUMBERING_BATCH: Final = 2_000  # events that get their numbers in one transaction

_COLUMNS: Final = ("id", "type", "feed_id", "entry_uid", "occurred_at", "data")
_INSERT: Final = (
    f"INSERT INTO outbox ({', '.join(_COLUMNS)}) SELECT {', '.join(_COLUMNS)}"
    f" FROM {unnest_rows(_COLUMNS)}"
)


def _any(where: str) -> str:
    """True when there is such an event; asked so that the index answers, whatever is guessed."""
    return f"(SELECT o.tx FROM outbox o WHERE {where} ORDER BY o.tx LIMIT 1) IS NOT NULL"


_XMIN: Final = "pg_snapshot_xmin(pg_current_snapshot())"
_XMAX: Final = "pg_snapshot_xmax(pg_current_snapshot())"
# In one state of the database: what waits, and whether another server has stamped it. Rows below the
# horizon are only looked for when asked to: there lie the dead ones. And whether the log lacks the event $4 with the id
# $5, and says so nowhere.
_EVENTS: Final = f"""
WITH look AS MATERIALIZED (
  SELECT {_any(f"o.tx >= h.horizon AND o.tx < {_XMIN}")} AS waits,
         h.horizon > {_XMIN} OR {_any(f"o.tx >= {_XMAX}")}
         OR $1 AND {_any("o.tx < h.horizon")} AS strange,
         CASE WHEN h.seq < $4 OR (SELECT id FROM events WHERE seq = $4) <> $5
              THEN NOT EXISTS (SELECT FROM events WHERE seq > $4 AND type = 'log.rewound')
              ELSE false END AS went_back
    FROM log_head h)
SELECT l.waits OR l.strange, l.strange, l.went_back, e.seq, {", ".join(f"e.{name}" for name in _COLUMNS)}
  FROM look l LEFT JOIN LATERAL (
       SELECT * FROM events WHERE seq > $2 ORDER BY seq LIMIT $3) e ON true
 ORDER BY e.seq
"""
# With `synchronous_commit = off` a commit is visible before it is on the disk. The log of the database is written
# in order: when this transaction is on the disk, so are the events that it gives numbers to (D37).
_HEAD: Final = (
    "SELECT seq, (SELECT id FROM events WHERE seq = $1), now(),"
    " CASE WHEN current_setting('synchronous_commit') = 'off'"
    " THEN set_config('synchronous_commit', 'on', true) END FROM log_head FOR UPDATE SKIP LOCKED"
)
_ADOPT: Final = (
    f"UPDATE outbox SET tx = '0' WHERE tx >= {_XMAX}",
    "UPDATE log_head SET horizon = '0'",
)
# By their places: the plan does not depend on how many rows the planner believes there are.
_NUMBER: Final = f"""
WITH taken AS (
  DELETE FROM outbox WHERE ctid = ANY (ARRAY(
    SELECT o.ctid FROM outbox o
     WHERE o.tx >= (SELECT horizon FROM log_head)
       AND o.tx < {_XMIN}
     ORDER BY o.tx, o.no LIMIT $1)) RETURNING *),
numbered AS (
  INSERT INTO events (seq, {", ".join(_COLUMNS)})
  SELECT h.seq + row_number() OVER (ORDER BY t.tx, t.no),
         {", ".join(f"t.{name}" for name in _COLUMNS)}
    FROM taken t CROSS JOIN log_head h),
bite AS (
  SELECT count(*) AS size, (SELECT tx FROM taken ORDER BY tx DESC LIMIT 1) AS last FROM taken)
UPDATE log_head
   SET seq = seq + bite.size,
       horizon = CASE WHEN bite.size < $1 THEN {_XMIN}
                      ELSE bite.last END
  FROM bite RETURNING bite.size
"""
_REWOUND_LOOK: Final = """
SELECT h.seq, (SELECT id FROM events WHERE seq = $1),
       (SELECT coalesce(max(seq), 0) FROM events WHERE type = 'log.rewound')
  FROM log_head h FOR UPDATE OF h
"""
_REWOUND_INSERT: Final = (
    f"INSERT INTO events (seq, {', '.join(_COLUMNS)}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
)


class PostgresEventLog:
    """The log as one process reads it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thorough = True  # the first look: the database may have been restored before it
        self._known = NewestEvent(seq=0)  # the newest event that this process has seen

    async def events(self, after: int, limit: int) -> tuple[Event, ...]:
        """Events after a number, in order; one question when no event waits for its number."""
        found, look = await self._events(after, limit)
        if look.went_back or (look.waits and len(found) < limit):
            await self._number(strange=look.strange)
            found, _ = await self._events(after, limit)
        if found and found[-1].seq >= self._known.seq:
            self._known = NewestEvent(seq=found[-1].seq, id=found[-1].id)
        return found

    async def last_seq(self) -> int:
        """The number of the newest event, 0 before the first."""
        await self.number()
        last = await self._database.read(last_seq)
        if last > self._known.seq:
            self._known = NewestEvent(seq=last)
        return last

    async def number(self) -> None:
        """Give numbers to the events that can have one."""
        _, look = await self._events(0, 0)
        if look.waits or look.went_back:
            await self._number(strange=look.strange)

    async def _events(self, after: int, limit: int) -> "tuple[tuple[Event, ...], _Look]":
        known = self._known
        rows = await self._database.read(
            lambda c: c.fetch(_EVENTS, self._thorough, after, max(limit, 0), known.seq, known.id)
        )
        look = _Look(*map(bool, tuple(rows[0])[:3])) if rows else _Look()
        self._thorough = self._thorough and look.strange
        return tuple(event_of(tuple(row)[3:]) for row in rows if row[3] is not None), look

    async def _number(self, *, strange: bool) -> None:
        known = self._known
        size = await self._database.write(lambda c: number_batch(c, strange=strange, known=known))
        while size >= NUMBERING_BATCH:
            size = await self._database.write(lambda c: number_batch(c, known=known))


class _Look(NamedTuple):
    """What a look at the log found beside events."""

    waits: bool = False  # events that can have a number
    strange: bool = False  # another server has stamped them
    went_back: bool = False  # the log lacks an event that this process has seen


async def append(connection: PgConnection, events: Sequence[NewEvent], cause: str) -> None:
    """Write the events.

    `cause` names what happened once (a fetch, an addition): the ids derive from it, so that an
    event keeps its id wherever the log is copied to.
    """
    await append_all(connection, [(events, cause)])


async def append_all(
    connection: PgConnection, batches: Iterable[tuple[Sequence[NewEvent], str]]
) -> None:
    """Write the events of several causes, in this order."""
    rows = [
        _row(event, event_id(cause, at))
        for events, cause in batches
        for at, event in enumerate(events, start=1)
    ]
    if rows:
        await connection.execute(_INSERT, *to_columns(rows))


async def number_batch(
    connection: PgConnection, *, strange: bool = False, known: NewestEvent | None = None
) -> int:
    """Give numbers to a bite of events; how many. 0 when another process is doing it.

    With `strange`, what another server has stamped is taken first. A log that lacks the `known` event says first that it
    went back.
    """
    known = known or NewestEvent(seq=0)
    head = await connection.fetchrow(_HEAD, known.seq)
    if head is None:
        return 0
    last, there, now, _ = head
    if last < known.seq or (known.id is not None and there not in (None, known.id)):
        await append_rewound(connection, known, now)
    if strange:
        for statement in _ADOPT:
            await connection.execute(statement)
    return int(await connection.fetchval(_NUMBER, NUMBERING_BATCH))


async def append_rewound(connection: PgConnection, delivered: NewestEvent, now: datetime) -> bool:
    """Append `log.rewound` with a leap in the numbers, unless the log has the event or has said so.

    Events that wait for their numbers get them behind it.
    """
    ((last, there, said),) = await connection.fetch(_REWOUND_LOOK, delivered.seq)
    if not is_rewound_untold(
        delivered.seq, delivered.id, id_there=there, last=last, rewound_at=said
    ):
        return False
    seq = max(last, delivered.seq) + REWOUND_LEAP
    event = event_of_rewound_log(delivered.seq, last, now=now)
    row = _row(event, event_id(f"rewound/{delivered.seq}/{last}", 1))
    await connection.execute(_REWOUND_INSERT, seq, *row)
    await connection.execute("UPDATE log_head SET seq = $1", seq)
    return True


async def last_seq(connection: PgConnection) -> int:
    """The last number that was given, 0 before the first."""
    last = await connection.fetchval("SELECT seq FROM log_head")
    if last is None:  # a dump is being restored: the table is there, and its row not yet
        reason, advice = NO_SCHEMA
        raise StoreError(advice, reason=reason)
    return int(last)


def _row(event: NewEvent, id_: str) -> Row:
    data = postgres_json(event.data)
    return (id_, event.type, event.feed_id, event.entry_uid, micros(event.occurred_at), data)
