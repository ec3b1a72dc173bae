"""A store with many entries, and a mill that serves them as lines: how much does it grow meanwhile?"""

import asyncio
import http.client
import resource
import sys
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace
from tests.integration.engine.stage import PLAIN
from tests.integration.store.refreshes import NOON, an_entry, new_feed, poll

from feedmill.app import open_world
from feedmill.config import Config, StoreConfig
from feedmill.doors.rest.serving import rest_server
from feedmill.engine.watch import Watch
from feedmill.observe import log

_TEXT = "word " * 180
_PER_DOCUMENT = 1_000


async def fill_store(home: Path, count: int) -> None:
    """Entries of about a kilobyte, a thousand of them in each feed."""
    async with open_world(_config(home)) as world:
        for number in range(count // _PER_DOCUMENT):
            feed, _ = await world.store.add_feed(new_feed(number))
            entries = [an_entry(f"{number}-{n}", _TEXT) for n in range(_PER_DOCUMENT)]
            await poll(world.store, feed, 1, entries, at=NOON)


async def main(home: Path) -> None:
    """Read some pages to warm up, then everything; the number of lines and the kilobytes grown."""
    log.set_up("error")
    async with (
        open_world(_config(home)) as world,
        rest_server(world, Watch("the child"), port=0) as base,
    ):
        await asyncio.to_thread(read, base, 3 * _PER_DOCUMENT)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        lines = await asyncio.to_thread(read, base, sys.maxsize)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(f"{lines} {after - before}\n")


def read(base: str, most: int) -> int:
    """Take up to so many lines; how many there were."""
    host, _, port = base.removeprefix("http://").rpartition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=30)) as connection:
        headers = {"Accept": "application/x-ndjson"}
        connection.request("GET", "/entries?limit=1000", headers=headers)
        answer = connection.getresponse()
        count = 0
        while count < most and answer.readline():
            count += 1
        return count


def _config(home: Path) -> Config:
    return replace(PLAIN, store=StoreConfig(home=str(home)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
