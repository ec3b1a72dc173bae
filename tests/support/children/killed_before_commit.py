"""A process that works what is due, and is killed the moment it has an answer to commit."""

import asyncio
import os
import signal
import sys

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.app.services import open_services
from feedmill.config import StoreConfig
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.model.refresh import Committed, Refresh


async def die(self: SqliteStore, refresh: Refresh) -> Committed:  # noqa: ARG001  # as a commit
    """What happens instead of a commit."""
    os.kill(os.getpid(), signal.SIGKILL)
    return Committed()


async def work(home: str) -> None:
    config = replace(PLAIN, store=StoreConfig(home=home))
    async with open_services(config) as services:
        await run_once(services, Lifecycle("doomed"))


if __name__ == "__main__":
    SqliteStore.commit = die  # type: ignore[method-assign]  # this is what it is for
    asyncio.run(work(sys.argv[1]))
