"""A sign of life now and then, so that people and other workers see who is here.

Nothing relies on it: a store that cannot take it fails nobody, and whoever works meets the same
trouble and tells.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from feedmill.engine.run.lifecycle import Watch
from feedmill.engine.run.services import World
from feedmill.errors import FeedmillError
from feedmill.model.worker import Role, Worker
from feedmill.version import __version__

BEAT_SEC: Final = 5.0
SILENT_SEC: Final = 3 * BEAT_SEC  # without a sign for so long, nobody counts on it any more
_FAREWELL_SEC: Final = 1.0
_LOOK_SEC: Final = 60.0


@asynccontextmanager
async def present(world: World, watch: Watch, role: Role) -> AsyncIterator[None]:
    """Be listed while the block runs, as draining once the watch stops, and not any more after it."""
    writing = asyncio.Lock()
    beating = asyncio.create_task(_keep_beating(world, watch, role, writing))
    try:
        yield
    finally:
        with suppress(FeedmillError, TimeoutError):
            async with asyncio.timeout(_FAREWELL_SEC), writing:  # a sign under way is finished
                beating.cancel()
                await world.store.forget_worker(watch.owner)
        beating.cancel()
        await asyncio.wait({beating})


async def until_others(world: World, watch: Watch) -> frozenset[str]:
    """Wait for workers on other machines; their machines, and none when the run ended before."""
    own = machine_of(watch.owner)
    while not watch.is_stopping():
        with suppress(FeedmillError):
            machines = {machine_of(one.name) for one in await world.store.workers()}
            if machines - {own}:
                return frozenset(machines - {own})
        await watch.pause(_LOOK_SEC)
    return frozenset()


def machine_of(name: str) -> str:
    """The machine in the name of a process, as `app.owner_name` makes it."""
    return name.rpartition(":")[0].partition("/")[0]


async def _keep_beating(world: World, watch: Watch, role: Role, writing: asyncio.Lock) -> None:
    began = world.clock.now()
    while True:
        is_draining = watch.is_stopping()
        sign = Worker(
            name=watch.owner,
            role=role,
            version=__version__,
            started_at=began,
            seen_at=world.clock.now(),
            draining=is_draining,
        )
        async with writing:
            with suppress(FeedmillError):
                await world.store.note_worker(sign)
        if is_draining:
            await world.clock.sleep(BEAT_SEC)
        else:
            await watch.pause(BEAT_SEC)
