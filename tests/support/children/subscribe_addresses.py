"""A process with a desk of its own: for every address on standard input it prints the feed's id."""

import asyncio
import sys

from feedmill.app.services import open_services
from feedmill.app.settings import load_config
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.engine.subscribe.add_feed import Subscribed


async def main() -> None:
    """Serve until the input ends."""
    async with open_services(load_config()) as services:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while address := (await asyncio.to_thread(sys.stdin.readline)).strip():
            done = await open_subscriber(services).subscribe(address, choose="best")
            assert isinstance(done, Subscribed)
            sys.stdout.write(f"{done.feed.id} {done.created}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
