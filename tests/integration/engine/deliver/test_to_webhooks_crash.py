"""A mill that is killed between a delivery and its cursor tells again, and leaves nothing out."""

import os
import signal
import sys
from pathlib import Path

import pytest
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import Process, start_script
from tests.support.webhook_harness import happen, opened, until_webhook
from tests.support.webhook_receiver import Receiver, receiving

from feedmill.engine.service.webhooks import add_webhook

COMMAND = Path(sys.executable).with_name("feedmill")
EVENTS = 12


async def _child(home: Path, failpoint: str | None) -> Process:
    own = {
        "FEEDMILL_HOME": str(home),
        "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
        "FEEDMILL_WEBHOOK_BATCH_EVENTS": "3",
        "FEEDMILL_WEBHOOK_LOOK_SEC": "0.05",
        "FEEDMILL_WEBHOOK_LEASE_SEC": "0.3",
        "FEEDMILL_LOG": "error",
    }
    if failpoint:
        own["FEEDMILL_FAILPOINT"] = failpoint
    return await start_script(
        COMMAND, "run", "--no-taps", "--quiet", "--for", str(HANG_GUARD_SEC), env=os.environ | own
    )


async def _finish(home: Path, receiver: Receiver, webhook_id: str) -> int:
    """Run a mill that nobody kills until all is told; the cursor in the end."""
    process = await _child(home, None)
    try:
        await receiver.heard_all(EVENTS)
        async with opened(home) as services:
            found = await until_webhook(services, webhook_id, lambda one: one.cursor == EVENTS)
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()
    return found.cursor


@pytest.mark.parametrize(
    "failpoint",
    [
        "cursor-move@2",  # told, and the cursor was not asked to move
        "store-commit@4",  # the cursor was moving
        "cursor-moved@2",  # it has moved
    ],
)
async def test_every_event_is_told_in_order_however_often_the_mill_is_killed(
    tmp_path: Path, failpoint: str
) -> None:
    async with receiving() as receiver:
        async with opened(tmp_path) as services:
            hook = await add_webhook(receiver.url(), services)
            await happen(services, EVENTS)

        killed = [await (await _child(tmp_path, failpoint)).wait() for _ in range(2)]
        cursor = await _finish(tmp_path, receiver, hook.id)

    told = receiver.told()
    assert killed == [-signal.SIGKILL] * 2
    assert list(dict.fromkeys(told)) == list(range(1, EVENTS + 1))
    assert cursor == EVENTS
    if failpoint.startswith("cursor-move@"):
        assert len(told) > EVENTS  # repeated rather than lost
