"""Waiting for a state: of another process, of a server, of a background task.

A test waits until something holds, however long this machine takes; it never measures time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Final, TypeVar

HANG_GUARD_SEC: Final = 300.0
"""The limit of every wait in the tests: it ends a test that hangs, and is never a measure.

It is minutes long, so that a machine with other work to do fails no test.
"""

# Between two looks: what comes soon is seen soon, and what takes long is not looked at for ever.
_FIRST_PAUSE_SEC, _LAST_PAUSE_SEC, _GROWTH = 0.01, 0.25, 1.3

T = TypeVar("T")


def pauses() -> Iterator[float]:
    """The seconds between one look and the next, without end."""
    pause = _FIRST_PAUSE_SEC
    while True:
        yield pause
        pause = min(pause * _GROWTH, _LAST_PAUSE_SEC)


def hang_guard() -> asyncio.Timeout:
    """`async with hang_guard():` ends a block that hangs."""
    return asyncio.timeout(HANG_GUARD_SEC)


def run(story: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine within a limit, for tests that have to be none themselves."""

    async def limited() -> None:
        async with hang_guard():
            await story

    asyncio.run(limited())


async def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Return once the condition holds; an AssertionError that says what never came to hold.

    It is looked at in a thread: a look into a database must not hold up the servers that the test
    runs on this event loop.
    """
    await wait_for_answer(lambda: asyncio.to_thread(condition), bool, what)


async def wait_for_answer(
    ask: Callable[[], Awaitable[T]], fits: Callable[[T], bool], what: str
) -> T:
    """Ask again and again; the first answer that fits."""
    answers: list[T] = []
    guard, pause = hang_guard(), pauses()
    try:
        async with guard:
            while not fits(answer := await ask()):
                answers[:] = [answer]
                await asyncio.sleep(next(pause))
            return answer
    except TimeoutError:
        if guard.expired():
            message = f"still waiting for {what}; the last answer: {answers}"
            raise AssertionError(message) from None
        raise


def block_until(condition: Callable[[], bool], what: str) -> None:
    """`wait_until` where there is no event loop: the thread sleeps between two looks."""
    deadline = time.monotonic() + HANG_GUARD_SEC
    for pause in pauses():
        if condition():
            return
        assert time.monotonic() < deadline, f"still waiting for {what}"
        time.sleep(pause)
