"""`python -m benchmarks.bus`: how many events per second the relay brings to each bus.

    python -m benchmarks.bus [--events 20000] [--window 500]

The whole way: read from the SQLite log, made into CloudEvents, handed over, every one acknowledged,
the cursor moved. The servers are those of the tests, on loopback and on the same cores; Kafka is
librdkafka's mock cluster, in this very process and without a disk. Rates move with whatever else
the machine does; CPU time per event, of this process alone, moves less.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final, Protocol

from tests.support.bus_readers import mock_kafka
from tests.support.servers.nats import NatsServer
from tests.support.servers.valkey import ValkeyServer

from feedmill.app.services import make_bus, open_services
from feedmill.config import BusConfig, Config, StoreConfig
from feedmill.engine.deliver.to_sinks import relay_pending
from feedmill.engine.run.services import Services
from feedmill.model.event import NewEvent
from feedmill.model.feed import NewFeed
from feedmill.model.schedule import ScheduleState

_BLOCK: Final = 5_000
_FEEDS: Final = [f"feed-{number}" for number in range(100)]


class _Served(Protocol):
    @property
    def url(self) -> str: ...


_SERVERS: Final[dict[str, Callable[[], AbstractContextManager[_Served]]]] = {
    "NATS, one server, sync every 2 min": NatsServer,
    "NATS, one server, sync always": lambda: NatsServer(sync_interval="always"),
    "Valkey, fsync every second": ValkeyServer,
    "Valkey, fsync always": lambda: ValkeyServer(fsync="always"),
    "Kafka, mock of three brokers": lambda: nullcontext(mock_kafka()),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line for each bus."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--window", type=int, default=500)
    options = parser.parse_args(arguments)
    for name, start in _SERVERS.items():
        with start() as server, TemporaryDirectory() as folder:
            bus = BusConfig(url=server.url, window=options.window)
            rate, cpu = asyncio.run(_measure(Path(folder), bus, options.events))
        print(f"{name:36} {rate:9,.0f} events/s   {cpu * 1e6:6.0f} µs CPU each", flush=True)
    return 0


async def _measure(home: Path, bus: BusConfig, count: int) -> tuple[float, float]:
    async with open_services(Config(bus=bus, store=StoreConfig(home=str(home)))) as services:
        for _ in range(0, count, _BLOCK):
            await _write(services, min(_BLOCK, count))
        sink = make_bus(services.config)
        began, spent = perf_counter(), process_time()
        done = await relay_pending(services.store, sink, services.config.bus)
        took, cpu = perf_counter() - began, process_time() - spent
        await sink.close()
    return done / took, cpu / done


async def _write(services: Services, count: int) -> None:
    """Events like those of new entries: about 600 octets with their envelope."""
    now, feed_id = services.clock.now(), services.clock.new_id()
    new = NewFeed(
        id=feed_id,
        url=f"https://paper.example/{feed_id}",
        created_at=now,
        next_poll_at=now + timedelta(days=1),
        schedule=ScheduleState(interval_sec=900.0),
    )
    told = [
        NewEvent(
            type="new_entry",
            feed_id=feed,
            occurred_at=now,
            entry_uid=f"{feed_id}-{number}",
            data={
                "entry_uid": f"{feed_id}-{number}",
                "feed_id": feed,
                "published": now,
                "canonical_link": f"https://paper.example/articles/{number}/a-title-in-words",
                "raw_refs": [{"fetch_id": feed_id, "offset": 4_096, "length": 1_800}],
                "ingested_at": now,
                "title": "A title of the usual length, with a few words more than it needs",
                "duplicate_article": False,
            },
        )
        for number, feed in enumerate(islice(cycle(_FEEDS), count))
    ]
    await services.store.add_feed(new, told)


if __name__ == "__main__":
    sys.exit(main())
