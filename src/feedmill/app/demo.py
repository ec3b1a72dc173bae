"""The demonstration publisher, imported only when it is opened."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from feedmill.adapters.clock import SystemClock


class DemoOnLoopback(NamedTuple):
    """The demonstration feeds: their URLs and descriptions."""

    addresses: Callable[[], dict[str, str]]
    about: Callable[[], dict[str, str]]


@asynccontextmanager
async def open_demo() -> AsyncIterator[DemoOnLoopback]:
    """Serve the demonstration feeds on loopback while the block runs."""
    # A second package, which no user of the engine loads.
    from feedmill_demo.server.server import Publisher  # noqa: PLC0415
    from feedmill_demo.sites import DemoWeb, site_descriptions  # noqa: PLC0415

    web = DemoWeb(start=SystemClock().now(), pace=1.0, hosts=40)
    async with Publisher(web, addresses=40):
        yield DemoOnLoopback(addresses=web.addresses, about=site_descriptions)
