"""Large documents of all lanes share one budget of memory, and one turn to be read.

Threads that parse are replaced, and keep the context of the caller.
"""

import asyncio
import contextvars
import os
import threading

import pytest

from feedmill.engine.run.memory_budget import SMALL_BYTES, MemoryBudget, ParseThreads

LARGE = SMALL_BYTES + 1
WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO")


async def test_large_documents_are_read_in_turn_and_small_ones_do_not_wait() -> None:
    budget, order = MemoryBudget(2 * LARGE), list[str]()
    ends = {name: asyncio.Event() for name in "abc"}

    async def read(name: str) -> None:
        with budget.share() as share:
            await share.take_for(LARGE)
            await share.take_for(LARGE)  # a poll has one document
            order.append(name)
            await ends[name].wait()

    tasks = [asyncio.create_task(read(name)) for name in "abc"]
    await asyncio.sleep(0)
    with budget.share() as small:
        await small.take_for(SMALL_BYTES)
    before = list(order)
    for end in ends.values():
        end.set()
    await asyncio.gather(*tasks)

    assert before == ["a"]
    assert order == ["a", "b", "c"]


async def test_next_large_document_waits_longer_when_other_polls_ended_meanwhile() -> None:
    budget, loop = MemoryBudget(2 * LARGE), asyncio.get_running_loop()

    with budget.share() as large:
        await large.take_for(LARGE)
        began = loop.time()
        with budget.share():
            await asyncio.to_thread(list)  # any time at all
    took = loop.time() - began
    is_resting = budget.turn.locked()
    with budget.share() as second:
        await second.take_for(LARGE)
        waited = loop.time() - began - took

    assert is_resting
    assert waited > 0
    assert not budget.turn.locked()


async def test_cancelled_poll_gives_its_turn_to_the_next() -> None:
    budget = MemoryBudget(2 * LARGE)

    async def read() -> None:
        with budget.share() as share:
            await share.take_for(LARGE)

    with budget.share() as first:
        await first.take_for(LARGE)
        waiting, last = asyncio.create_task(read()), asyncio.create_task(read())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})
    await last

    assert not budget.turn.locked()


def test_bodies_beyond_the_budget_pause_but_the_oldest_goes_on() -> None:
    budget, resumed = MemoryBudget(4 * SMALL_BYTES), list[str]()
    old, young, third = budget.share(), budget.share(), budget.share()

    found = [
        old.may_grow(3 * SMALL_BYTES, lambda: resumed.append("old")),
        young.may_grow(SMALL_BYTES, lambda: resumed.append("young")),
        young.may_grow(2 * SMALL_BYTES, lambda: resumed.append("young")),
        third.may_grow(2 * SMALL_BYTES, lambda: resumed.append("third")),
        old.may_grow(9 * SMALL_BYTES, lambda: resumed.append("old")),
    ]

    assert found == [True, True, False, False, True]
    assert budget.body_bytes == 9 * SMALL_BYTES
    assert resumed == []


async def test_end_of_a_poll_lets_paused_bodies_go_on_in_order() -> None:
    budget, resumed = MemoryBudget(4 * SMALL_BYTES), list[str]()
    ended, waiting = budget.share(), budget.share()

    with budget.share() as first:
        assert first.may_grow(9 * SMALL_BYTES, lambda: None)
        assert not ended.may_grow(LARGE, lambda: resumed.append("ended"))
        assert not waiting.may_grow(LARGE, lambda: resumed.append("waiting"))
        ended.stop_waiting()

    assert resumed == ["waiting"]
    assert waiting.may_grow(LARGE, lambda: None)
    assert budget.body_bytes == LARGE


async def test_body_without_room_stays_paused_when_another_poll_ends() -> None:
    budget, resumed = MemoryBudget(4 * SMALL_BYTES), list[str]()
    first, waiting = budget.share(), budget.share()

    assert first.may_grow(2 * SMALL_BYTES, lambda: None)
    with budget.share() as second:
        assert second.may_grow(2 * SMALL_BYTES, lambda: None)
        assert not waiting.may_grow(2 * SMALL_BYTES, lambda: resumed.append("waiting"))
        assert first.may_grow(4 * SMALL_BYTES, lambda: None)

    assert resumed == []


async def test_the_oldest_body_goes_on_even_if_one_that_has_not_begun_was_paused_before_it() -> (
    None
):
    budget, resumed = MemoryBudget(4 * SMALL_BYTES), list[str]()
    old, late = budget.share(), budget.share()

    with budget.share() as first:
        assert first.may_grow(LARGE, lambda: None)
        assert old.may_grow(4 * SMALL_BYTES - LARGE, lambda: None)
        assert not late.may_grow(LARGE, lambda: resumed.append("late"))
        assert not old.may_grow(4 * SMALL_BYTES, lambda: resumed.append("old"))

    assert resumed == ["old"]


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
