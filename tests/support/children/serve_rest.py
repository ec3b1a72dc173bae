"""A mill that serves until it is killed: `python serve_rest.py HOME PORT`."""

import asyncio
import sys

from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.rest.server import rest_server


async def serve(home: str, port: int) -> None:
    """Say the address when the door is open, then wait for the end."""
    async with (
        open_services(Config(store=StoreConfig(home=home))) as services,
        rest_server(services, Lifecycle("the child"), port=port) as address,
    ):
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
