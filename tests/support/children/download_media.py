"""A process that downloads the media that are queued: a failpoint may kill it on the way."""

import asyncio
import sys

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN

from feedmill.app.services import open_services
from feedmill.config import MediaConfig, StoreConfig
from feedmill.engine.jobs.media import KINDS
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.run.lifecycle import Lifecycle


async def work(home: str, name: str) -> None:
    media = MediaConfig(bytes_per_sec=0)
    config = replace(PLAIN, store=StoreConfig(home=home), media=media)
    async with open_services(config) as services:
        await run_due_jobs(services, Lifecycle(name), kinds=KINDS)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
