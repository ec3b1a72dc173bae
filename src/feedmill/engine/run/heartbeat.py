"""A sign of life now and then, so that people and other workers see who is here.

Nothing relies on it: a store that cannot take it fails nobody, and whoever works meets the same
trouble and tells.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError
from feedmill.model.worker import Worker, WorkerRole
from feedmill.version import __version__

HEARTBEAT_SEC: Final = 5.0
SILENT_AFTER_SEC: Final = (
    3 * HEARTBEAT_SEC
)  # without a sign for so long, nobody counts on it any more
_FAREWELL_SEC: Final = 1.0
_LOOK_SEC: Final = 60.0


@asynccontextmanager
async def heartbeat(services: Services, watch: Lifecycle, role: WorkerRole) -> AsyncIterator[None]:
    """Be listed while the block runs, as draining once the watch stops, and not any more after it."""
    writing = asyncio.Lock()
    beating = asyncio.create_task(_keep_beating(services, watch, role, writing))
    try:
        yield
    finally:
        with suppress(FeedmillError, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SEC), writing:  # a sign under way is finished
                beating.cancel()
                await services.store.forget_worker(watch.owner)
        beating.cancel()
        await asyncio.wait({beating})


async def wait_for_other_machines(services: Services, watch: Lifecycle) -> frozenset[str]:
    """Wait for workers on other machines; their machines, and none when the run ended before."""
    own = machine_of(watch.owner)
    while not watch.is_stopping():
        with suppress(FeedmillError):
            machines = {machine_of(one.name) for one in await services.store.workers()}
            if machines - {own}:
                return frozenset(machines - {own})
        await watch.sleep_unless_stopping(_LOOK_SEC)
    return frozenset()


def machine_of(name: str) -> str:
    """The machine in the name of a process, as `app.owner_name` makes it."""
    return name.rpartition(":")[0].partition("/")[0]


async def _keep_beating(
    services: Services, watch: Lifecycle, role: WorkerRole, writing: asyncio.Lock
) -> None:
    began = services.clock.now()
    while True:
        is_draining = watch.is_stopping()
        sign = Worker(
            name=watch.owner,
            role=role,
            version=__version__,
            started_at=began,
            seen_at=services.clock.now(),
            draining=is_draining,
        )
        async with writing:
            with suppress(FeedmillError):
                await services.store.note_worker(sign)
        if is_draining:
            await services.clock.sleep(HEARTBEAT_SEC)
        else:
            await watch.sleep_unless_stopping(HEARTBEAT_SEC)
