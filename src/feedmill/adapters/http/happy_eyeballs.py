"""Connects to several addresses of one host side by side; one of them sends the request (RFC 8305).

libcurl could do it for names that it resolves itself. Here every connection is pinned to one vetted
address, so the race is ours: the next address is tried when the one before has been silent for a
quarter of a second, and the first connection that is ready wins.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from itertools import chain, zip_longest
from typing import Any

from feedmill.adapters.http.response_buffer import BufferedResponse

# Nothing was reached: another address may do better.
UNREACHED = frozenset({"connection-failed", "timeout-connect"})
_NEXT_AFTER_SEC = 0.25  # the Connection Attempt Delay of section 5

MaySend = Callable[[], bool]
SendTo = Callable[[str, MaySend], Coroutine[Any, Any, BufferedResponse]]


def alternate_families(addresses: Sequence[str], like: str | None = None) -> tuple[str, ...]:
    """IPv6 and IPv4 by turns, beginning with the family of `like`, else of the first address (section 4)."""
    is_ipv6 = ":" in (like or addresses[0])
    first = [a for a in addresses if (":" in a) == is_ipv6]
    other = [a for a in addresses if (":" in a) != is_ipv6]
    return tuple(a for a in chain.from_iterable(zip_longest(first, other)) if a is not None)


async def send_to_first(
    addresses: Sequence[str], send: SendTo
) -> tuple[BufferedResponse, str, int]:
    """The answer, the address that gave it, and how many were tried.

    `send` asks its second argument before the request leaves, and gives up when the answer is no.
    """
    race = _Race()
    tasks: dict[asyncio.Task[BufferedResponse], str] = {}
    decided = asyncio.create_task(race.decided.wait())
    try:
        for address in addresses:
            task = asyncio.create_task(send(address, race.entry(address)))
            tasks[task] = address
            await asyncio.wait(
                {decided, task}, timeout=_NEXT_AFTER_SEC, return_when="FIRST_COMPLETED"
            )
            if race.winner is not None or _is_answered(task):
                break
        while True:
            running = {task for task in tasks if not task.done()}
            ends = [t for t, a in tasks.items() if a == race.winner or _is_answered(t)]
            if ends or not running:
                end = ends[0] if ends else next(reversed(tasks))
                return await end, tasks[end], len(tasks)
            await asyncio.wait({decided, *running}, return_when="FIRST_COMPLETED")
    finally:
        for other in (decided, *tasks):
            other.cancel()
        await asyncio.gather(decided, *tasks, return_exceptions=True)


class _Race:
    """One winner: the first connection that asks."""

    def __init__(self) -> None:
        self.winner: str | None = None
        self.decided = asyncio.Event()

    def entry(self, address: str) -> MaySend:
        """What the connection to this address asks before it sends."""

        def may_send() -> bool:
            if self.winner is None:
                self.winner = address
                self.decided.set()
            return self.winner == address

        return may_send


def _is_answered(task: asyncio.Task[BufferedResponse]) -> bool:
    """The attempt ended in a way that another address would not change, or raised."""
    if not task.done():
        return False
    return task.exception() is not None or task.result().error not in UNREACHED
