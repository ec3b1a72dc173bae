"""Liveness and readiness: when each loop last ran, whether the store answers and raw bodies can be written; for systemd (sd_notify).

A run that waits for a full disk is alive and not ready; one that neither runs nor waits has stalled.

Waiting for a store that is away is no reason for a restart: the watchdog is fed by a run that works
or reports what it waits for, and by no other.

Worker heartbeat: a row per process that people and other workers can see.

No decision relies on it: a store that cannot write it stops nothing, and the loops that work meet
the same error and report it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

from feedmill.engine.ports.feeds import ScheduleStore
from feedmill.engine.ports.io import Clock
from feedmill.engine.ports.maintenance import WorkerStore
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError
from feedmill.model.running.worker import Readiness, Unready, Worker, WorkerRole
from feedmill.version import __version__

# An error is reported again at each wait. One that is not reported again may be over (nothing was due
# since, to show it), or a try takes long: then it is no reason any more, and no reason to restart either.
_REPORTED_SEC: Final = 20.0
_TRYING_SEC: Final = 120.0
HEARTBEAT_SEC: Final = 5.0
SILENT_AFTER_SEC: Final = 3 * HEARTBEAT_SEC  # after that long without one, a worker counts as gone
_REMOVE_SEC: Final = 1.0
_LOOK_SEC: Final = 60.0


class _Failure(NamedTuple):
    problem: FeedmillError
    at: float


class Liveness:
    """Listens to a lifecycle; `parts` are the loops that have to look for work again and again."""

    def __init__(self, clock: Clock, parts: Sequence[str], *, stall_sec: float) -> None:
        self._clock, self._stall_sec = clock, stall_sec
        self._began = clock.monotonic()
        self._looked: dict[str, float | None] = dict.fromkeys(parts)
        self._failures: dict[str, _Failure] = {}

    def record(self, part: str) -> None:
        """Note that a loop has looked for work."""
        if part in self._looked:
            self._looked[part] = self._clock.monotonic()

    def record_refresh(self, *_: object) -> None:
        """Note that a feed was polled: while all workers are busy, no lane is claimed."""
        self.record("polls")

    def record_failure(self, op: str, problem: FeedmillError | None, _: float) -> None:
        """Note that a loop waits to retry, or that it works again."""
        if problem is None:
            self._failures.pop(op, None)
        else:
            self._failures[op] = _Failure(problem, self._clock.monotonic())

    def is_alive(self) -> bool:
        """False when a loop has neither run nor reported that it waits: a restart may help."""
        is_waiting = bool(self._failed_within(_TRYING_SEC))
        return is_waiting or not any(map(self._has_stalled, self._looked))

    def unready(self) -> tuple[Unready, ...]:
        """Why the run is not ready, as far as its loops have reported."""
        waiting = [
            Unready(reason=failure.problem.reason, part=op, detail=str(failure.problem))
            for op, failure in self._failed_within(_REPORTED_SEC).items()
        ]
        starting = [
            Unready(reason="starting", part=part)
            for part, at in self._looked.items()
            if at is None and not self._has_stalled(part)
        ]
        stalled = [
            Unready(reason="stalled", part=part)
            for part in self._looked
            if self._has_stalled(part) and not self._failed_within(_TRYING_SEC)
        ]
        return (*waiting, *starting, *stalled)

    def _failed_within(self, seconds: float) -> dict[str, _Failure]:
        since = self._clock.monotonic() - seconds
        return {op: failure for op, failure in self._failures.items() if failure.at > since}

    def _has_stalled(self, part: str) -> bool:
        at = self._looked[part]
        return self._clock.monotonic() - (self._began if at is None else at) > self._stall_sec


# Raises a FeedmillError when its part cannot do its work.
ReadinessCheck = Callable[[], Awaitable[None]]
_TIMEOUT_SEC: Final = 5.0

NotifyFunction = Callable[..., bool]
_STARTING_SEC: Final = 0.5
_EVERY_SEC: Final = 10.0
_STOPPING: Final = ("STOPPING=1", "STATUS=finishing what is under way")


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
    try:
        while True:
            if lifecycle.is_stopping() and not said_stopping:
                said_stopping = say(*_STOPPING)
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
    finally:
        if not said_stopping:  # the run ended before its turn came, as in the middle of `ask`
            say(*_STOPPING)


def status_line(found: Readiness, lifecycle: Lifecycle) -> str:
    """One line for `systemctl status`."""
    if found.ready:
        return f"{found.role}: working, {lifecycle.lanes} hosts at the moment"
    reasons = ", ".join(f"{one.part} {one.reason}" for one in found.reasons)
    return f"{found.role}: not ready ({reasons})"


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


@asynccontextmanager
async def heartbeat(
    store: WorkerStore, clock: Clock, lifecycle: Lifecycle, role: WorkerRole
) -> AsyncIterator[None]:
    """List this worker while the block runs, as draining once the run stops; remove it afterwards."""
    writing = asyncio.Lock()
    beating = asyncio.create_task(_beat(store, clock, lifecycle, role, writing))
    try:
        yield
    finally:
        with suppress(FeedmillError, TimeoutError):
            async with (
                asyncio.timeout(_REMOVE_SEC),
                writing,
            ):  # one that is being written is finished
                beating.cancel()
                await store.delete_worker(lifecycle.owner)
        beating.cancel()
        await asyncio.wait({beating})


async def wait_for_other_machines(store: WorkerStore, lifecycle: Lifecycle) -> frozenset[str]:
    """Wait for workers on other machines; their machines, and none when the run ended before."""
    own = machine_of(lifecycle.owner)
    while not lifecycle.is_stopping():
        with suppress(FeedmillError):
            machines = {machine_of(one.name) for one in await store.workers()}
            if machines - {own}:
                return frozenset(machines - {own})
        await lifecycle.sleep_unless_stopping(_LOOK_SEC)
    return frozenset()


def machine_of(name: str) -> str:
    """The machine in the name of a process, as `app.owner_name` makes it."""
    return name.rpartition(":")[0].partition("/")[0]


async def _beat(
    store: WorkerStore,
    clock: Clock,
    lifecycle: Lifecycle,
    role: WorkerRole,
    writing: asyncio.Lock,
) -> None:
    began = clock.now()
    while True:
        is_draining = lifecycle.is_stopping()
        sign = Worker(
            name=lifecycle.owner,
            role=role,
            version=__version__,
            started_at=began,
            seen_at=clock.now(),
            draining=is_draining,
        )
        async with writing:
            with suppress(FeedmillError):
                await store.save_worker(sign)
        if is_draining:
            await clock.sleep(HEARTBEAT_SEC)
        else:
            await lifecycle.sleep_unless_stopping(HEARTBEAT_SEC)
