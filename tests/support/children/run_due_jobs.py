"""A process that runs the due jobs of media, full texts and clusters once: a failpoint may kill it on the way."""

import asyncio
import sys

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN
from tests.support.web_pages import extracting_here

from feedmill.app.services import open_services
from feedmill.config import ClustersConfig, MediaConfig, StoreConfig
from feedmill.engine.jobs import cluster, fulltext, media
from feedmill.engine.jobs.runner import run_due_jobs
from feedmill.engine.run.lifecycle import Lifecycle


async def work(home: str, name: str, store_url: str) -> None:
    config = replace(
        PLAIN,
        store=StoreConfig(home=home, url=store_url or None),
        media=MediaConfig(bytes_per_sec=0),
        clusters=ClustersConfig(enabled=True),
    )
    kinds = (*media.KINDS, fulltext.KIND, cluster.KIND)
    async with open_services(config) as services:
        await run_due_jobs(extracting_here(services), Lifecycle(name), kinds=kinds)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:4]))
