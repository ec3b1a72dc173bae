"""Readiness: the store answers, raw bodies can be written, every loop runs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.schedule import ScheduleStore
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.liveness import Liveness
from feedmill.errors import FeedmillError
from feedmill.model.worker import Readiness, Unready, WorkerRole

ReadinessCheck = Callable[
    [], Awaitable[None]
]  # raises a FeedmillError when its part cannot do its work

_TIMEOUT_SEC: Final = 5.0


async def check_readiness(
    store: ScheduleStore,
    clock: Clock,
    lifecycle: Lifecycle,
    liveness: Liveness,
    role: WorkerRole,
    probes: Mapping[str, ReadinessCheck],
) -> Readiness:
    """Whether this process can do its work now, with every reason why it cannot."""
    found = [*await _check("store", _store_check(store, clock))]
    for part, probe in probes.items():
        found += await _check(part, probe)
    if lifecycle.is_stopping():
        found.append(Unready(reason="draining", part="run"))
    found += liveness.unready()
    return Readiness(ready=not found, role=role, name=lifecycle.owner, reasons=tuple(found))


def cached_check(probe: ReadinessCheck, clock: Clock, *, seconds: float = 10.0) -> ReadinessCheck:
    """The same check, whose last success counts for a while."""
    good_until = clock.monotonic()

    async def ask() -> None:
        nonlocal good_until
        if clock.monotonic() >= good_until:
            await probe()
            good_until = clock.monotonic() + seconds

    return ask


def _store_check(store: ScheduleStore, clock: Clock) -> ReadinessCheck:
    """The store answers; that its schema fits was checked when it was opened."""

    async def ask() -> None:
        await store.due_lanes(clock.now())

    return ask


async def _check(part: str, probe: ReadinessCheck) -> list[Unready]:
    try:
        async with asyncio.timeout(_TIMEOUT_SEC):
            await probe()
    except TimeoutError:
        return [Unready(reason="too-slow", part=part, detail=f"no answer in {_TIMEOUT_SEC:g} s")]
    except FeedmillError as problem:
        return [Unready(reason=problem.reason, part=part, detail=str(problem))]
    return []
