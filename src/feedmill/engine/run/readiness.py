"""Readiness that means something: the store answers, raw bytes can be kept, the loops turn."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from feedmill.engine.ports.clock import Clock
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.liveness import Liveness
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.model.worker import Readiness, Unready, WorkerRole

ReadinessCheck = Callable[
    [], Awaitable[None]
]  # raises a FeedmillError when its part cannot do its work

_PATIENCE_SEC: Final = 5.0


async def check_readiness(
    services: Services,
    watch: Lifecycle,
    pulse: Liveness,
    role: WorkerRole,
    probes: Mapping[str, ReadinessCheck],
) -> Readiness:
    """Whether this process can do its work now, with every reason why it cannot."""
    found = [*await _asked("store", _store_of(services))]
    for part, probe in probes.items():
        found += await _asked(part, probe)
    if watch.is_stopping():
        found.append(Unready(reason="draining", part="run"))
    found += pulse.unready()
    return Readiness(ready=not found, role=role, name=watch.owner, reasons=tuple(found))


def cached_check(probe: ReadinessCheck, clock: Clock, *, seconds: float = 10.0) -> ReadinessCheck:
    """The same probe, which believes its last good answer for a while."""
    good_until = clock.monotonic()

    async def ask() -> None:
        nonlocal good_until
        if clock.monotonic() >= good_until:
            await probe()
            good_until = clock.monotonic() + seconds

    return ask


def _store_of(services: Services) -> ReadinessCheck:
    """The store's own probe; that its schema fits was proven when it was opened."""

    async def ask() -> None:
        await services.store.due_lanes(services.clock.now())

    return ask


async def _asked(part: str, probe: ReadinessCheck) -> list[Unready]:
    try:
        async with asyncio.timeout(_PATIENCE_SEC):
            await probe()
    except TimeoutError:
        return [Unready(reason="too-slow", part=part, detail=f"no answer in {_PATIENCE_SEC:g} s")]
    except FeedmillError as problem:
        return [Unready(reason=problem.reason, part=part, detail=str(problem))]
    return []
