"""A process that runs jobs of the kind `walk` until they end: a failpoint may kill it on the way."""

import asyncio
import sys

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN
from tests.support.job_kinds import kind_of, read_pages

from feedmill.app.services import open_services
from feedmill.config import RunConfig, StoreConfig
from feedmill.engine.jobs.runner import run_jobs
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.model.running.job import JobRunRecord


async def work(home: str, name: str) -> None:
    config = replace(
        PLAIN, store=StoreConfig(home=home), run=RunConfig(lease_sec=16.0, idle_sec=0.01)
    )
    lifecycle = Lifecycle(name)

    def stop_when_done(record: JobRunRecord) -> None:
        if record.result in {"done", "failed"}:
            lifecycle.stop()

    async with open_services(config) as services:
        await run_jobs(
            services, lifecycle, kinds=[kind_of(read_pages)], listeners=(stop_when_done,)
        )


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
