"""Clusters: quality on real feeds, speed of sketches, and the cost of an insert while the store grows.

    python -m benchmarks.clusters quality FOLDER      # a folder of feed documents, for instance a public corpus
    python -m benchmarks.clusters growth [--most 1000000] [--postgres]

Quality. Pairs of entries of different documents with the same canonical link and different text are the truth ("hard"), where the
link names one entry in each of the two. A pair that is found counts as right when it has the same link, or when its texts share half of
their passages, or the shorter stands in the longer; everything else counts as wrong. `blind` is the same without links.
"""

# ruff: noqa: SLF001  # rows are made inside the store

import argparse
import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from benchmarks.footprint import server_cpu_sec
from msgspec.structs import replace
from tests.support.sample_refreshes import NOON, new_feed
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.sql_store import SqlStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import micros
from feedmill.api import normalise, parse
from feedmill.cluster.sketch import compare, keys_of, plain_text, sketch, words_of
from feedmill.identify.hashes import link_of
from feedmill.model.derived.cluster import Sketch, SketchBatch, StoryText
from feedmill.model.parsed import ParsedFeed

_FEEDS: Final = 200
_BATCH: Final = 500
_ROUNDS: Final = 6
_BITE: Final = 5_000
# What a server for a million entries is given: the defaults are for a machine with 512 MB.
_SERVER: Final = {"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
_FIRST_YEAR: Final = 1990  # an earlier date is a mistake of the publisher
_WIDEST: Final = 200  # entries of one key that are compared with each other


class _Item(NamedTuple):
    feed: str
    link: str | None
    story: StoryText
    words: tuple[bytes, ...]


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description="Clusters: quality, speed and growth")
    parts = parser.add_subparsers(dest="part", required=True)
    quality_of = parts.add_parser("quality")
    quality_of.add_argument("folder", type=Path)
    growing = parts.add_parser("growth")
    growing.add_argument("--most", type=int, default=1_000_000)
    growing.add_argument("--postgres", action="store_true", help="a server of the tests")
    options = parser.parse_args()
    if options.part == "quality":
        print(json.dumps(quality(options.folder), indent=1))
    elif options.postgres:
        with PostgresServer(settings=_SERVER) as server:
            asyncio.run(growth(options.most, migrated_database(server), server))
    else:
        asyncio.run(growth(options.most, None, None))
    return 0


def quality(folder: Path) -> dict[str, Any]:
    """Precision and recall with links and without, and sketches per CPU second."""
    items = list(_items(folder))
    began = time.process_time()
    made = [sketch(one.story) for one in items]
    spent = time.process_time() - began
    hard, easy = _truth(items)
    return {
        "entries": len(items),
        "hard_pairs": len(hard),
        "sketches_per_cpu_sec": round(len(items) / spent),
        "with_links": _judged(items, made, hard, easy),
        "blind": _judged(items, [replace(one, links=()) for one in made], hard, easy),
    }


def _items(folder: Path) -> Iterator[_Item]:
    for path in sorted(folder.rglob("*")):
        parsed = parse(path.read_bytes()) if path.is_file() else None
        if not isinstance(parsed, ParsedFeed):
            continue
        for entry in normalise(parsed).entries:
            at = entry.published
            link = link_of(entry)
            html = entry.content or entry.summary or ""
            story = StoryText(
                title=entry.title,
                html=html,
                links=(link,) if link else (),
                published=at if at is not None and at.year > _FIRST_YEAR else None,
            )
            yield _Item(path.name, link, story, tuple(words_of(plain_text(html))))


Pairs = set[tuple[int, int]]


def _truth(items: list[_Item]) -> tuple[Pairs, Pairs]:
    """Pairs with one link: those whose text differs, and those whose text is the same."""
    uses = Counter((one.feed, one.link) for one in items)
    by_link: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(items):
        if one.link and uses[one.feed, one.link] == 1:
            by_link[one.link].append(at)
    pairs = {
        pair
        for places in by_link.values()
        for pair in combinations(places, 2)
        if items[pair[0]].feed != items[pair[1]].feed
    }
    hard = {(a, b) for a, b in pairs if items[a].words != items[b].words}
    return hard, pairs - hard


def _judged(items: list[_Item], made: list[Sketch], hard: Pairs, easy: Pairs) -> dict[str, Any]:
    found = set(_found(items, made))
    right = sum(_is_right(items[a], items[b]) for a, b in found)
    return {
        "found": len(found),
        "precision": round(right / max(1, len(found)), 4),
        "recall_hard": round(len(found & hard) / max(1, len(hard)), 4),
        "recall_easy": round(len(found & easy) / max(1, len(easy)), 4),
    }


def _found(items: list[_Item], made: list[Sketch]) -> Iterable[tuple[int, int]]:
    """Pairs with evidence, by the rules of the store: a link that a feed uses twice names nothing."""
    uses = Counter(
        (one.feed, key) for one, drawn in zip(items, made, strict=True) for key in drawn.links
    )
    clean = [
        replace(drawn, links=tuple(key for key in drawn.links if uses[one.feed, key] == 1))
        for one, drawn in zip(items, made, strict=True)
    ]
    by_key: dict[int, list[int]] = defaultdict(list)
    for at, drawn in enumerate(clean):
        for key in keys_of(drawn):
            by_key[key].append(at)
    near = {
        pair
        for places in by_key.values()
        for pair in combinations(places[-_WIDEST:], 2)
        if items[pair[0]].feed != items[pair[1]].feed
    }
    return (pair for pair in near if compare(clean[pair[0]], clean[pair[1]]) is not None)


def _is_right(one: _Item, other: _Item) -> bool:
    if one.link is not None and one.link == other.link:
        return True
    ours, theirs = _passages(one.words), _passages(other.words)
    common = len(ours & theirs)
    shorter = min(len(ours), len(theirs))
    return bool(shorter) and (common >= 0.5 * len(ours | theirs) or common >= 0.8 * shorter)


def _passages(words: tuple[bytes, ...]) -> set[tuple[bytes, ...]]:
    return set(zip(words, words[1:], words[2:], strict=False))


async def growth(most: int, dsn: str | None, server: PostgresServer | None) -> None:
    """CPU microseconds of this process and of the server, and the time of all, to cluster one new entry in ever larger stores."""
    sizes = [size for size in (10_000, 100_000, 1_000_000) if size <= most]
    async with _opened(dsn) as store:
        for number in range(_FEEDS):
            await store.add_feed(new_feed(number + 1))
        held = 0
        for size in sizes:
            for first in range(held, size, _BITE):
                await _fill(store, first, min(first + _BITE, size))
            held = size + _BATCH * _ROUNDS
            print(json.dumps({"entries": size, **await _measure(store, size, server)}), flush=True)


async def _measure(store: SqlStore, size: int, server: PostgresServer | None) -> dict[str, float]:
    cpu, wall = [], []
    spent_at_server = 0.0
    for turn in range(_ROUNDS):
        first = size + turn * _BATCH
        await store._write(lambda: _add_entries(first, first + _BATCH))  # noqa: B023
        batch = SketchBatch(
            cause=f"{first}",
            at=NOON,
            since=NOON - timedelta(days=14),
            max_entries=200,
            sketches={
                f"u{number}": sketch(_story(number)) for number in range(first, first + _BATCH)
            },
        )
        at_server = 0.0 if server is None else server_cpu_sec(server)
        before, began = time.process_time(), time.perf_counter()
        await store.save_sketches(batch, events=lambda _: ())
        cpu.append((time.process_time() - before) / _BATCH * 1e6)
        wall.append((time.perf_counter() - began) / _BATCH * 1e6)
        if server is not None:  # its clock has ticks of 10 ms: all rounds together
            spent_at_server += server_cpu_sec(server) - at_server
    return {
        "cpu_us_per_entry": round(min(cpu)),
        "server_cpu_us_per_entry": round(spent_at_server / _BATCH / _ROUNDS * 1e6),
        "wall_us_per_entry": round(min(wall)),
    }


def _story(number: int) -> StoryText:
    """Every fourth entry has the title of an earlier one; texts differ."""
    words = [sha256(b"%d/%d" % (number, at)).hexdigest()[:6] for at in range(80)]
    title = (
        f"A story that returns {number % 997}" if number % 4 == 0 else f"Story {number} of its own"
    )
    return StoryText(title=title, html=" ".join(words), links=(f"https://x.example/{number}",))


async def _fill(store: SqlStore, first: int, end: int) -> None:
    """Entries with ten keys each, made by the database itself."""
    await store._write(lambda: _add_entries(first, end))
    await store._write(lambda: _add_keys(first))


def _add_entries(first: int, end: int) -> Query[int]:
    return (
        yield from sql.write(
            f"WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {end - 1})"
            " INSERT INTO entries (entry_uid, feed_no, first_seen, last_seen, seen_count, dedupe_key,"
            " match_confidence, published_effective, published_source, content_hash, content_version,"
            f" field_digests, item_hash) SELECT 'u' || i, i % {_FEEDS} + 1, {micros(NOON)}, {micros(NOON)}, 1,"
            f" 'k', 'high', {micros(NOON)}, 'published', 'h', 'v', '[]', 'i' FROM n"
        )
    )


def _add_keys(first: int) -> Query[int]:
    return (
        yield from sql.write(
            "INSERT INTO cluster_keys (entry_id, key) SELECT e.entry_id,"
            " (e.entry_id * 10 + k.k) * 2654435761 % 9007199254740881"
            " FROM entries e, (SELECT 1 AS k UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4"
            " UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9"
            " UNION ALL SELECT 10) k WHERE e.entry_id > $1 AND NOT EXISTS"
            " (SELECT 1 FROM cluster_keys x WHERE x.entry_id = e.entry_id AND x.entry_id > $1)",
            first,
        )
    )


@asynccontextmanager
async def _opened(dsn: str | None) -> AsyncIterator[SqlStore]:
    if dsn is not None:
        store = await PostgresStore.open(dsn)
        yield store
        await store.close()
        return
    with TemporaryDirectory() as folder:
        file = await SqliteStore.open(Path(folder) / "feedmill.db")
        yield file
        await file.close()


if __name__ == "__main__":
    sys.exit(main())
