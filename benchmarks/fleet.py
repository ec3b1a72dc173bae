"""`make bench-fleet`: polls per second of 1, 2 and 4 real workers on one PostgreSQL, end to end.

    python -m benchmarks.fleet [--quick] [--json] [--only 304,mixed]

Every contender is started as a person would start it: `feedmill worker` on PostgreSQL, so many of them,
and `feedmill run` on SQLite for comparison. They take turns. Each pass makes every feed due and lasts
from the first commit to the last: claim, request, verdict, raw bytes, reading, decision, commit,
release. The publishers are on loopback, with two feeds on each of a thousand hosts; gaps between
requests are switched off. Both stores are as they come: PostgreSQL with fsync for every commit, SQLite
without.

Publishers, workers and PostgreSQL share the cores of one machine, so more workers are not faster by the
wall clock once these are busy. What a poll costs the workers and what it costs PostgreSQL are counted
apart, in CPU time: that is what larger machines are reckoned from.
"""

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from benchmarks.contestants import Publisher
from benchmarks.fleet_process import Fleet, settings
from benchmarks.footprint import server_cpu_sec, table_bytes
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.model.feed import NewFeed
from feedmill.model.schedule import ScheduleState

PUBLISHERS: Final = 4  # of 254 hosts each
QUIET_SEC: Final = 10.0
WARM_UP: Final = 400  # feeds
_PATIENCE_SEC: Final = 400.0
_LATER: Final = timedelta(days=1)
_LOOK_SEC: Final = 0.02
_LAST_FETCH: Final = (
    "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM fetches_fetch_no_seq"
)
_TABLES: Final = {
    "a fetch": (("fetches",), "fetches"),
    "an entry": (("entries", "entry_identities", "articles", "entry_revisions"), "entries"),
    "an event": (("events", "outbox"), "events"),
    "a feed": (("feeds", "feed_sched", "feed_aliases", "header_blocks", "lanes"), "feeds"),
}

Figures = dict[str, float]


class Size(NamedTuple):
    """How much is polled."""

    feeds: int
    passes: int
    workers: tuple[int, ...] = (1, 2, 4)


FULL: Final = Size(feeds=2_032, passes=3)
QUICK: Final = Size(feeds=1_016, passes=1)
LOADS: Final = {"304": ("304s", "0"), "mixed": ("5 % 200s", "20")}


class Ground(NamedTuple):
    """A store that is polled, and what can be told about it."""

    store: PostgresStore | SqliteStore
    address: dict[str, str]  # the settings that lead to it
    server: PostgresServer | None
    dsn: str  # of PostgreSQL, or the path of the file


def main() -> None:
    options = _options()
    size = QUICK if options.quick else FULL
    chosen = options.only.split(",") if options.only else list(LOADS)
    lines: list[tuple[str, Figures]] = []
    for load in chosen:
        name, fresh_every = LOADS[load]
        lines += asyncio.run(measure(name, fresh_every, size, as_json=options.json))
    if options.json:
        print(json.dumps(dict(lines)))


async def measure(
    name: str, fresh_every: str, size: Size, *, as_json: bool
) -> list[tuple[str, Figures]]:
    """All contenders in turns against publishers of one kind."""
    out = sys.stderr if as_json else sys.stdout
    with ExitStack() as stack:
        publishers = [
            stack.enter_context(Publisher("--fresh-every", fresh_every)) for _ in range(PUBLISHERS)
        ]
        urls = [url for one in publishers for url in one.urls(size.feeds // PUBLISHERS)]
        file, postgres = await _sqlite(stack), await _postgres(stack)
        found: dict[str, list[Figures]] = {}
        for ground in (file, postgres):
            await _subscribe(ground.store, urls)
            await _pass(ground, 1, size.feeds)  # every document is new
            await _pass(ground, 1, size.feeds)
        for _ in range(size.passes):
            for workers in (0, *size.workers):
                ground = postgres if workers else file
                label = f"{name}, {workers or 1} × {'worker' if workers else 'run'}"
                figures = await _pass(ground, max(1, workers), size.feeds)
                found.setdefault(label, []).append(figures)
        lines = [(label, _middle(figures)) for label, figures in found.items()]
        print(_HEADER, file=out)
        for label, figures in lines:
            print(_row(label, figures), file=out, flush=True)
        lines += await _idle(name, postgres, out)
        lines += await _sizes(name, postgres, out)
        await asyncio.gather(file.store.close(), postgres.store.close())
    return lines


async def _sqlite(stack: ExitStack) -> Ground:
    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="feedmill-bench-"))
    path = Path(home) / "feedmill.db"
    return Ground(await SqliteStore.open(path, gap_ms=0), settings(home, None), None, str(path))


async def _postgres(stack: ExitStack) -> Ground:
    home = stack.enter_context(tempfile.TemporaryDirectory(prefix="feedmill-bench-"))
    server = stack.enter_context(PostgresServer())
    dsn = await asyncio.to_thread(migrated_database, server)  # it runs a loop of its own
    return Ground(await PostgresStore.open(dsn, gap_ms=0), settings(home, dsn), server, dsn)


async def _subscribe(store: PostgresStore | SqliteStore, urls: Sequence[str]) -> None:
    clock = SystemClock()
    for at in range(0, len(urls), 50):
        await asyncio.gather(
            *(
                store.add_feed(
                    NewFeed(
                        id=clock.new_id(),
                        url=url,
                        created_at=clock.now(),
                        next_poll_at=clock.now() + _LATER,  # nobody begins before a pass does
                        schedule=ScheduleState(interval_sec=3_600.0),
                    )
                )
                for url in urls[at : at + 50]
            )
        )


async def _pass(ground: Ground, workers: int, feeds: int) -> Figures:
    """Every feed polled once by so many processes, and what that took."""
    role = "run" if ground.server is None else "worker"
    async with Fleet(role, workers, ground.address, ground.store) as fleet:
        await _warm_up(ground)
        before = await _fetched(ground)
        await ground.store.make_due(None, SystemClock().now())
        cpu, server_cpu = fleet.cpu_sec(), _server_cpu(ground)
        began = await _until(ground, before + 1)
        ended = await _until(ground, before + feeds)
        figures = {
            "polls_each_sec": (feeds - 1) / (ended - began),
            "worker_us": (fleet.cpu_sec() - cpu) / feeds * 1e6,
            "server_us": (_server_cpu(ground) - server_cpu) / feeds * 1e6,
        }
    if (done := await _fetched(ground) - before) != feeds:
        message = f"{done} fetches of {feeds} feeds"
        raise RuntimeError(message)
    return figures


async def _warm_up(ground: Ground) -> None:
    """Some polls first: connections are open and statements prepared, as after the first minute."""
    page = await ground.store.feeds(limit=WARM_UP)
    before = await _fetched(ground)
    await ground.store.make_due([feed.id for feed in page.items], SystemClock().now())
    await _until(ground, before + len(page.items))
    await _until_released(ground)


async def _until_released(ground: Ground) -> None:
    """A feed that is made due while its lane is held could be overtaken by that poll's commit."""
    async with asyncio.timeout(_PATIENCE_SEC):
        while any(view.lanes for view in await ground.store.workers()):  # noqa: ASYNC110  # as above
            await asyncio.sleep(_LOOK_SEC)


async def _idle(name: str, ground: Ground, out: Any) -> list[tuple[str, Figures]]:  # noqa: ANN401  # a stream
    """What a worker costs while nothing is due."""
    patient = ground.address | {"FEEDMILL_RUN_IDLE_SEC": "1.0"}  # as it comes
    async with Fleet("worker", 1, patient, ground.store) as fleet:
        await _warm_up(ground)
        cpu, server_cpu, began = fleet.cpu_sec(), _server_cpu(ground), time.monotonic()
        await asyncio.sleep(QUIET_SEC)
        quiet = time.monotonic() - began
        figures = {
            "worker_ms_each_sec": (fleet.cpu_sec() - cpu) / quiet * 1e3,
            "server_ms_each_sec": (_server_cpu(ground) - server_cpu) / quiet * 1e3,
        }
    told = "{worker_ms_each_sec:.1f} ms of CPU a second, PostgreSQL {server_ms_each_sec:.1f} ms"
    print(f"one worker with nothing to do: {told.format(**figures)}", file=out, flush=True)
    return [(f"{name}, idle", figures)]


async def _sizes(name: str, ground: Ground, out: Any) -> list[tuple[str, Figures]]:  # noqa: ANN401  # a stream
    """Bytes of each kind of row, with its indexes."""
    assert ground.server is not None
    await ground.store.events(after=0, limit=1)  # numbers are given
    for table in {table for tables, _ in _TABLES.values() for table in tables}:
        ground.server.run_sql(f"VACUUM {table}", dsn=ground.dsn)
    counts = await ground.store.counts()
    figures = {
        what: table_bytes(ground.server, ground.dsn, *tables) / max(1, counts[counted])
        for what, (tables, counted) in _TABLES.items()
    }
    told = ", ".join(f"{what} {each:,.0f}" for what, each in figures.items())
    print(f"bytes in PostgreSQL after {counts['fetches']:,} fetches: {told}", file=out, flush=True)
    return [(f"{name}, bytes", figures)]


async def _until(ground: Ground, fetches: int) -> float:
    """The moment at which there are so many fetches."""
    async with asyncio.timeout(_PATIENCE_SEC):
        while await _fetched(ground) < fetches:  # noqa: ASYNC110  # it happens in other processes
            await asyncio.sleep(_LOOK_SEC)
    return time.monotonic()


async def _fetched(ground: Ground) -> int:
    """How many fetches there are, without counting them."""
    if ground.server is None:
        with closing(sqlite3.connect(ground.dsn)) as connection:
            (last,) = connection.execute("SELECT max(fetch_no) FROM fetches").fetchone()
            return int(last or 0)
    assert isinstance(ground.store, PostgresStore)
    return int(await ground.store.database.read(lambda c: c.fetchval(_LAST_FETCH)))


def _server_cpu(ground: Ground) -> float:
    return 0.0 if ground.server is None else server_cpu_sec(ground.server)


def _middle(figures: Sequence[Figures]) -> Figures:
    return {name: median(one[name] for one in figures) for name in figures[0]}


_HEADER: Final = f"{'what':28} {'polls/s':>8} {'worker µs':>10} {'server µs':>10} {'both µs':>9}"


def _row(label: str, figures: Figures) -> str:
    worker, server = figures["worker_us"], figures["server_us"]
    rate = figures["polls_each_sec"]
    return f"{label:28} {rate:8,.0f} {worker:10,.0f} {server:10,.0f} {worker + server:9,.0f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Polls per second of several workers")
    parser.add_argument("--quick", action="store_true", help="fewer feeds and passes")
    parser.add_argument("--json", action="store_true", help="figures for a program")
    parser.add_argument("--only", default="", help=f"of {','.join(LOADS)}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
