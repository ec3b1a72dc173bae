"""Worker heartbeat: a row per process that people and other workers can see.

No decision relies on it: a store that cannot write it stops nothing, and the loops that work meet
the same error and report it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.maintenance import WorkerStore
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError
from feedmill.model.running.worker import Worker, WorkerRole
from feedmill.version import __version__

HEARTBEAT_SEC: Final = 5.0
SILENT_AFTER_SEC: Final = 3 * HEARTBEAT_SEC  # after that long without one, a worker counts as gone
_REMOVE_SEC: Final = 1.0
_LOOK_SEC: Final = 60.0


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
