"""An adapter is made at its first use, once, and closed only if it was made."""

import asyncio

from feedmill.app.services import Deferred


class Adapter:
    made, closed = 0, 0
    place = "here"

    def __init__(self) -> None:
        Adapter.made += 1

    async def ask(self) -> str:
        return "answer"

    async def close(self) -> None:
        Adapter.closed += 1


def test_adapter_is_made_at_its_first_use_and_once() -> None:
    Adapter.made = Adapter.closed = 0
    deferred = Deferred(Adapter)
    before = Adapter.made

    answers = [asyncio.run(deferred.ask()), asyncio.run(deferred.ask())]
    asyncio.run(deferred.close())

    assert (before, Adapter.made, Adapter.closed) == (0, 1, 1)
    assert (answers, deferred.place) == (["answer", "answer"], "here")


def test_adapter_that_nothing_used_is_neither_made_nor_closed() -> None:
    Adapter.made = Adapter.closed = 0

    asyncio.run(Deferred(Adapter).close())

    assert (Adapter.made, Adapter.closed) == (0, 0)
