"""Large documents of all lanes share one budget of memory, and one turn to be read."""

import asyncio

from feedmill.engine.run.memory_budget import SMALL_BYTES, MemoryBudget

LARGE = SMALL_BYTES + 1


def test_large_documents_are_read_in_turn_and_small_ones_do_not_wait() -> None:
    async def story() -> None:
        budget, order = MemoryBudget(8 * LARGE), list[str]()
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

    asyncio.run(story())


def test_next_large_document_waits_longer_when_other_polls_ended_meanwhile() -> None:
    async def story() -> None:
        budget, loop = MemoryBudget(8 * LARGE), asyncio.get_running_loop()

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

    asyncio.run(story())


def test_cancelled_poll_gives_its_turn_to_the_next() -> None:
    async def story() -> None:
        budget = MemoryBudget(8 * LARGE)

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

    asyncio.run(story())


def test_bodies_beyond_a_quarter_of_the_budget_pause_but_the_oldest_goes_on() -> None:
    budget, resumed = MemoryBudget(16 * SMALL_BYTES), list[str]()
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


def test_end_of_a_poll_lets_paused_bodies_go_on_in_order() -> None:
    async def story() -> None:
        budget, resumed = MemoryBudget(16 * SMALL_BYTES), list[str]()
        ended, waiting = budget.share(), budget.share()

        with budget.share() as first:
            assert first.may_grow(9 * SMALL_BYTES, lambda: None)
            assert not ended.may_grow(LARGE, lambda: resumed.append("ended"))
            assert not waiting.may_grow(LARGE, lambda: resumed.append("waiting"))
            ended.stop_waiting()

        assert resumed == ["waiting"]
        assert waiting.may_grow(LARGE, lambda: None)
        assert budget.body_bytes == LARGE

    asyncio.run(story())


def test_body_without_room_stays_paused_when_another_poll_ends() -> None:
    async def story() -> None:
        budget, resumed = MemoryBudget(16 * SMALL_BYTES), list[str]()
        first, waiting = budget.share(), budget.share()

        assert first.may_grow(2 * SMALL_BYTES, lambda: None)
        with budget.share() as second:
            assert second.may_grow(2 * SMALL_BYTES, lambda: None)
            assert not waiting.may_grow(2 * SMALL_BYTES, lambda: resumed.append("waiting"))
            assert first.may_grow(4 * SMALL_BYTES, lambda: None)

        assert resumed == []

    asyncio.run(story())


def test_the_oldest_body_goes_on_even_if_one_that_has_not_begun_was_paused_before_it() -> None:
    async def story() -> None:
        budget, resumed = MemoryBudget(16 * SMALL_BYTES), list[str]()
        old, late = budget.share(), budget.share()

        with budget.share() as first:
            assert first.may_grow(LARGE, lambda: None)
            assert old.may_grow(4 * SMALL_BYTES - LARGE, lambda: None)
            assert not late.may_grow(LARGE, lambda: resumed.append("late"))
            assert not old.may_grow(4 * SMALL_BYTES, lambda: resumed.append("old"))

        assert resumed == ["old"]

    asyncio.run(story())
