"""Time per page of the console with 100,000 feeds and 1,000,000 entries in SQLite, on one core.

    python -m benchmarks.console                  # fills a store in a temporary folder first
    python -m benchmarks.console --feeds 10000 --entries 100000 --rounds 20
    python -m benchmarks.console --home DIR       # keeps the store, and uses it again

The server, its store and the client share one core. Every page is asked for in turn, round by round, so
that no page profits from its own last answer alone; the first round is not counted.
"""

import argparse
import asyncio
import http.client
import os
import sqlite3
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import msgspec
from benchmarks.bulk import fill_sqlite
from benchmarks.many_entries import COLUMNS, entry_row

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.adapters.store.tables.codec import micros
from feedmill.app.services import DATABASE_NAME, open_services
from feedmill.config import AccessConfig, Config, StoreConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.console.app import make_console
from feedmill.interfaces.rest.server import rest_server
from feedmill.model.running.figures import Figures, Totals
from feedmill.observe import log

Timings = dict[str, list[tuple[float, float]]]  # wall and CPU milliseconds, by page
_BITE: Final = 20_000
_LIMIT_MS: Final = 300.0
_DAYS: Final = 7  # of figures for every feed


def main() -> None:
    """Fill a store unless there is one, serve it, ask for every page, and print a table."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--feeds", type=int, default=100_000)
    reader.add_argument("--entries", type=int, default=1_000_000)
    reader.add_argument("--rounds", type=int, default=40)
    reader.add_argument("--home", type=Path)
    asked = reader.parse_args()
    with suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with TemporaryDirectory() as folder:
        home = asked.home or Path(folder)
        if not (home / DATABASE_NAME).exists():
            fill(home, asked.feeds, asked.entries)
        log.set_up("error")
        found = asyncio.run(_measure(home, asked.rounds))
    slow = _print(found)
    if slow:
        sys.exit(f"over {_LIMIT_MS:.0f} ms of CPU time: {', '.join(slow)}")


def fill(home: Path, feeds: int, entries: int) -> None:
    """A store as it is after months: feeds, entries, articles, figures, fetches, events."""
    began = time.monotonic()
    home.mkdir(parents=True, exist_ok=True)
    asyncio.run(_make(home))
    now = SystemClock().now()
    fill_sqlite(home / DATABASE_NAME, feeds, now)
    with closing(sqlite3.connect(home / DATABASE_NAME, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA foreign_keys = OFF")
        rows = (
            entry_row(number, feeds, now - timedelta(seconds=entries)) for number in range(entries)
        )
        marks = ", ".join("?" * len(COLUMNS))
        _insert(connection, f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({marks})", rows)
        for statement in _REST:
            connection.execute(statement, {"now": micros(now), "day": now.toordinal() - _EPOCH})
        for hours in range(24 * _DAYS):
            start = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours)
            connection.execute(
                "INSERT INTO poll_totals VALUES (?, 3600, 1, ?)", (micros(start), _totals(feeds))
            )
        connection.execute("ANALYZE")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    print(f"filled {home / DATABASE_NAME} in {time.monotonic() - began:.0f} s", file=sys.stderr)


async def _make(home: Path) -> None:
    await (await SqliteStore.open(home / DATABASE_NAME)).close()


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).toordinal()
# One feed in forty fails, one in a hundred is paused, one host in fifty rests.
_REST: Final = (
    (
        "UPDATE feeds SET health = 'backing-off', consecutive_failures = feed_no % 9 + 1,"
        " last_result = 'timeout', last_status = NULL WHERE feed_no % 40 = 0"
    ),
    "UPDATE feeds SET paused = 1 WHERE feed_no % 100 = 1",
    "UPDATE feed_sched SET paused = 1 WHERE feed_no % 100 = 1",
    (
        "UPDATE lanes SET next_ok_at = :now + 3600000000, blocked_reason = 'rate-limited', failures = 3,"
        " failing_with = 'rate-limited' WHERE lane_id % 50 = 0"
    ),
    (
        "INSERT INTO articles (article_hash, article_version, entry_id, link, first_seen)"
        " SELECT article_hash, 'article-1', entry_id, link, first_seen FROM entries"
    ),
    "INSERT INTO feed_tags (tag, feed_no) SELECT 'tag' || (feed_no % 20), feed_no FROM feeds",
    (
        "UPDATE feed_sched SET today = :day, today_polls = 24, today_unchanged = 20,"
        " today_entries_new = feed_no % 30, today_bytes_in = 60000, today_bytes_saved = feed_no * 7,"
        " today_elapsed_ms = 4800, today_elapsed_ms_max = 400, today_interval_sec = 600 + feed_no % 9000,"
        " today_ewma_sec = 900 + feed_no % 80000, today_failed_theirs = feed_no % 40 = 0"
    ),
    (
        "WITH RECURSIVE d(back) AS (SELECT 1 UNION ALL SELECT back + 1 FROM d WHERE back < 7)"
        " INSERT INTO feed_days (day, feed_no, polls, unchanged, entries_new, interval_sec, ewma_sec)"
        " SELECT :day - back, feed_no, 24, 20, feed_no % 30, 900, 3600 FROM d CROSS JOIN feeds"
    ),
    (
        "INSERT INTO feed_failures (day, feed_no, outcome, status, polls)"
        " SELECT :day, feed_no, 'timeout', 0, 3 FROM feeds WHERE feed_no % 40 = 0"
    ),
    (
        "INSERT INTO fetches (fetch_id, feed_no, scheduled_at, fetched_at, outcome, http_status,"
        " request_block, response_block)"
        " SELECT 'fetch-' || feed_no, feed_no, :now - 1, :now, 'unchanged', 304, request_block,"
        " response_block FROM feeds"
    ),
    (
        "INSERT INTO outbox (seq, id, type, feed_id, entry_uid, occurred_at, data)"
        " SELECT row_number() OVER (ORDER BY entry_id), entry_uid, 'new_entry', 'feed-00000001', entry_uid,"
        ' first_seen, \'{"title": "Some title"}\' FROM entries ORDER BY entry_id DESC LIMIT 200000'
    ),
    (
        "INSERT INTO blobs (sha256, segment, offset, length, coding, raw_length)"
        " SELECT id, '0001', feed_no, 100, 'raw', 100 FROM feeds"
    ),
)


def _totals(feeds: int) -> str:
    """The figures of one hour of all feeds, as a process writes them."""
    figures = Figures(polls=feeds, unchanged=feeds * 8 // 10, bytes_saved=feeds * 9_000)
    return msgspec.json.encode(Totals(figures=figures)).decode()


def _insert(connection: sqlite3.Connection, statement: str, rows: Iterator[Any]) -> None:
    while bite := list(islice(rows, _BITE)):
        connection.execute("BEGIN")
        connection.executemany(statement, bite)
        connection.execute("COMMIT")


async def _measure(home: Path, rounds: int) -> Timings:
    """Milliseconds of every answer, by page."""
    config = Config(store=StoreConfig(home=str(home)), access=AccessConfig(requests_per_sec=0))
    watch = Lifecycle("the benchmark")
    async with (
        open_services(config) as services,
        rest_server(services, watch, port=0, console=make_console) as address,
    ):
        port = int(address.rpartition(":")[2])
        pages = await asyncio.to_thread(_pages, port)
        done: Timings = {}
        await asyncio.to_thread(_ask, port, pages, rounds, done)
    return done


def _pages(port: int) -> dict[str, str]:
    """Every page with its path; pages of one thing are those of a feed in the middle."""
    feed = (
        "feed-00050000" if _get(port, "/console/feeds/feed-00050000")[0] == 200 else "feed-00000500"
    )
    body = _get(port, f"/console/feeds/{feed}/entries")[1].decode()
    entry = body.partition('href="/console/entries/')[2].partition('"')[0]
    listed = _get(port, "/console/feeds?order=name")[1].decode()
    cursor = listed.partition("cursor=")[2].partition('"')[0].partition("&")[0]
    return {
        "overview": "/",
        "overview, 7 days": "/?span=week",
        "overview, 30 days": "/?span=month",
        "feeds by name": "/console/feeds",
        "feeds by name, page 2": f"/console/feeds?order=name&cursor={cursor}",
        "feeds, newest": "/console/feeds?order=added&down=1",
        "feeds by next poll": "/console/feeds?order=next-poll",
        "feeds by failures": "/console/feeds?order=failures&down=1",
        "feeds, search": "/console/feeds?text=number+77777",
        "feeds, search nothing": "/console/feeds?text=zebra",
        "feeds of a tag": "/console/feeds?with_tag=tag7",
        "feeds, failing": "/console/feeds?state=failing",
        "one feed": f"/console/feeds/{feed}",
        "entries of a feed": f"/console/feeds/{feed}/entries",
        "polls of a feed": f"/console/feeds/{feed}/fetches",
        "one poll": f"/console/fetches/fetch-{int(feed[5:])}",
        "hosts": "/console/hosts",
        "hosts, troubled": "/console/hosts?troubled=1",
        "one host": "/console/hosts/blog10.example",
        "entries": "/console/entries",
        "entries, common word": "/console/entries?text=the",
        "entries of a tag": "/console/entries?with_tag=tag7",
        "one entry": f"/console/entries/{entry}",
        "articles": "/console/articles",
        "review": "/console/review",
        "log": "/console/log",
        "log of a type": "/console/log?types=feed.added",
        "webhooks": "/console/webhooks",
        "workers": "/console/workers",
        "jobs": "/console/jobs",
        "tokens": "/console/tokens",
        "simulate": "/console/simulate",
    }


def _ask(port: int, pages: dict[str, str], rounds: int, done: Timings) -> None:
    for number in range(rounds + 1):
        for name, path in pages.items():
            began, used = time.perf_counter(), time.process_time()
            status, _ = _get(port, path)
            wall, cpu = time.perf_counter() - began, time.process_time() - used
            assert status == 200, (name, status)
            if number:
                done.setdefault(name, []).append((wall * 1000, cpu * 1000))


def _get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def _print(found: Timings) -> list[str]:
    """One line per page; the pages that are too slow by their CPU time, whatever else the machine does."""
    slow = []
    print(f"{'page':<26}{'median ms':>10}{'p95 ms':>10}{'CPU median':>12}{'CPU p95':>10}")
    for name, taken in found.items():
        (wall, late), (cpu, worst) = (
            _middle_and_p95(list(one)) for one in zip(*taken, strict=True)
        )
        print(f"{name:<26}{wall:>10.1f}{late:>10.1f}{cpu:>12.1f}{worst:>10.1f}")
        if worst > _LIMIT_MS:
            slow.append(name)
    return slow


def _middle_and_p95(values: list[float]) -> tuple[float, float]:
    late = statistics.quantiles(values, n=20)[18] if len(values) > 1 else values[0]
    return statistics.median(values), late


if __name__ == "__main__":
    main()
