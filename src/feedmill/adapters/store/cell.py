"""One database of several: it may be away, and is looked for again by whoever needs it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from feedmill.adapters.store.cell_map import Span
from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.errors import StoreError
from feedmill.observe import log

T = TypeVar("T")

Question = Callable[[PostgresStore], Awaitable[T]]
Opener = Callable[[str], Awaitable[PostgresStore]]

AWAY: Final = frozenset({"cannot-open", "busy"})
_AGAIN_SEC: Final = 5.0  # how long work that can do without leaves a cell alone
_PATIENCE_SEC: Final = 10.0  # how long it waits for one that does not answer
_REST_SEC: Final = 30.0  # how long it then leaves it alone: looking was dear


class Cell:
    """A store that has the hosts of a range of shards; `id` is known once it has answered."""

    def __init__(self, span: Span, opener: Opener, *, is_home: bool) -> None:
        self.name, self.is_home = span.name, is_home
        self.id = ""
        self._span, self._opener = span, opener
        self._store: PostgresStore | None = None
        self._opening = asyncio.Lock()
        self._away_until = 0.0
        self._is_away = False

    async def ask(self, question: Question[T]) -> T:
        """What the store of the cell answers; StoreError names the cell that does not."""
        try:
            answer = await question(await self.store())
        except StoreError as problem:
            if problem.reason in AWAY:
                self._missed(str(problem))
            raise
        self._met()
        return answer

    async def ask_if_there(self, question: Question[T], otherwise: T) -> T:
        """The same for work that goes on without the cell; it is told once that it is away."""
        if asyncio.get_running_loop().time() < self._away_until:
            return otherwise
        try:
            async with asyncio.timeout(_PATIENCE_SEC):
                return await self.ask(question)
        except StoreError as problem:
            if problem.reason not in AWAY:
                raise
        except TimeoutError:
            self._missed("no answer in time", rest_sec=_REST_SEC)
        return otherwise

    async def store(self) -> PostgresStore:
        """The store, opened when it is first asked for."""
        async with self._opening:
            if self._store is None:
                store = await self._opener(self._span.url)
                try:
                    self.id = await store.database.write(self._identify)
                except BaseException:
                    await store.close()
                    raise
                self._store = store
        return self._store

    async def close(self) -> None:
        """Close what was opened."""
        if self._store is not None:
            await self._store.close()

    async def _identify(self, connection: Connection) -> str:
        """The cell's id, given when it is first used; StoreError when it is another one.

        A database that has hosts of other shards would answer for some of them and never be asked
        for others.
        """
        await connection.execute(
            "INSERT INTO cell (id, is_home, first_shard, last_shard)"
            " VALUES (gen_random_uuid()::text, $1, $2, $3) ON CONFLICT DO NOTHING",
            int(self.is_home),
            self._span.first,
            self._span.last,
        )
        row = await connection.fetchrow(
            "SELECT c.id, c.is_home, c.first_shard, c.last_shard,"
            " coalesce((SELECT min(shard) FROM lanes), c.first_shard),"
            " coalesce((SELECT max(shard) FROM lanes), c.last_shard) FROM cell c"
        )
        assert row is not None
        cell_id, was_home, first, last, lowest, highest = row
        wanted = (int(self.is_home), self._span.first, self._span.last)
        if (was_home, first, last) != wanted or lowest < first or highest > last:
            kind = "the home cell" if was_home else "a cell"
            message = (
                f"{self.name}: this database is {kind} and has the shards"
                f" {min(first, lowest)}-{max(last, highest)}; shards are not moved between cells,"
                " so let [store] cells say where they are"
            )
            raise StoreError(message, reason="other-cell")
        return str(cell_id)

    def _missed(self, problem: str, rest_sec: float | None = None) -> None:
        rest_sec = _AGAIN_SEC if rest_sec is None else rest_sec
        self._away_until = asyncio.get_running_loop().time() + rest_sec
        if not self._is_away:
            log.logger("store").warning("a cell does not answer", cell=self.name, problem=problem)
        self._is_away = True

    def _met(self) -> None:
        self._away_until = 0.0
        if self._is_away:
            log.logger("store").warning("a cell answers again", cell=self.name)
        self._is_away = False
