"""A store with many entries, and a mill that serves them as lines: how much memory does it take?"""

import asyncio
import http.client
import sys
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.rest.server import rest_server
from feedmill.observe import log

_TEXT = "word " * 180
_PER_DOCUMENT = 1_000


async def fill_store(home: Path, count: int) -> None:
    """Entries of about a kilobyte, a thousand of them in each feed."""
    async with open_services(_config(home)) as services:
        for number in range(count // _PER_DOCUMENT):
            feed, _ = await services.store.add_feed(new_feed(number))
            entries = [an_entry(f"{number}-{n}", _TEXT) for n in range(_PER_DOCUMENT)]
            await poll(services.store, feed, 1, entries, at=NOON)


async def main(home: Path) -> None:
    """Serve everything once; the number of lines, and the most kilobytes that this process had."""
    log.set_up("error")
    async with (
        open_services(_config(home)) as services,
        rest_server(services, Lifecycle("the child"), port=0) as base,
    ):
        lines = await asyncio.to_thread(read, base)
    sys.stdout.write(f"{lines} {peak_kb()}\n")


def peak_kb() -> int:
    """The most memory that this process had; `ru_maxrss` would be that of its parent, if larger."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def read(base: str) -> int:
    """Take every line; how many there were."""
    host, _, port = base.removeprefix("http://").rpartition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=HANG_GUARD_SEC)) as connection:
        headers = {"Accept": "application/x-ndjson"}
        connection.request("GET", "/entries?limit=1000", headers=headers)
        answer = connection.getresponse()
        return sum(1 for _ in iter(answer.readline, b""))


def _config(home: Path) -> Config:
    return replace(PLAIN, store=StoreConfig(home=str(home)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
