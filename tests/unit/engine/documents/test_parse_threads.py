"""Threads that parse are replaced, and keep the context of the caller."""

import asyncio
import contextvars
import threading

from feedmill.engine.documents.parse_threads import ParseThreads

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO")


def test_threads_are_replaced_after_so_many_documents() -> None:
    async def story() -> list[threading.Thread]:
        threads = ParseThreads(documents=2)
        return [await threads.run(threading.current_thread) for _ in range(6)]

    used = asyncio.run(story())

    assert threading.main_thread() not in used
    assert set(used[:2]).isdisjoint(used[2:4])
    assert set(used[2:4]).isdisjoint(used[4:])


def test_replaced_threads_end() -> None:
    async def story() -> threading.Thread:
        threads = ParseThreads(documents=1)
        first = await threads.run(threading.current_thread)
        await threads.run(threading.current_thread)
        return first

    first = asyncio.run(story())
    first.join()

    assert not first.is_alive()


def test_action_sees_the_context_of_its_caller() -> None:
    async def story() -> str:
        WHO.set("a poll")
        return await ParseThreads().run(WHO.get)

    assert asyncio.run(story()) == "a poll"
