"""One mill as a process of its own, driven line by line: the part of `mill.py` that is measured.

Each line on standard input is a JSON command, each answer one line of JSON. The process ends when
its input does. What is measured is the whole engine as `feedmill run` puts it together: fetcher,
raw store, SQLite, decisions, events, metrics and log.
"""

import asyncio
import cProfile
import json
import os
import pstats
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

import asyncpg
import uvloop
from msgspec.structs import replace

from feedmill.app.services import open_services
from feedmill.app.settings import owner_name, set_up_logging
from feedmill.config import (
    Config,
    FetchConfig,
    HostConfig,
    ObserveConfig,
    RunConfig,
    StoreConfig,
)
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.report import RefreshReport
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.model.feed import Feed, NewFeed
from feedmill.model.refresh import Committed, Refresh
from feedmill.observe.log import logger
from feedmill.observe.metrics import Metrics
from feedmill.schedule.interval import initial_state

_WAVE: Final = 500
_PROFILE_LINES: Final = 45


def main() -> None:
    options = json.loads(sys.argv[1])
    if options["core"] is not None:
        os.sched_setaffinity(0, {options["core"]})
    if not options.get("figures", True):
        _leave_figures_out()
    set_up_logging(-1, as_json=False)  # the warning about open networks is not news here
    uvloop.run(_serve(options))


def _leave_figures_out() -> None:
    """Commit as before there were figures: the next run is set, and nothing is counted."""
    from feedmill.adapters.store.sqlite import commit
    from feedmill.adapters.store.tables.codec import micros
    from feedmill.adapters.store.tables.running.figures import TotalsWriter

    def only_reschedule(
        connection: sqlite3.Connection, feed_no: int, refresh: Refresh, _: object
    ) -> None:
        due_at = micros(refresh.feed.next_poll_at)
        connection.execute(
            "UPDATE feed_sched SET next_run_at = ? WHERE feed_no = ?", (due_at, feed_no)
        )

    vars(commit)["_count"] = only_reschedule
    vars(commit)["poll_values"] = lambda *_: ()
    TotalsWriter.add = lambda *_: None  # type: ignore[method-assign]


async def _serve(options: dict[str, Any]) -> None:
    async with open_services(_config(options)) as services:
        mill = Mill(services, _scales(services.config.store))
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            answer = await getattr(mill, command.pop("do"))(**command)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def _config(options: dict[str, Any]) -> Config:
    fetch = FetchConfig(allow_cidrs=("127.0.0.0/8",), ca_file=options["ca_file"])
    run = RunConfig()
    if options["concurrency"] is not None:
        run = replace(run, concurrency=options["concurrency"])
    if options["parse_in_thread_bytes"] is not None:
        run = replace(run, parse_in_thread_bytes=options["parse_in_thread_bytes"])
    return Config(
        fetch=fetch,
        run=run,
        host=HostConfig(min_gap_ms=0, rps=0.0),
        store=StoreConfig(home=options["home"], url=options.get("url")),
        observe=ObserveConfig(otlp_endpoint=options.get("otlp_endpoint")),
    )


class Mill:
    """The commands; every one is a coroutine that answers with plain data."""

    def __init__(self, services: Services, scales: "SqliteScales | PostgresScales") -> None:
        self.services = services
        self._scales = scales
        self._traces = services.traces
        self.report = RefreshReport(logger("refresh"), Metrics())
        self.profile = cProfile.Profile()
        self.feed_ids: list[str] = []
        self.outcomes: Counter[str] = Counter()

    async def trace(self, *, on: bool) -> dict[str, Any]:
        """Poll with traces or without, in one process: two processes differ by more than traces cost."""
        self.services = self.services._replace(traces=self._traces if on else None)
        return {}

    async def subscribe(self, urls: list[str]) -> dict[str, Any]:
        """Subscribe as `feedmill add` does."""
        for wave in _waves(urls):
            made = await asyncio.gather(*(subscribe_unchecked(url, self.services) for url in wave))
            self.feed_ids += [one.feed.id for one in made]
        return {"feeds": len(self.feed_ids)}

    async def fill(self, count: int, first: int = 0) -> dict[str, Any]:
        """Other feeds on other hosts that are not due for a long time."""
        began = time.perf_counter()
        for numbers in _waves(range(first, first + count)):
            feeds = (_sleeper(number, self.services) for number in numbers)
            await asyncio.gather(*(self.services.store.add_feed(feed) for feed in feeds))
        return {"filled": count, "wall": time.perf_counter() - began}

    async def due(self) -> dict[str, Any]:
        """Make our feeds due, for whoever claims them."""
        now = self.services.clock.now()
        return {"due": await self.services.store.make_due(self.feed_ids, now)}

    async def work(
        self, due: bool = True, profiled: bool = False, weighed: bool = False
    ) -> dict[str, Any]:
        """One complete pass: our feeds are made due, then polled and committed; `weighed`: what it wrote."""
        self.outcomes.clear()
        watch = Lifecycle(owner_name(), (self.report.refreshed, self._count))
        if due:
            await self.due()
        if weighed:
            await self._scales.begin()
        meter = Meter()
        if profiled:
            self.profile.enable()
        await run_once(self.services, watch)
        self.profile.disable()
        figures = meter.read()
        if weighed:
            figures |= await self._scales.end()
        return figures | {"polls": sum(self.outcomes.values()), "outcomes": dict(self.outcomes)}

    async def show_profile(self) -> dict[str, Any]:
        """Where the event loop's thread spent its time, on standard error."""
        statistics = pstats.Stats(self.profile, stream=sys.stderr)
        statistics.sort_stats("tottime").print_stats(_PROFILE_LINES)
        return {}

    async def totals(self) -> dict[str, Any]:
        """What is in the store now."""
        return dict(await self.services.store.counts())

    def _count(self, _before: Feed, result: Refresh, committed: Committed) -> None:
        lost = "fenced" if committed.fenced else "duplicate" if committed.duplicate else ""
        self.outcomes[lost or result.fetch.outcome] += 1


class Meter:
    """Wall clock, our CPU time, and how long our core worked for others meanwhile."""

    def __init__(self) -> None:
        cores = os.sched_getaffinity(0)
        self._core = next(iter(cores)) if len(cores) == 1 else None
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self._busy = _busy_sec(self._core)

    def read(self) -> dict[str, float]:
        """Seconds since the meter was made."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        others = max(0.0, _busy_sec(self._core) - self._busy - cpu)
        return {"wall": wall, "cpu": cpu, "others": min(others, wall - cpu if wall > cpu else 0.0)}


def _scales(store: StoreConfig) -> "SqliteScales | PostgresScales":
    if store.url is not None:
        return PostgresScales(store.url)
    return SqliteScales(Path(store.home) / "feedmill.db")


class SqliteScales:
    """Bytes that go into the log of one SQLite file, and bytes that stay in the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def begin(self) -> None:
        """Empty the log and hold on to this state, so that no checkpoint lets the log begin anew."""
        self._holder = sqlite3.connect(self._path, isolation_level=None)
        self._holder.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._size = self._path.stat().st_size
        self._holder.execute("BEGIN")
        self._holder.execute("SELECT 1 FROM sqlite_schema").fetchone()

    async def end(self) -> dict[str, Any]:
        """Both since the beginning."""
        log = self._path.with_name(f"{self._path.name}-wal").read_bytes()
        self._holder.execute("COMMIT")
        self._holder.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = self._pages(log)
        self._holder.close()
        return {"wal": len(log), "kept": self._path.stat().st_size - self._size, "pages": pages}

    def _pages(self, log: bytes) -> dict[str, int]:
        """How many pages of each table and index the log holds (https://www.sqlite.org/walformat.html)."""
        names = dict(self._holder.execute("SELECT pageno, name FROM dbstat"))
        names[1] = "(page 1)"
        page_bytes = int.from_bytes(log[8:12], "big")
        found: Counter[str] = Counter()
        for at in range(32, len(log), 24 + page_bytes):
            page_no, commit = (int.from_bytes(log[at + n : at + n + 4], "big") for n in (0, 4))
            found[names.get(page_no, "(free)")] += 1
            found["(transactions)"] += commit > 0
        return dict(found)


class PostgresScales:
    """The same of a PostgreSQL that nobody else uses."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def begin(self) -> None:
        """Note where the log and the size stand, after a checkpoint as a long run has them."""
        self._lsn, self._size = await self._look()

    async def end(self) -> dict[str, Any]:
        """Both since the beginning."""
        lsn, size = await self._look()
        return {"wal": lsn - self._lsn, "kept": size - self._size}

    async def _look(self) -> tuple[int, int]:
        connection = await asyncpg.connect(self._url)
        try:
            row = await connection.fetchrow(
                "SELECT pg_current_wal_lsn() - '0/0', pg_database_size(current_database())"
            )
        finally:
            await connection.close()
        assert row is not None
        return int(row[0]), int(row[1])


def _busy_sec(core: int | None) -> float:
    if core is None:
        return 0.0
    name = f"cpu{core} "
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    fields = next(line for line in lines if line.startswith(name)).split()[1:]
    busy = sum(int(fields[at]) for at in (0, 1, 2, 5, 6, 7))  # all but idle and iowait
    return busy / os.sysconf("SC_CLK_TCK")


def _sleeper(number: int, services: Services) -> NewFeed:
    now = services.clock.now()
    url = f"https://host{number % 20_000}.example/feed/{number}"
    return NewFeed(
        id=services.clock.new_id(),
        url=url,
        created_at=now,
        next_poll_at=now + timedelta(days=30, seconds=number),
        schedule=initial_state(services.config.schedule),
        aliases=(url,),
    )


def _waves(values: Iterable[Any]) -> Iterable[list[Any]]:
    source = iter(values)
    while wave := list(islice(source, _WAVE)):
        yield wave


if __name__ == "__main__":
    main()
