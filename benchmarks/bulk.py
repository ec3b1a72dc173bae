"""Stores with very many feeds, loaded in bulk: many small hosts and some large, due over an hour.

The rows are those that a store has after every feed was polled a few times: validators, a schedule, and
the headers that the next fetch is compared with. What the loading leaves is tidied up as autovacuum
would have done it long ago.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

import asyncpg
from tests.support.sample_refreshes import fetch_record

from feedmill.adapters.store.tables.codec import digest, feed_of_new, json_text, micros
from feedmill.adapters.store.tables.lanes import shard_of
from feedmill.adapters.store.tables.subscriptions.fetches import request_of, response_of
from feedmill.model.feed import NewFeed
from feedmill.model.schedule import ScheduleState

INTERVAL: Final = timedelta(hours=1)
# Which share of the feeds lives on hosts of how many feeds.
HOSTS: Final = ((0.50, 1), (0.25, 5), (0.15, 50), (0.10, 500))

_WAVE: Final = 20_000
_STEP: Final = 7_919  # prime: neighbours in number are not neighbours in time
_SAMPLE_URL: Final = "https://sample.example/feed"

_LANE: Final = ("lane_id", "shard", "lane_key", "claim_at", "gap_ms")
_FEED: Final = (
    "feed_no", "id", "url", "feed_key", "created_at", "type", "title", "site_url", "etag",
    "validators_url", "vary", "interval_sec", "ewma_interarrival_sec", "reason",
    "last_decision_at", "last_fetch_at", "last_success_at", "last_result", "last_status",
    "request_block", "response_block",
)  # fmt: skip
_SCHED: Final = ("feed_no", "lane_id", "next_run_at")
_BLOCKS: Final = (
    "INSERT INTO header_blocks (block_id, feed_no, block)"
    " SELECT request_block, feed_no, replace($1, $3, url) FROM feeds"
    " UNION ALL SELECT response_block, feed_no, replace($2, $3, url) FROM feeds"
)

Row = tuple[Any, ...]


async def fill_postgres(dsn: str, count: int, begin_at: datetime) -> None:
    """Feeds numbered from 1 on, by COPY."""
    connection = await asyncpg.connect(dsn)
    lanes = [(*row, row[2]) for row in _lanes(count, begin_at)]
    await connection.copy_records_to_table("lanes", records=lanes, columns=(*_LANE, "host"))
    for feeds in _waves(count):
        rows = [_feed(number, lane, begin_at) for number, lane in feeds]
        await connection.copy_records_to_table("feeds", records=rows, columns=_FEED)
        due = [_due(number, lane, begin_at) for number, lane in feeds]
        await connection.copy_records_to_table("feed_sched", records=due, columns=_SCHED)
        urls = [(digest(row[2]), row[2], row[0]) for row in rows]
        await connection.copy_records_to_table("feed_aliases", records=urls)
    await connection.execute(_BLOCKS, _REQUEST, _RESPONSE, _SAMPLE_URL)
    for table in ("lanes", "feeds", "feed_sched", "feed_aliases", "header_blocks"):
        name = "block_id" if table == "header_blocks" else f"{table.removesuffix('s')}_id"
        await _go_on_counting(connection, table, "feed_no" if table == "feeds" else name)
        await connection.execute(f"VACUUM ANALYZE {table}")
    await connection.execute("CHECKPOINT")
    await connection.close()


def fill_sqlite(path: Path, count: int, begin_at: datetime) -> None:
    """The same in a file that has its tables already."""
    connection = sqlite3.connect(path)
    connection.executemany(_insert("lanes", _LANE), _lanes(count, begin_at))
    for feeds in _waves(count):
        rows = [_feed(number, lane, begin_at) for number, lane in feeds]
        connection.executemany(_insert("feeds", _FEED), rows)
        due = [_due(number, lane, begin_at) for number, lane in feeds]
        connection.executemany(_insert("feed_sched", _SCHED), due)
        urls = [(row[2], row[0]) for row in rows]
        connection.executemany(_insert("feed_aliases", ("url", "feed_no")), urls)
    connection.execute(_BLOCKS.replace("$", "?"), (_REQUEST, _RESPONSE, _SAMPLE_URL))
    connection.commit()
    connection.execute("ANALYZE")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _host_sizes(count: int) -> list[int]:
    """How many feeds each host has."""
    sizes = [size for share, size in HOSTS for _ in range(int(share * count / size))]
    return [*sizes, *[1] * (count - sum(sizes))]


def _homes(count: int) -> Iterator[tuple[int, int]]:
    """Every feed's number with that of its lane."""
    number = 0
    for lane, size in enumerate(_host_sizes(count), start=1):
        for _ in range(size):
            number += 1
            yield number, lane


def _waves(count: int) -> Iterator[list[tuple[int, int]]]:
    homes = _homes(count)
    while wave := list(islice(homes, _WAVE)):
        yield wave


def _lanes(count: int, begin_at: datetime) -> Iterator[Row]:
    first = 1
    for lane, size in enumerate(_host_sizes(count), start=1):
        numbers = range(first, first + size)
        host = _host(lane)
        due_at = min(_due(number, lane, begin_at)[2] for number in numbers)
        yield lane, shard_of(host), host, due_at, 1_000
        first += size


def _feed(number: int, lane: int, begin_at: datetime) -> Row:
    url = f"https://{_host(lane)}/feed/{number}"
    past = micros(begin_at - INTERVAL)
    return (
        number, f"feed-{number:08d}", url, url, micros(begin_at - 100 * INTERVAL), "rss",
        f"The journal of somebody, number {number}", f"https://{_host(lane)}/", '"v1"',
        url, "[]", INTERVAL.total_seconds(), 86_400.0, "unchanged", past, past, past,
        "unchanged", 304, 2 * number - 1, 2 * number,
    )  # fmt: skip


def _due(number: int, lane: int, begin_at: datetime) -> Row:
    span = INTERVAL // timedelta(microseconds=1)
    return number, lane, micros(begin_at) + number * _STEP * 1_000_003 % span


def _host(lane: int) -> str:
    return f"blog{lane}.example"


def _headers() -> tuple[str, str]:
    at = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
    new = NewFeed(
        id="sample",
        url=_SAMPLE_URL,
        created_at=at,
        next_poll_at=at,
        schedule=ScheduleState(interval_sec=INTERVAL.total_seconds()),
    )
    fetch = fetch_record(feed_of_new(new), 0, at=at, scheduled_at=at, changes=None)
    return json_text(request_of(fetch)), json_text(response_of(fetch))


def _insert(table: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


async def _go_on_counting(
    connection: "asyncpg.Connection[asyncpg.Record]", table: str, column: str
) -> None:
    """Numbers that were given by us are not given again."""
    if table in ("lanes", "feeds", "header_blocks"):
        await connection.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) FROM {table}"
        )


_REQUEST, _RESPONSE = _headers()
