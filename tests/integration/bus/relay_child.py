"""A relay as a process: settings from the environment, until SIGTERM."""

import asyncio
import signal

from feedmill.app.services import bus_of, load_config, open_world
from feedmill.engine.deliver.to_bus import keep_relaying
from feedmill.engine.run.lifecycle import Watch


async def relay() -> None:
    config = load_config()
    watch = Watch("child")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, watch.stop)
    async with open_world(config) as world:
        await keep_relaying(world, bus_of(config), watch)


if __name__ == "__main__":
    asyncio.run(relay())
