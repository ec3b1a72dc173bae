"""Large documents of all lanes share one budget of memory."""

import asyncio

import pytest

from feedmill.engine.run.memory_budget import COST_FACTOR, SMALL_BYTES, MemoryBudget

LARGE = SMALL_BYTES + 1
COST = LARGE * COST_FACTOR


def test_large_documents_wait_for_their_turn_and_small_ones_do_not() -> None:
    async def story() -> None:
        budget, order = MemoryBudget(2 * COST), list[str]()
        ends = {name: asyncio.Event() for name in "abc"}

        async def read(name: str) -> None:
            async with budget.share() as share:
                await share.take_for(LARGE)
                order.append(name)
                await ends[name].wait()

        tasks = [asyncio.create_task(read(name)) for name in "abc"]
        await asyncio.sleep(0)
        async with budget.share() as small:
            await small.take_for(SMALL_BYTES)
        before, used = list(order), budget.used_bytes
        for end in ends.values():
            end.set()
        await asyncio.gather(*tasks)

        assert (before, used) == (["a", "b"], 2 * COST)
        assert order == ["a", "b", "c"]
        assert budget.used_bytes == 0

    asyncio.run(story())


def test_document_larger_than_the_whole_budget_is_read_alone() -> None:
    async def story() -> None:
        budget = MemoryBudget(1)

        async with budget.share() as share:
            await share.take_for(LARGE)
            await share.take_for(LARGE)  # a poll has one document

            assert budget.used_bytes == COST

    asyncio.run(story())


@pytest.mark.parametrize("is_admitted", [False, True], ids=["while it waits", "as it is let in"])
def test_cancelled_poll_holds_nothing(*, is_admitted: bool) -> None:
    async def story() -> None:
        budget = MemoryBudget(COST)
        await budget.take(COST)
        waiting = asyncio.create_task(budget.take(COST))
        last = asyncio.create_task(budget.take(COST))
        await asyncio.sleep(0)

        if is_admitted:
            budget.give_back(COST)
        waiting.cancel()
        await asyncio.wait({waiting})
        if not is_admitted:
            budget.give_back(COST)
        await last

        assert budget.used_bytes == COST
        budget.give_back(COST)
        assert budget.used_bytes == 0

    asyncio.run(story())
