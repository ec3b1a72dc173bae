"""`make bench-push`: what push is worth and what it withstands, on both stores, over real sockets on loopback.

    python -m benchmarks.push [--seconds 5] [--rate 10000] [--stores sqlite postgres]

delay      from the publication of an entry, which its hub sends at once, to its event in the log
a day      requests to a feed whose hub pushes every hour, and to the same feed without a hub
dead hub   what is said and how soon the feed is polled again after its hub has stopped
flood      pings of strangers in another process, with unknown callbacks and with a known one and forged signatures,
           while the hub goes on: nothing is lost, and the publisher is not asked more often. What the listener
           does not get to stays unread in the buffers of its sockets, so sent and answered are counted apart
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.support.engine_harness import Stage
from tests.support.feed_documents import item, rss
from tests.support.push_harness import (
    callback,
    ping,
    publish_items,
    push_mill,
    pushed_feed,
    subscription,
)
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import wait_for_answer

from feedmill.engine.service.hosts import feed_push
from feedmill.model.feed import Feed

_PINGS: Final = 30
_CONNECTIONS: Final = 4
_TICK_SEC: Final = 0.02
_LIMITS: Final = {"pings_per_sec": 5.0, "hint_gap_sec": 60.0}


def main() -> int:
    """Measure, or be the strangers."""
    parser = argparse.ArgumentParser(description="push: delay, requests, trust, floods")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--flood", nargs=2, metavar=("PORT", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.flood:
        port, path = options.flood
        print(json.dumps(asyncio.run(_flood(int(port), path, options.seconds, options.rate))))
        return 0
    with ExitStack() as servers:
        for store in options.stores:
            url = None
            if store == "postgres":
                server = servers.enter_context(PostgresServer())
                url = migrated_database(server)
            with tempfile.TemporaryDirectory(prefix="feedmill-push-") as folder:
                asyncio.run(_measure(store, Path(folder), url, options))
    return 0


async def _measure(name: str, home: Path, url: str | None, options: argparse.Namespace) -> None:
    async with push_mill(home / "delay", store_url=url, push={"hint_gap_sec": 60.0}) as stage:
        feed = await pushed_feed(stage)
        await _delays(name, stage, feed)
        await _day(name, stage, feed)
        await _dead_hub(name, stage, feed)
        await stage.services.store.remove_feed(feed.id)
    async with push_mill(home / "flood", store_url=url, push=_LIMITS) as stage:
        await _withstand(name, stage, await pushed_feed(stage), options)


async def _delays(name: str, stage: Stage, feed: Feed) -> None:
    found, store, waits = await subscription(stage, feed), stage.services.store, list[float]()
    for number in range(2, _PINGS + 2):
        stage.later(minutes=1)
        after, began = await store.last_seq(), time.perf_counter()
        await ping(stage, found, rss(item(number)))
        await wait_for_answer(
            partial(store.events, after=after, limit=10),
            lambda events: any(one.type == "new_entry" for one in events),
            "the event",
        )
        waits.append(time.perf_counter() - began)
    print(
        f"{name}: delay of {_PINGS} entries: median {median(waits) * 1000:.0f} ms,"
        f" longest {max(waits) * 1000:.0f} ms"
    )


async def _day(name: str, stage: Stage, feed: Feed) -> None:
    """A day in which the hub pushes an entry every hour, with everything that is due in between."""
    found, before = await subscription(stage, feed), len(stage.requests())
    await publish_items(stage, feed, *range(1, _PINGS + 2))
    await stage.poll(feed)
    asked = len(stage.requests())
    for hour in range(24):
        stage.later(hours=1)
        number = 1_000 + hour
        await ping(stage, found, rss(item(number)))
        await publish_items(stage, feed, number, number - 1, number - 2)
        stage.later(seconds=1)
        await stage.pass_once()
    pushed = len(stage.requests()) - asked
    entries = len(await stage.entries(feed))
    assert entries == _PINGS + 1 + 24, entries
    assert asked == before + 1
    print(f"{name}: a day with 24 entries by push: {pushed} requests to the feed, no entry missing")


async def _dead_hub(name: str, stage: Stage, feed: Feed) -> None:
    wait = await stage.wait_until_due(feed)
    await publish_items(stage, feed, 2_000, 1_023)
    stage.later(seconds=wait / timedelta(seconds=1) + 1)
    await stage.pass_once()
    said = await feed_push(await stage.feed(feed), stage.services)
    again = await stage.wait_until_due(feed)
    assert not said.trusted
    assert len(await stage.entries(feed, text="2000")) == 1
    print(
        f"{name}: dead hub: found by the safety poll after {wait}; next poll in {again}; {said.words}"
    )


async def _withstand(name: str, stage: Stage, feed: Feed, options: argparse.Namespace) -> None:
    found, asked, waits = await subscription(stage, feed), len(stage.requests()), list[float]()
    port = stage.config.push.port
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.push", "--seconds", str(options.seconds)),
        *("--rate", str(options.rate), "--flood", str(port)),
        callback(stage, found).rpartition(str(port))[2],
        stdout=asyncio.subprocess.PIPE,
    )
    cpu = time.process_time()
    flooding, number, began = asyncio.create_task(process.communicate()), 1, stage.clock.now()
    while not flooding.done():
        number += 1
        stage.later(seconds=1)
        sent = time.perf_counter()
        # Strangers who know the callback may use up its rate: a hub sends again, and so does this one.
        await wait_for_answer(
            partial(ping, stage, found, rss(item(number))),
            lambda answer: answer.status_code == 202,
            "a place for the ping",
        )
        waits.append(time.perf_counter() - sent)
        await stage.pass_once()
    report = json.loads((await flooding)[0])
    answered = sum(report["codes"].values())
    cpu = (time.process_time() - cpu) / answered
    minutes = (stage.clock.now() - began) / timedelta(minutes=1)
    entries, requests = len(await stage.entries(feed)), len(stage.requests()) - asked
    assert entries == number, (entries, number)
    assert requests <= minutes + 1, requests
    print(
        f"{name}: flood: {report['sent'] / report['seconds']:,.0f} pings a second sent for"
        f" {report['seconds']:.1f} s, {answered / report['seconds']:,.0f} a second answered ({report['codes']}), the others unread, at {cpu * 1e6:.0f} µs of CPU each,"
        f" all work included; meanwhile {number - 1} entries"
        f" by push, all stored, median {median(waits) * 1000:.0f} ms; {requests} requests to the feed"
    )


async def _flood(port: int, path: str, seconds: float, rate: int) -> dict[str, Any]:
    """Pings of strangers on a few connections, as many at once as the rate needs."""
    codes: Counter[str] = Counter()
    began = time.perf_counter()
    sent = sum(
        await asyncio.gather(
            *(
                _stranger(port, path, began + seconds, rate // _CONNECTIONS, codes, number)
                for number in range(_CONNECTIONS)
            )
        )
    )
    return {"sent": sent, "seconds": time.perf_counter() - began, "codes": dict(codes)}


async def _stranger(
    port: int, path: str, until: float, rate: int, codes: Counter[str], number: int
) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    target = path if number == 0 else f"/push/{number:043}"
    request = (
        f"POST {target} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature: sha256={'0' * 64}\r\n"
        "Content-Length: 6\r\n\r\nforged"
    ).encode()
    counting = asyncio.create_task(_count(reader, codes))
    batch, sent, began = max(1, int(rate * _TICK_SEC)), 0, time.perf_counter()
    while time.perf_counter() < until:
        writer.write(request * batch)
        with suppress(TimeoutError):  # the server reads no faster
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + _TICK_SEC):
                await writer.drain()
                sent += batch
        await asyncio.sleep(max(0.0, began + sent / rate - time.perf_counter()))
    writer.transport.abort()
    await counting
    return sent


async def _count(reader: asyncio.StreamReader, codes: Counter[str]) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            codes[head[9:12].decode()] += 1
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))


if __name__ == "__main__":
    sys.exit(main())
