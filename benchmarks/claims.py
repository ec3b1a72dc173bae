"""`make bench-claims`: what claiming and releasing costs with ever more feeds, on PostgreSQL and SQLite.

    python -m benchmarks.claims [--quick] [--json] [--only postgres,sqlite,long]

The stores are filled in bulk: half of the feeds on hosts of their own, a tenth on hosts of 500. Each pass
makes the same number of lanes due, and claimers (tasks of one process, or of two) claim 64 lanes at a time
and release every one of them as the engine does, a transaction each; with `304`, every due feed is also
committed. Stores of all sizes take turns in each round; medians of the rounds are shown. Both
databases are durable: fsync for every commit. Everything is on the same cores: the figures that
travel are those per CPU-second, and the ratios.

- *backlog*: many lanes are due. *sparse*: about 50 are.
- *nothing due*: what a claim costs that finds nothing.
- *long*: somebody's transaction stays open, so that nothing dead can be tidied up.
"""

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import asyncpg
from benchmarks.bulk import fill_postgres, fill_sqlite
from benchmarks.contestants import Contestant
from benchmarks.footprint import server_cpu_sec, table_bytes
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.sqlite.store import SqliteStore

_SUBSCRIBED: Final = ("feeds", "feed_sched", "feed_aliases", "header_blocks", "lanes")
_DUE: Final = "SELECT claim_at FROM lanes ORDER BY claim_at LIMIT {}"
# Room for the hot tables of a million feeds, and seldom a checkpoint: after each, the first change of a page writes all of it.
_SETTINGS: Final = {"shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
_BEGIN_AT: Final = SystemClock().now()

Figures = dict[str, Any]


class Size(NamedTuple):
    """How much is claimed."""

    feeds: tuple[int, ...]
    lanes: int  # due in each pass
    steps: int  # claims of a sparse pass
    rounds: int
    long_passes: int  # of each, with marks and without


FULL: Final = Size((10_000, 100_000, 1_000_000), lanes=4_000, steps=60, rounds=3, long_passes=10)
QUICK: Final = Size((4_000, 40_000), lanes=1_500, steps=15, rounds=1, long_passes=2)
SPARSE_LANES: Final = 50


class Scenario(NamedTuple):
    """How the claimers work in one pass."""

    name: str
    processes: int
    claimers: int  # of each process
    commits: bool = False
    is_sparse: bool = False
    apart: bool = False  # every lane is given back in a transaction of its own


SCENARIOS: Final = (
    Scenario("backlog, 1 claimer", 1, 1),
    Scenario("backlog, 4 claimers", 1, 4),
    Scenario("backlog, 4 claimers, each release alone", 1, 4, apart=True),
    Scenario("backlog, 8 claimers", 1, 8),
    Scenario("backlog, 2 processes of 4", 2, 4),
    Scenario("sparse, 1 claimer", 1, 1, is_sparse=True),
    Scenario("backlog, 4 claimers, 304", 1, 4, commits=True),
    Scenario("backlog, 2 processes of 4, 304", 2, 4, commits=True),
)


class Filled(NamedTuple):
    """A store with feeds and the processes that work on it."""

    feeds: int
    workers: tuple[Contestant, ...]
    due: Callable[[int], list[int]]  # when the next so many lanes are due
    server_cpu: Callable[[], float]
    fetch_bytes: Callable[[], int]
    dsn: str = ""  # of PostgreSQL


class Line(NamedTuple):
    """One row of the table."""

    store: str
    what: str
    feeds: int
    figures: Figures


def main() -> None:
    options = _options()
    size = QUICK if options.quick else FULL
    chosen = options.only.split(",") if options.only else ["postgres", "sqlite", "long"]
    lines: list[Line] = []
    with ExitStack() as stack:
        if {"postgres", "long"} & set(chosen):
            server = stack.enter_context(PostgresServer(settings=_SETTINGS))
            feeds = size.feeds if "postgres" in chosen else size.feeds[-1:]
            stores = _postgres(stack, server, feeds)
            if "postgres" in chosen:
                lines += _measure("PostgreSQL", stores, size)
            if "long" in chosen:
                lines += _long(server, stores[-1], size)
        if "sqlite" in chosen:
            lines += _measure("SQLite", _sqlite(stack, size.feeds), size)
    if options.json:
        print(json.dumps([line._asdict() for line in lines]))


def _postgres(stack: ExitStack, server: PostgresServer, sizes: Sequence[int]) -> list[Filled]:
    stores = []
    for feeds in sizes:
        dsn = migrated_database(server)
        asyncio.run(fill_postgres(dsn, feeds, _BEGIN_AT))
        each = table_bytes(server, dsn, *_SUBSCRIBED) / feeds
        _say(f"PostgreSQL with {feeds:,} feeds: {each:,.0f} bytes a feed")
        stores.append(
            Filled(
                feeds,
                tuple(_worker(stack, number, dsn=dsn, marks=True) for number in range(2)),
                partial(_due, server, dsn),
                partial(server_cpu_sec, server),
                partial(table_bytes, server, dsn, "fetches"),
                dsn,
            )
        )
    return stores


def _sqlite(stack: ExitStack, sizes: Sequence[int]) -> list[Filled]:
    stores = []
    for feeds in sizes:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store.db"
        asyncio.run(_make_sqlite(path))
        fill_sqlite(path, feeds, _BEGIN_AT)
        _say(f"SQLite with {feeds:,} feeds: {path.stat().st_size / feeds:,.0f} bytes a feed")
        workers = tuple(_worker(stack, number, path=str(path)) for number in range(2))
        stores.append(
            Filled(feeds, workers, partial(_due_in, path), lambda: 0.0, partial(_size, path))
        )
    return stores


def _measure(store: str, stores: Sequence[Filled], size: Size) -> list[Line]:
    """Every scenario on stores of every size in turns, then what an idle claim costs."""
    _say(_HEADER)
    # The writer of SQLite makes its groups by itself.
    scenarios = [one for one in SCENARIOS if store == "PostgreSQL" or not one.apart]
    found: dict[tuple[Scenario, int], list[Figures]] = {}
    for _ in range(size.rounds):
        for scenario in scenarios:
            for filled in stores:
                figures = _pass(filled, scenario, size)
                found.setdefault((scenario, filled.feeds), []).append(figures)
    lines = [
        Line(store, scenario.name, feeds, _middle(figures))
        for (scenario, feeds), figures in found.items()
    ]
    idle = [Line(store, "nothing due", filled.feeds, _idle(filled, 200)) for filled in stores]
    for line in (*lines, *idle):
        _say(_row(line))
    for scenario in scenarios:
        rates = [line.figures["lanes_each_sec"] for line in lines if line.what == scenario.name]
        costs = [line.figures["lane_us"] for line in lines if line.what == scenario.name]
        _say(
            f"{store}, {scenario.name}: {stores[-1].feeds:,} feeds against {stores[0].feeds:,}:"
            f" {rates[-1] / rates[0]:.2f} × the rate, {costs[-1] / costs[0]:.2f} × the CPU of a lane"
        )
    return [*lines, *idle]


def _pass(filled: Filled, scenario: Scenario, size: Size) -> Figures:
    """Work off what is due, by as many as the scenario says."""
    workers = filled.workers[: scenario.processes]
    names = [str(number) for number in range(scenario.processes)]
    for worker in workers:
        worker.ask("share", live=names)
    if scenario.is_sparse:
        instants = filled.due(SPARSE_LANES * size.steps)[SPARSE_LANES - 1 :: SPARSE_LANES]
        command: Figures = {"do": "steps", "instants": instants, "commits": scenario.commits}
    else:
        now = filled.due(size.lanes)[-1]
        command = {
            "do": "work", "now": now, "claimers": scenario.claimers, "commits": scenario.commits,
            "apart": scenario.apart,
        }  # fmt: skip
    bytes_before, cpu_before = filled.fetch_bytes(), filled.server_cpu()
    for worker in workers:
        worker.tell(**command)
    answers = [worker.hear() for worker in workers]
    grown = filled.fetch_bytes() - bytes_before if scenario.commits else 0
    return _figures(answers, filled.server_cpu() - cpu_before, grown)


def _idle(filled: Filled, times: int) -> Figures:
    worker = filled.workers[0]
    worker.ask("share", live=["0"])
    now = filled.due(1)[0] - 1  # everything that was due has been worked off
    cpu = filled.server_cpu()
    return _figures([worker.ask("look", now=now, times=times)], filled.server_cpu() - cpu, 0)


def _long(server: PostgresServer, largest: Filled, size: Size) -> list[Line]:
    """The largest store, before and while somebody's transaction stays open."""
    server.run_sql("VACUUM lanes", dsn=largest.dsn)
    server.run_sql("VACUUM feed_sched", dsn=largest.dsn)
    with ExitStack() as stack:
        stores = {
            name: largest._replace(
                workers=(_worker(stack, 0, dsn=largest.dsn, marks=marks),), fetch_bytes=lambda: 0
            )
            for name, marks in (("with marks", True), ("without marks", False))
        }
        lines = _take_turns(stores, "nobody else", size, 2)
        runner = stack.enter_context(asyncio.Runner())
        reader = runner.run(_begin_reading(largest.dsn))
        for turn in range(1, size.long_passes + 1):
            is_last = turn == size.long_passes
            held = f"a reader open for {2 * turn * size.lanes:,} leases"
            lines += _take_turns(stores, held, size, 1, is_shown=is_last)
        runner.run(reader.close())
    return lines


def _take_turns(
    stores: dict[str, Filled], held: str, size: Size, rounds: int, *, is_shown: bool = True
) -> list[Line]:
    backlog = Scenario("backlog", 1, 4)
    sparse = Scenario("sparse", 1, 1, is_sparse=True)
    found: dict[str, list[Figures]] = {}
    for _ in range(rounds):
        for name, filled in stores.items():
            for scenario in (backlog, sparse) if is_shown else (backlog,):
                what = f"{scenario.name}, {name}, {held}"
                found.setdefault(what, []).append(_pass(filled, scenario, size))
            if is_shown:
                found.setdefault(f"nothing due, {name}, {held}", []).append(_idle(filled, 40))
    lines = [
        Line("PostgreSQL", what, stores["with marks"].feeds, _middle(figures))
        for what, figures in found.items()
    ]
    shown = sorted(lines, key=lambda line: line.what) if is_shown else []
    for line in shown:
        _say(_row(line))
    return shown


async def _begin_reading(dsn: str) -> "asyncpg.Connection[asyncpg.Record]":
    """A transaction that has looked at something and does not end."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    await connection.execute("SELECT count(*) FROM workers")
    return connection


def _figures(answers: Sequence[Figures], server_cpu: float, grown: int) -> Figures:
    wall = max(answer["wall"] for answer in answers)
    took = sorted(one * 1e3 for answer in answers for one in answer["took"])
    lanes, polls = sum(a["lanes"] for a in answers), sum(a["polls"] for a in answers)
    cpu = sum(answer["cpu"] for answer in answers)
    each = max(1, polls or len(took))
    return {
        "lanes": lanes,
        "lanes_each_sec": lanes / wall,
        "polls_each_sec": polls / wall,
        "p50_ms": took[len(took) // 2] if took else 0.0,
        "p99_ms": took[int(len(took) * 0.99)] if took else 0.0,
        "client_us": cpu / each * 1e6,
        "server_us": server_cpu / each * 1e6,
        "lane_us": (cpu + server_cpu) / max(1, lanes) * 1e6,
        "bytes_each": grown / each,
    }


def _middle(figures: Sequence[Figures]) -> Figures:
    return {name: median(one[name] for one in figures) for name in figures[0]}


_HEADER: Final = (
    f"{'store':10} {'what':62} {'feeds':>9} {'lanes/s':>8} {'polls/s':>8} {'p50 ms':>7}"
    f" {'p99 ms':>7} {'client µs':>9} {'server µs':>9} {'bytes':>6}"
)


def _row(line: Line) -> str:
    f = line.figures
    return (
        f"{line.store:10} {line.what:62} {line.feeds:9,} {f['lanes_each_sec']:8,.0f}"
        f" {f['polls_each_sec']:8,.0f} {f['p50_ms']:7.1f} {f['p99_ms']:7.1f} {f['client_us']:9,.0f}"
        f" {f['server_us']:9,.0f} {f['bytes_each']:6,.0f}"
    )


def _worker(stack: ExitStack, number: int, **options: Any) -> Contestant:  # noqa: ANN401  # JSON
    chosen = {"name": str(number), **options}
    return stack.enter_context(Contestant("benchmarks.claims_process", chosen))


async def _make_sqlite(path: Path) -> None:
    await (await SqliteStore.open(path)).close()


def _due(server: PostgresServer, dsn: str, count: int) -> list[int]:
    return [int(line) for line in server.run_sql(_DUE.format(count), dsn=dsn).splitlines()]


def _due_in(path: Path, count: int) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [due_at for (due_at,) in connection.execute(_DUE.format(count))]


def _size(path: Path) -> int:
    return path.stat().st_size


def _say(text: str) -> None:
    print(text, file=sys.stderr if "--json" in sys.argv else sys.stdout, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What claiming costs with ever more feeds")
    parser.add_argument("--quick", action="store_true", help="fewer feeds, lanes and rounds")
    parser.add_argument("--json", action="store_true", help="one JSON list instead of the table")
    parser.add_argument("--only", default="", help="of postgres, sqlite, long")
    return parser.parse_args()


if __name__ == "__main__":
    main()
