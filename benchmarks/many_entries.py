"""A store with very many entries, made faster than any mill could: rows go straight into SQLite.

Their sizes are those of news: a title, two sentences of summary, a paragraph or two of content.
"""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final

from benchmarks.prose import PEOPLE, SENTENCES, TOPICS

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.adapters.store.tables.codec import micros
from feedmill.app.services import DATABASE_NAME
from feedmill.model.feed import NewFeed
from feedmill.model.schedule import ScheduleState

_BEGIN: Final = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
_FEEDS: Final = 100
_SENTENCES: Final = [one for group in SENTENCES.values() for one in group]
_BITE: Final = 20_000
COLUMNS: Final = (
    "entry_uid", "feed_no", "first_seen", "last_seen", "seen_count", "dedupe_key",
    "match_confidence", "guid", "link", "canonical_link", "title", "summary", "content", "authors",
    "categories", "published", "published_effective", "published_source", "language",
    "content_hash", "content_version", "field_digests", "item_hash", "article_hash", "fetch_id",
    "slice_offset", "slice_length",
)  # fmt: skip


def fill(home: Path, count: int) -> None:
    """Make a store with so many entries in a hundred feeds."""
    home.mkdir(parents=True, exist_ok=True)
    asyncio.run(_subscribe(home))
    marks = ", ".join("?" * len(COLUMNS))
    statement = f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({marks})"
    rows = (entry_row(number) for number in range(count))
    with closing(sqlite3.connect(home / DATABASE_NAME, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for bite in _bites(rows):
            connection.execute("BEGIN")
            connection.executemany(statement, bite)
            connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def _subscribe(home: Path) -> None:
    store = await SqliteStore.open(home / DATABASE_NAME)
    for number in range(_FEEDS):
        await store.add_feed(
            NewFeed(
                id=f"feed-{number:04d}",
                url=f"https://host{number}.example/feed",
                created_at=_BEGIN,
                next_poll_at=_BEGIN + timedelta(days=36_500),
                schedule=ScheduleState(interval_sec=900.0),
            )
        )
    await store.close()


def entry_row(number: int, feeds: int = _FEEDS, begin: datetime = _BEGIN) -> tuple[Any, ...]:
    """One entry a second, spread over so many feeds."""
    seen = micros(begin + timedelta(seconds=number))
    name = sha256(b"%d" % number).hexdigest()
    words = [_SENTENCES[(number + step * 7) % len(_SENTENCES)] for step in range(8)]
    link = f"https://host{number % feeds}.example/{number}/{name[:12]}"
    return (
        name,
        number % feeds + 1,
        seen,
        seen,
        1,
        f"url:{link}",
        "high",
        f"tag:host{number % feeds}.example,2025:{number}",
        link,
        link,
        words[0],
        " ".join(words[1:3]),
        f"<p>{' '.join(words[:4])}</p><p>{' '.join(words[4:])}</p>",
        f'[{{"name":"{PEOPLE[number % len(PEOPLE)]}","email":null,"uri":null}}]',
        f'["{TOPICS[number % len(TOPICS)]}","{TOPICS[number * 3 % len(TOPICS)]}"]',
        seen,
        seen,
        "published",
        "en",
        name,
        "content-v1",
        "[]",
        name,
        name,
        f"fetch-{number // 30}",
        number % 30 * 900,
        900,
    )


def _bites(rows: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    while bite := list(islice(rows, _BITE)):
        yield bite
