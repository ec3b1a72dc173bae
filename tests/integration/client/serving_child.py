"""A mill that serves until it is killed: `python serving_child.py HOME PORT`."""

import asyncio
import sys

from feedmill.app import open_world
from feedmill.config import Config, StoreConfig
from feedmill.doors.rest.serving import rest_server
from feedmill.engine.watch import Watch


async def serve(home: str, port: int) -> None:
    """Say the address when the door is open, then wait for the end."""
    async with (
        open_world(Config(store=StoreConfig(home=home))) as world,
        rest_server(world, Watch("the child"), port=port) as address,
    ):
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
