"""Keeping a supervisor informed: ready when it is really ready, alive while its loops turn, stopping.

Waiting for a store that is away is no reason to be started again: the watchdog is fed by a run that
works or says what it waits for, and by no other.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.liveness import Liveness
from feedmill.engine.run.services import Services
from feedmill.model.worker import Readiness

NotifyFunction = Callable[..., bool]

_LOOK_SEC: Final = 0.5
_TELL_SEC: Final = 10.0


async def run_systemd_status(
    say: NotifyFunction,
    watchdog_sec: float | None,
    ask: Callable[[], Awaitable[Readiness]],
    services: Services,
    watch: Lifecycle,
    pulse: Liveness,
) -> None:
    """Tell until cancelled; beyond the watch's end too, for a drain may outlast the watchdog."""
    every_sec = min(_TELL_SEC, watchdog_sec / 3 if watchdog_sec is not None else _TELL_SEC)
    is_told_ready = is_told_stopping = False
    while True:
        if watch.is_stopping() and not is_told_stopping:
            is_told_stopping = say("STOPPING=1", "STATUS=finishing what is under way")
        elif not watch.is_stopping():
            found = await ask()
            words = [f"STATUS={status_line(found, watch)}"]
            if found.ready and not is_told_ready:
                words.append("READY=1")
            is_told_ready = say(*words) and (is_told_ready or found.ready)
        if watchdog_sec is not None and pulse.is_alive():
            say("WATCHDOG=1")
        if watch.is_stopping():
            await services.clock.sleep(every_sec)
        else:
            await watch.sleep_unless_stopping(
                every_sec if is_told_ready else min(every_sec, _LOOK_SEC)
            )


def status_line(found: Readiness, watch: Lifecycle) -> str:
    """One line about how it is, for whoever asks the supervisor."""
    if found.ready:
        return f"{found.role}: working, {watch.lanes} hosts at the moment"
    reasons = ", ".join(f"{one.part} {one.reason}" for one in found.reasons)
    return f"{found.role}: not ready ({reasons})"
