"""Reports to systemd (sd_notify): ready, status line, watchdog, stopping.

Waiting for a store that is away is no reason for a restart: the watchdog is fed by a run that works
or reports what it waits for, and by no other.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from feedmill.engine.ports.clock import Clock
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.liveness import Liveness
from feedmill.model.worker import Readiness

NotifyFunction = Callable[..., bool]

_STARTING_SEC: Final = 0.5
_EVERY_SEC: Final = 10.0


async def run_systemd_status(
    say: NotifyFunction,
    watchdog_sec: float | None,
    ask: Callable[[], Awaitable[Readiness]],
    clock: Clock,
    lifecycle: Lifecycle,
    liveness: Liveness,
) -> None:
    """Report until cancelled; also while draining, which may take longer than the watchdog allows."""
    every_sec = min(_EVERY_SEC, watchdog_sec / 3 if watchdog_sec is not None else _EVERY_SEC)
    said_ready = said_stopping = False
    while True:
        if lifecycle.is_stopping() and not said_stopping:
            said_stopping = say("STOPPING=1", "STATUS=finishing what is under way")
        elif not lifecycle.is_stopping():
            found = await ask()
            words = [f"STATUS={status_line(found, lifecycle)}"]
            if found.ready and not said_ready:
                words.append("READY=1")
            said_ready = say(*words) and (said_ready or found.ready)
        if watchdog_sec is not None and liveness.is_alive():
            say("WATCHDOG=1")
        if lifecycle.is_stopping():
            await clock.sleep(every_sec)
        else:
            await lifecycle.sleep_unless_stopping(
                every_sec if said_ready else min(every_sec, _STARTING_SEC)
            )


def status_line(found: Readiness, lifecycle: Lifecycle) -> str:
    """One line for `systemctl status`."""
    if found.ready:
        return f"{found.role}: working, {lifecycle.lanes} hosts at the moment"
    reasons = ", ".join(f"{one.part} {one.reason}" for one in found.reasons)
    return f"{found.role}: not ready ({reasons})"
