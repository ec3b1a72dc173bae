"""Several relays at once, killed six times in the middle of everything: nothing missing, order kept."""

import asyncio
import signal
from pathlib import Path

from tests.support.bus_readers import Read, feeds, numbers
from tests.support.buses_under_test import BusBench
from tests.support.relay_harness import happen, opened, relaying, start_child
from tests.support.waiting import run

from feedmill.engine.run.services import Services

DEATHS = (
    "bus-send@3",  # nothing is on its way
    "bus-sent@2",  # all is, and no answer was read
    "bus-taken@2",  # all is acknowledged
    "cursor-move@3",
    "cursor-moved@2",
    "bus-sent@5",
)
WINDOW = 40


def test_whatever_kills_the_relays_each_event_is_there_and_each_feed_in_order(
    bench: BusBench, tmp_path: Path
) -> None:
    messages: list[Read] = []
    total: list[int] = []

    async def story() -> None:
        config = bench.config(window=WINDOW)
        async with opened(tmp_path, config) as services:
            await _all_die(services, tmp_path)
            async with relaying(services) as last:
                await last.caught_up(bench.open().name)
            total.append(await services.store.last_seq())
        messages.extend(await bench.reader.read(bench.stream))

    run(story())

    expected = list(range(1, total[0] + 1))
    assert sorted(set(numbers(messages))) == expected
    assert all(seen == sorted(seen) for seen in feeds(messages).values())
    if not bench.url.startswith("kafka"):
        assert numbers(messages) == expected  # exactly once, and in order over all feeds


async def _all_die(services: Services, home: Path) -> None:
    """Relays at work on a log that grows, until each has met its end."""
    relays = [await start_child(home, services.config.bus, one) for one in DEATHS]
    ends = {asyncio.ensure_future(relay.wait()) for relay in relays}
    try:
        while ends:
            await happen(services, 3 * WINDOW)
            _, ends = await asyncio.wait(ends, timeout=0.2)
    finally:
        for relay in relays:
            if relay.returncode is None:
                relay.kill()
                await relay.wait()
    assert [relay.returncode for relay in relays] == [-signal.SIGKILL] * len(DEATHS)
