"""A home folder and a database of version 0.1 open, migrate and verify; nothing in them is lost.

`tests/fixtures/homes/README.md` says how they were made.
"""

import asyncio
import hashlib
import json
import sqlite3
import tarfile
from collections.abc import Callable, Coroutine
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest
from msgspec.structs import replace
from tests.support.scripted_fetcher import ScriptedFetcher, said

from feedmill.app.services import open_services
from feedmill.app.settings import load_config
from feedmill.app.store_moves import migrate_store
from feedmill.config import Config
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.maintain.retention import verify_integrity
from feedmill.engine.poll.replay import replay
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.ports.store import Store
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter

HOMES = Path(__file__).parents[3] / "fixtures" / "homes"
LIMIT_SEC = 300.0
BEFORE_ALL = datetime(2025, 1, 1, tzinfo=UTC)  # every question was still open then
ITEMS = (
    b"<item><title>Title 1</title><link>https://paper.example/1</link>"
    b'<guid isPermaLink="false">urn:item:1</guid></item>'
    b"<item><title>Written today</title><link>https://paper.example/today</link>"
    b'<guid isPermaLink="false">urn:item:today</guid></item>'
)
CHANGES = (
    (b"<title>", b"<title> "),
    (b'"title": "', b'"title": " '),
    (b"</channel>", ITEMS + b"</channel>"),
)


class OldHome(NamedTuple):
    """A store of version 0.1 with its settings, and what it held when it was packed."""

    config: Config
    expected: dict[str, Any]


@pytest.fixture(params=["sqlite", "postgres"])
def old_home(request: pytest.FixtureRequest, tmp_path: Path) -> OldHome:
    """One of the two, unpacked for this test alone."""
    name = f"version_0_1_{request.param}"
    with tarfile.open(HOMES / f"{name}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    config = load_config(tmp_path / "feedmill.toml", str(tmp_path / "feedmill-data"))
    if request.param == "postgres":
        dsn: str = request.getfixturevalue("postgres_dsn")
        asyncio.run(_load((tmp_path / "feedmill.sql").read_text(encoding="utf-8"), dsn))
        config = replace(config, store=replace(config.store, url=dsn))
    return OldHome(config, json.loads((HOMES / f"{name}.json").read_text(encoding="utf-8")))


def test_migrated_store_has_every_row_of_the_version_before(old_home: OldHome) -> None:
    asyncio.run(migrate_store(old_home.config))

    tables = old_home.expected["tables"]
    assert asyncio.run(row_counts(old_home.config, tables)) == tables


def test_migrated_store_reads_as_the_version_before_wrote_it(old_home: OldHome) -> None:
    async def story(services: Services) -> None:
        expected = old_home.expected["figures"]

        found = await figures(services.store, list_id=old_home.expected["list_id"])

        assert set(found) == set(expected)
        for name, value in expected.items():
            assert found[name] == value, name

    in_migrated(old_home, story)


def test_migrated_store_is_sound_and_every_raw_body_has_its_hash(old_home: OldHome) -> None:
    async def story(services: Services) -> None:
        bodies = old_home.expected["bodies"]

        result = await verify_integrity(services.store, services.blobs)

        assert result["problems"] == []
        assert result["documents"] == len(bodies)
        for sha256, size in bodies.items():
            body = await load_body(sha256, services.store, services.blobs)
            assert (hashlib.sha256(body).hexdigest(), len(body)) == (sha256, size)

    in_migrated(old_home, story)


def test_stored_documents_are_read_as_the_version_before_read_them(old_home: OldHome) -> None:
    async def story(services: Services) -> None:
        results = [await replay(feed, services) for feed in await feeds_of(services.store)]

        assert sum(one.outcome == "read" for one in results) == old_home.expected["documents"]
        assert [one.differences for one in results if one.differences] == []

    in_migrated(old_home, story)


def test_next_poll_stores_what_is_new_and_nothing_twice(old_home: OldHome) -> None:
    async def story(services: Services) -> None:
        feeds = {feed.url.rpartition("/")[2]: feed for feed in await feeds_of(services.store)}
        polled = [feeds["news"], feeds["journal"], feeds["radio"]]
        fetcher = ScriptedFetcher()
        for feed in polled:
            # Other bytes of every item, so that each is parsed and found by its identities; the
            # first feed has a new item, and one of which retention has left the identities only.
            body = await last_body(feed, services)
            for old, new in CHANGES:
                body = body.replace(old, new)
            fetcher.script(feed.url, said(feed.url, body=body))
        before = await services.store.last_seq()

        await poll(services._replace(fetcher=fetcher), polled)

        fetches = [(await services.store.fetches(feed.id, limit=1)).items[0] for feed in polled]
        counts = [(one.outcome, one.entries_new, one.entries_updated) for one in fetches]
        assert counts == [("fresh", 1, 1), ("fresh", 0, 0), ("fresh", 0, 0)]
        events = await services.store.events(after=before)
        assert [one.seq for one in events] == [before + 1, before + 2]
        told = {one.type: one for one in events}
        assert set(told) == {"entry.updated", "new_entry"}
        restored, added = told["entry.updated"], told["new_entry"]
        assert (restored.data["restored"], restored.data["title"]) == (True, "Title 1")
        found = (await services.store.entries(EntryFilter(include_removed=True), limit=1000)).items
        known = {one["uid"] for one in old_home.expected["figures"]["entries"]}
        assert {one.entry_uid for one in found} - known == {restored.entry_uid, added.entry_uid}
        assert (await verify_integrity(services.store, services.blobs))["problems"] == []

    in_migrated(old_home, story)


async def figures(store: Store, *, list_id: str) -> dict[str, Any]:
    """What a store holds, in the words of JSON."""
    feeds = await feeds_of(store)
    urls = {feed.id: feed.url for feed in feeds}
    entries = (await store.entries(EntryFilter(include_removed=True), limit=1000)).items
    return {
        "feeds": [await _feed_figures(feed, store) for feed in feeds],
        "entries": [
            {
                "uid": one.entry_uid,
                "feed": urls[one.feed_id],
                "title": one.title,
                "content_hash": one.content_hash,
                "article_hash": one.article_hash,
                "published": _instant(one.published_effective),
                "first_seen": _instant(one.first_seen),
                "seen": one.seen_count,
                "removed": _instant(one.removed_at),
                "revisions": [
                    [old.number, list(old.changed), old.title, old.content_hash]
                    for old in await store.revisions(one.entry_uid)
                ],
            }
            for one in entries
        ],
        "events": [
            [one.seq, one.id, one.type, one.entry_uid]
            for one in await store.events(after=0, limit=1000)
        ],
        "last_seq": await store.last_seq(),
        "cursors": {name: await store.cursor(name) for name in ("ndjson", "reader")},
        "tokens": [
            [one.id, one.name, list(one.scopes), _instant(one.revoked_at)]
            for one in await store.tokens()
        ],
        "webhooks": [
            {
                "url": one.url,
                "tag": one.tag,
                "types": list(one.types),
                "cursor": one.cursor,
                "attempts": one.attempts,
                "secrets": [secret.value for secret in one.secrets],
                "dead_letters": [
                    [letter.id, letter.reason, [event.seq for event in letter.events]]
                    for letter in (await store.dead_letters(one.id)).items
                ],
            }
            for one in await store.webhooks()
        ],
        "screens": [[one.id, urls.get(one.feed_id or "")] for one in await store.screens()],
        "held": [
            [one.entry_uid, one.title, one.content_hash]
            for one in (await store.held(limit=1000)).items
        ],
        "questions": [
            [one.code, one.window_id, list(one.candidate_ids), one.state]
            for one in await store.questions(BEFORE_ALL)
        ],
        "imported": sorted([one.url, one.outcome] for one in await store.imported(list_id)),
    }


async def feeds_of(store: Store) -> list[Feed]:
    """Every feed, by its address."""
    return sorted((await store.feeds(limit=1000)).items, key=lambda feed: feed.url)


async def last_body(feed: Feed, services: Services) -> bytes:
    """The feed's last document."""
    assert feed.document_fetch_id is not None
    fetch = await services.store.fetch(feed.document_fetch_id)
    assert fetch is not None
    assert fetch.body_sha256 is not None
    return await load_body(fetch.body_sha256, services.store, services.blobs)


async def poll(services: Services, feeds: list[Feed]) -> None:
    """Poll these feeds now, and no other."""
    ids = [feed.id for feed in feeds]
    await services.store.make_due(ids, services.clock.now())
    await run_once(services, Lifecycle("the test"), forced=True, only=ids)


def in_migrated(old: OldHome, story: Callable[[Services], Coroutine[Any, Any, None]]) -> None:
    """Migrate the store, open it and tell a story to its end, within a limit."""

    async def told() -> None:
        async with asyncio.timeout(LIMIT_SEC):
            await migrate_store(old.config)
            async with open_services(old.config) as services:
                await story(services)

    asyncio.run(told())


async def row_counts(config: Config, tables: dict[str, int]) -> dict[str, int]:
    """How many rows these tables have."""
    if config.store.url is None:
        with closing(sqlite3.connect(Path(config.store.home) / "feedmill.db")) as file:
            return {name: file.execute(_count(name)).fetchone()[0] for name in tables}
    connection = await asyncpg.connect(config.store.url)
    try:
        return {name: await connection.fetchval(_count(name)) for name in tables}
    finally:
        await connection.close()


def _count(table: str) -> str:
    return f"SELECT count(*) FROM {table}"


async def _load(sql: str, dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def _feed_figures(feed: Feed, store: Store) -> dict[str, Any]:
    return {
        "id": feed.id,
        "url": feed.url,
        "key": feed.feed_key,
        "title": feed.title,
        "type": feed.type,
        "tags": list(feed.tags),
        "paused": feed.paused,
        "health": feed.schedule.health,
        "next_poll": _instant(feed.next_poll_at),
        "etag": feed.validators.etag if feed.validators else None,
        "aliases": sorted(await store.aliases(feed.id)),
        "moves": [[one.from_url, one.to_url, one.proof] for one in await store.moves(feed.id)],
        "fetches": [
            [one.fetch_id, one.outcome, one.http_status, one.body_sha256, one.entries_new]
            for one in (await store.fetches(feed.id, limit=1000)).items
        ],
        "decisions": [
            [_instant(one.next_poll_at), one.reason] for one in await store.decisions(feed.id, 1000)
        ],
    }


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
