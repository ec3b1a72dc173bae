"""A process with an open push listener: a failpoint may kill it while it stores a ping."""

import asyncio
import sys

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN

from feedmill.app.services import open_services
from feedmill.config import PushConfig, StoreConfig
from feedmill.interfaces.push_listener import push_listener


async def work(home: str, port: str) -> None:
    push = PushConfig(public_url=f"http://127.0.0.1:{port}", port=int(port))
    config = replace(PLAIN, store=StoreConfig(home=home), push=push)
    async with open_services(config) as services, push_listener(services):
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
