"""A relay as a process: settings from the environment, until SIGTERM."""

import asyncio
import signal

from feedmill.app.services import make_bus, open_services
from feedmill.app.settings import load_config
from feedmill.engine.deliver.to_sinks import run_relay
from feedmill.engine.run.lifecycle import Lifecycle


async def relay() -> None:
    config = load_config()
    watch = Lifecycle("child")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, watch.stop)
    async with open_services(config) as services:
        await run_relay(
            services.store, make_bus(config), config.bus, watch, drain_sec=config.run.drain_sec
        )


if __name__ == "__main__":
    asyncio.run(relay())
