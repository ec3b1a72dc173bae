"""The clock of all workers: the database's, carried forward by this machine's monotonic clock.

Leases, due times and pauses are compared by many machines, whose wall clocks do not agree. So the
database says what time it is. Asking takes a moment: its answer is taken to hold for the middle of
the round trip, the quickest of a few is believed, and in between the monotonic clock counts on.
"""

from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.tables.codec import instant
from feedmill.engine.ports.io import Clock
from feedmill.errors import StoreError

_ROUND_TRIPS: Final = 5
_EVERY_SEC: Final = 30.0  # two clocks of the worst quality are three milliseconds apart by then
# What is less is an error of measuring; time then stands still until it is caught up with.
_STEP: Final = timedelta(seconds=1)


class DatabaseClock:
    """Implements `engine.ports.clock.Clock`; what `local` says of the wall is used for ids only."""

    def __init__(self, local: Clock) -> None:
        self._local = local
        self._zero: datetime | None = None  # the database's time when the monotonic clock was at 0
        self._latest: datetime | None = None  # what was said last

    async def follow(self, database: Database) -> None:
        """Ask the database what time it is."""
        self._zero = await database.read(self._measure)

    async def keep_following(self, database: Database, *, every_sec: float = _EVERY_SEC) -> None:
        """Ask again and again until cancelled; while the database is away, the last answer holds."""
        while True:
            try:
                await self.follow(database)
            except StoreError as problem:
                if problem.reason == "closed":
                    raise
            await self._local.sleep(every_sec)

    def now(self) -> datetime:
        """The database's instant; never earlier than the last, unless its clock was set back."""
        if self._zero is None:
            return self._local.now()
        at = self._zero + timedelta(seconds=self._local.monotonic())
        if self._latest is None or not at <= self._latest < at + _STEP:
            self._latest = at
        return self._latest

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return self._local.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._local.sleep(seconds)

    def new_id(self) -> str:
        """A fresh id."""
        return self._local.new_id()

    def new_secret(self) -> str:
        """256 random bits."""
        return self._local.new_secret()

    async def _measure(self, connection: PgConnection) -> datetime:
        found = [await self._round_trip(connection) for _ in range(_ROUND_TRIPS)]
        return min(found)[1]

    async def _round_trip(self, connection: PgConnection) -> tuple[float, datetime]:
        """How long an answer took, and the database's time at the zero of our monotonic clock."""
        began = self._local.monotonic()
        micros = await connection.fetchval("SELECT feedmill_now()")
        ended = self._local.monotonic()
        return ended - began, instant(micros) - timedelta(seconds=(began + ended) / 2)
