"""Threads that parse are replaced, and keep the context of the caller."""

import asyncio
import contextvars
import os
import threading

import pytest

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


def test_what_an_action_raises_reaches_its_caller() -> None:
    async def story() -> None:
        await ParseThreads().run(lambda: int("none"))

    with pytest.raises(ValueError, match="none"):
        asyncio.run(story())


def test_threads_go_on_when_a_caller_gave_up() -> None:
    async def story() -> int:
        threads, begun, go_on = ParseThreads(), threading.Event(), threading.Event()

        def slow() -> None:
            begun.set()
            go_on.wait()

        waiting = [asyncio.create_task(threads.run(slow)) for _ in range(2)]
        await asyncio.to_thread(begun.wait)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        go_on.set()
        return await threads.run(lambda: 7)

    assert asyncio.run(story()) == 7


def test_threads_go_on_when_the_loop_of_a_caller_is_closed() -> None:
    threads, begun, go_on = ParseThreads(), threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait()

    async def gives_up() -> None:
        task = asyncio.create_task(threads.run(slow))
        await asyncio.to_thread(begun.wait)
        task.cancel()

    asyncio.run(gives_up())
    go_on.set()

    async def asks() -> int:
        return await threads.run(lambda: 7)

    assert [asyncio.run(asks()) for _ in range(4)] == [7] * 4


def test_closing_waits_for_what_is_being_parsed() -> None:
    async def story() -> threading.Thread:
        threads = ParseThreads()
        thread = await threads.run(threading.current_thread)
        await asyncio.to_thread(threads.close)
        return thread

    assert not asyncio.run(story()).is_alive()


def test_a_forked_process_starts_threads_of_its_own() -> None:
    threads = ParseThreads()

    async def asks() -> int:
        return await threads.run(os.getpid)

    own = asyncio.run(asks())
    child = os.fork()
    if child == 0:
        os._exit(0 if asyncio.run(asks()) == os.getpid() != own else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
