"""kill -9 in the middle of the work, again and again, and the end of such a story."""

import asyncio
from hashlib import sha256
from typing import Final

import msgspec
from tests.support.living_feeds_publisher import Press
from tests.support.run_process import Mill, Running
from tests.support.store_ledger import Ledger
from tests.support.waiting import hang_guard, wait_until

from feedmill.adapters.failpoints import POINTS

# `feedmill run` on one machine hands nothing to a bus: relays die at those points, in
# tests/integration/engine/deliver.
RUN_FAILPOINTS: Final = tuple(point for point in POINTS if not point.startswith("bus-"))


async def die_at(mill: Mill, failpoint: str) -> int:
    """Start a process that kills itself at a failpoint; its exit code."""
    async with await mill.start(failpoint) as running:
        await wait_until(lambda: not running.is_alive, f"the end at {failpoint}")
        return await running.ended()


def moment_of(cycle: int) -> tuple[int, float]:
    """After how many requests, and how much later; drawn once for every cycle."""
    drawn = sha256(f"kill {cycle}".encode()).digest()
    return drawn[0] % 40 + 1, drawn[1] / 255 * 0.05


async def kill_after_requests(
    running: Running, press: Press, requests: int, later_sec: float
) -> None:
    """kill -9 in the middle of the work."""
    seen = 0
    enough = asyncio.Event()

    def count() -> None:
        nonlocal seen
        seen += 1
        if seen >= requests:
            enough.set()

    press.on_request = count
    async with hang_guard():
        await enough.wait()
    press.on_request = lambda: None
    await asyncio.sleep(later_sec)
    assert running.is_alive
    await running.kill()


async def finish_and_check(mill: Mill, ledger: Ledger, press: Press) -> None:
    """Publish no more, let one process catch up and stop, then check everything."""
    press.resting = True
    async with await mill.start() as running:
        await wait_until(lambda: ledger.has(press) and ledger.is_delivered(), "every item")
        assert await running.stop() == 0
    ledger.check(press)
    assert ledger.has(press)
    ledger.check_delivered()
    assert ledger.leases(running.process.pid) == 0
    code, printed = await mill.command("verify", "--json")
    report = msgspec.json.decode(printed)
    assert (code, report["problems"]) == (0, [])
    assert not mill.said("unexpected error")
