"""Memory budget over all lanes of a process: large documents are read one after the other (D40).

A document takes many times its size while it is parsed, compared and committed. Small ones never wait; the
large ones of all lanes share one budget, in the order of their arrival.
"""

import asyncio
from collections import deque
from types import TracebackType
from typing import Final, Self

SMALL_BYTES: Final = 512 * 1024  # a body up to this size never waits and does not count
COST_FACTOR: Final = 12  # memory of a parsed, compared and committed document per octet of its body


class MemoryBudget:
    """So many bytes for the documents that are being read."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.used_bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def share(self) -> "MemoryShare":
        """A share for one poll; what it takes is given back at the end of its block."""
        return MemoryShare(self)

    async def take(self, cost: int) -> None:
        """Wait until so much is free; one that is larger than the whole budget is alone."""
        if not self._waiting and self._fits(cost):
            self.used_bytes += cost
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((cost, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(cost)
            else:
                self._waiting.remove((cost, turn))
                self._admit()
            raise

    def give_back(self, cost: int) -> None:
        """Let the next ones in."""
        self.used_bytes -= cost
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            cost, turn = self._waiting.popleft()
            if not turn.done():
                self.used_bytes += cost
                turn.set_result(None)

    def _fits(self, cost: int) -> bool:
        return not self.used_bytes or self.used_bytes + cost <= self._max_bytes


class MemoryShare:
    """What one poll holds of the budget."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._cost = 0

    async def take_for(self, body_bytes: int) -> None:
        """Wait until a body of this size may be read."""
        if body_bytes > SMALL_BYTES and not self._cost:
            cost = body_bytes * COST_FACTOR
            await self._budget.take(cost)
            self._cost = cost

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._cost:
            self._budget.give_back(self._cost)
            self._cost = 0
