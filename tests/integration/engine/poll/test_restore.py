"""An empty store is filled from the segments alone: feeds, fetches and entries as they were."""

import asyncio
import shutil
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import PLAIN, Stage, opened
from tests.support.feed_documents import ATOM, atom, atom_entry, atom_link, item, paper, rss, said
from tests.support.job_kinds import run_due
from tests.support.push_harness import announcing, ping, push_mill, pushed_feed, subscription
from tests.support.store_transfer import command
from tests.support.two_phase_steps import collect
from tests.support.waiting import hang_guard
from tests.support.web_pages import extracting_here

from feedmill.app.services import DATABASE_NAME, open_services
from feedmill.config import BlobsConfig, Config, RetentionConfig, StoreConfig
from feedmill.engine.documents.fetch_document import fetch_and_judge
from feedmill.engine.documents.fetched import store_full_text
from feedmill.engine.jobs.backfill import KIND as BACKFILL
from feedmill.engine.maintain.raw_store import adopt_blobs
from feedmill.engine.maintain.retention import purge, verify_integrity
from feedmill.engine.poll.ingest_one import ingest_document
from feedmill.engine.poll.restore import (
    RestoreResult,
    begin_restore,
    restore,
    stored_fetches,
)
from feedmill.engine.run.services import Services
from feedmill.engine.service.jobs import start_backfill
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import ConflictError
from feedmill.model.feed import BlobRef, FeedOverrides
from feedmill.model.fetch import RawDocument
from feedmill.model.page import EntryFilter
from feedmill_demo.server.script import document

T = TypeVar("T")


async def polled(stage: Stage) -> None:
    """Entries that come, change and are removed; a failure; two feeds with one body."""
    news = await stage.add("/news", paper(1, 2), paper(2, 3), paper(3, 4))
    changed = document(
        atom(atom_entry(1), atom_entry(2)).replace(b"Text of 2", b"Corrected 2"), ATOM
    )
    other = await stage.add("/atom", document(atom(atom_entry(1), atom_entry(2)), ATOM), changed)
    twin = await stage.add("/twin", paper(1, 2))
    failing = await stage.add("/failing", said(500))
    await stage.services.store.change_feed(replace(news, tags=("news", "daily")))
    for _ in range(3):
        await stage.poll(news, other, failing)
        await stage.poll(twin)


async def figures(services: Services) -> dict[str, Any]:
    """What a restore brings back."""
    store = services.store
    feeds = (await store.feeds(limit=100)).items
    entries = (await store.entries(EntryFilter(include_removed=True), limit=1000)).items
    bodies = [
        (feed.url, fetch.fetch_id, fetch.body_sha256, fetch.http_status, fetch.response_headers)
        for feed in feeds
        for fetch in (await store.fetches(feed.id, limit=100)).items
        if fetch.body_sha256 is not None and fetch.outcome == "fresh"
    ]
    return {
        "feeds": sorted((feed.id, feed.url, feed.feed_key) for feed in feeds if feed.title),
        "tags": sorted((feed.url, tuple(sorted(feed.tags))) for feed in feeds if feed.title),
        "entries": sorted(
            (one.entry_uid, one.title, one.content_hash, one.first_seen, one.revisions)
            for one in entries
        ),
        "raw": sorted(ref.fetch_id for one in entries for ref in one.raw_refs),
        "fetches": sorted(bodies),
    }


async def restore_all(services: Services) -> RestoreResult:
    await begin_restore(services)
    await adopt_blobs(services.store, services.blobs, services.clock)
    fetches, result = await stored_fetches(services)
    return await restore(fetches, result, services)


def within(config: Config, story: Callable[[Services], Awaitable[T]]) -> T:
    async def tell() -> T:
        async with open_services(config, schema="apply") as services:
            return await story(services)

    return asyncio.run(tell())


def lived(home: Path, url: str | None = None) -> dict[str, Any]:
    """A home that has polled and was stopped; its figures."""

    async def tell() -> dict[str, Any]:
        async with opened(home, blobs=BlobsConfig(url=url, linger_ms=0)) as stage:
            await polled(stage)
            return await figures(stage.services)

    return asyncio.run(tell())


def lived_with_extras(home: Path) -> dict[str, Any]:
    """A feed with an archive, pings, and the web page of an entry that is itself a feed."""

    async def tell() -> dict[str, Any]:
        async with push_mill(home, blobs=BlobsConfig(linger_ms=0)) as stage:
            feed = await pushed_feed(stage)
            found = await subscription(stage, feed)
            for number, older in ((2, atom_link("prev-archive", "/archive/1")), (1, "")):
                page = document(atom(atom_entry(number * 10), extra=older), ATOM)
                stage.publisher.script(f"/archive/{number}", page, host="127.0.0.1")
            older = '<atom:link rel="prev-archive" href="/archive/2"/>'
            stage.later(minutes=1)
            await ping(stage, found, rss(item(2), extra="<fh:complete/>"))
            other = announcing(item(9), hub=None, topic="https://other.example/feed")
            await ping(stage, found, other.body, topic=None)
            await ping(stage, found, b"<html>not a feed</html>")
            current = announcing(item(2), item(1), hub=found.hub, topic=found.topic)
            current = document(current.body.replace(b"</channel>", f"{older}</channel>".encode()))
            stage.publish(feed, current)
            stage.later(minutes=1)
            await ping(stage, found, current.body)  # the same body by push and by poll
            await stage.poll(feed)
            stage.later(minutes=1)
            await start_backfill(await stage.feed(feed), stage.services)
            assert (await run_due(stage.services, BACKFILL))[-1].job.steps == 3
            entry = (await stage.entries(feed))[0]
            story = document(
                atom(atom_entry(77), extra=atom_link("self", "https://story.example/"))
            )
            stage.publisher.script("/story", story, host="127.0.0.1")
            answer = await fetch_and_judge(
                stage.publisher.url("/story", host="127.0.0.1"),
                FeedOverrides(),
                home_url=feed.url,
                fetcher=stage.services.fetcher,
                clock=stage.clock,
                config=stage.config.fetch,
            )
            await store_full_text(entry, feed, answer, extracting_here(stage.services))
            return await figures(stage.services)

    return asyncio.run(tell())


def test_archive_pages_pings_and_web_pages_bring_their_entries_and_no_feed(
    tmp_path: Path, store_url: str | None
) -> None:
    home = tmp_path / "home"
    before = lived_with_extras(home)
    (home / DATABASE_NAME).unlink()
    config = config_of(home, store_url)

    done = within(config, restore_all)
    after = within(config, figures)

    assert (done.feeds, done.without_note) == (1, 0)
    assert after == before
    entries = within(config, lambda s: s.store.entries(EntryFilter(), limit=100)).items
    marked = {one.title: one.backfill for one in entries}
    assert marked == {"Title 1": False, "Title 2": False, "Title 10": True, "Title 20": True}


def config_of(home: Path, store_url: str | None = None, url: str | None = None) -> Config:
    return replace(
        PLAIN,
        store=StoreConfig(home=str(home), url=store_url, segment_grace_sec=0.0),
        blobs=BlobsConfig(url=url, linger_ms=0),
        retention=RetentionConfig(
            raw_keep_days=36_500, seen_ttl_days=36_500, revisions_keep_days=36_500
        ),
    )


@pytest.mark.parametrize("place", ["disk", "bucket"])
def test_lost_database_is_restored_from_segments_alone(
    tmp_path: Path, store_url: str | None, place: str
) -> None:
    url = f"file://{tmp_path}/bucket" if place == "bucket" else None
    before = lived(tmp_path / "home", url)
    for file in (tmp_path / "home").glob(f"{DATABASE_NAME}*"):
        file.unlink()
    config = config_of(tmp_path / "home", store_url, url)

    done = within(config, restore_all)
    after = within(config, figures)

    assert done.feeds == 3  # the one that never had a document is in no segment
    assert done.entries == len(after["entries"])
    assert after == before
    # No events of entries: readers had them.
    (told,) = within(config, lambda s: s.store.events(after=0, limit=10))
    assert (told.type, told.seq > 1_000_000) == ("log.rewound", True)
    proof = within(config, lambda s: verify_integrity(s.store, s.blobs, before=s.clock.now()))
    assert proof["problems"] == []
    within(config, purge)
    assert within(config, figures) == before


def test_packed_segments_keep_their_notes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    before = lived(home)
    packing = config_of(home)
    packing = replace(packing, store=replace(packing.store, pack_bytes=1))
    within(packing, purge)
    within(packing, purge)
    (home / DATABASE_NAME).unlink()

    within(packing, restore_all)

    restored = within(packing, figures)
    assert restored["feeds"] == before["feeds"]  # the twin's note, too, outlived its segment
    assert restored["entries"] == before["entries"]


class KeptAtOnce:
    """Raw stores of two processes: a body is returned to them once both have kept it."""

    def __init__(self) -> None:
        self._both = asyncio.Barrier(2)

    def around(self, services: Services) -> Services:
        put, both = services.blobs.put, self._both

        async def put_together(body: bytes, *, sha256: str, note: bytes = b"") -> BlobRef:
            ref = await put(body, sha256=sha256, note=note)
            async with hang_guard():
                await both.wait()
            return ref

        services.blobs.put = put_together  # type: ignore[method-assign]  # this object alone
        return services


@pytest.mark.parametrize("pack_bytes", [1, 10**9], ids=["packed", "swept"])
@pytest.mark.parametrize("place", ["disk", "bucket"])
def test_one_body_that_two_processes_kept_in_two_segments_is_restored_for_both_feeds(
    tmp_path: Path, store_url: str | None, place: str, pack_bytes: int
) -> None:
    home = tmp_path / "home"
    url = f"file://{tmp_path}/bucket" if place == "bucket" else None
    config = config_of(home, store_url, url)
    config = replace(config, store=replace(config.store, pack_bytes=pack_bytes))
    body = atom(atom_entry(1), atom_entry(2))

    async def ingest_at_once() -> None:
        kept = KeptAtOnce()
        async with (
            open_services(config, schema="apply") as one,
            open_services(config, schema="apply") as two,
        ):
            feeds = [
                (await subscribe_unchecked(f"https://{name}.example/feed", services)).feed
                for name, services in (("one", one), ("two", two))
            ]
            async with asyncio.TaskGroup() as group:
                for feed, services in zip(feeds, (one, two), strict=True):
                    document = RawDocument(body=body, url=feed.url)
                    group.create_task(ingest_document(document, feed, kept.around(services)))

    asyncio.run(ingest_at_once())
    before = within(config, figures)
    assert len(within(config, lambda s: s.blobs.segments())) == 2
    for _ in range(2):
        within(config, purge)
    assert len(within(config, lambda s: s.blobs.segments())) == 2  # one of bodies, one of notes
    within(config, purge)
    empty = replace(config, store=replace(config.store, home=str(tmp_path / "empty"), url=None))
    if url is None:
        shutil.copytree(home / "raw", tmp_path / "empty" / "raw")

    done = within(empty, restore_all)

    assert done.feeds == 2
    assert within(empty, figures) == before


def test_restore_fills_an_empty_store_only(tmp_path: Path) -> None:
    lived(tmp_path / "home")

    with pytest.raises(ConflictError) as refused:
        within(config_of(tmp_path / "home"), restore_all)

    assert refused.value.reason == "not-empty"
    assert "copy raw/" in refused.value.hint


def test_restore_that_is_killed_is_finished_by_the_next_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    before = lived(home)
    (home / DATABASE_NAME).unlink()

    killed, _, _ = command("restore", home=home, FEEDMILL_FAILPOINT="store-commit@12")
    done, out, err = command("restore", home=home)

    assert killed == -signal.SIGKILL
    assert done == 0, err
    assert "restored 3 feeds" in out
    assert within(config_of(home), figures) == before


@pytest.mark.parametrize("words", [("restore",), ("blobs", "adopt")], ids=" ".join)
def test_command_that_takes_documents_of_another_store_does_not_warn_of_it(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    lived(home)
    (home / DATABASE_NAME).unlink()

    status, _, err = command(*words, home=home, FEEDMILL_LOG="info")

    assert (status, "feedmill restore" in err) == (0, False), err


def test_documents_without_notes_are_restored_when_they_name_their_feed(tmp_path: Path) -> None:
    named = (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><title>Named</title><id>urn:f</id>'
        b'<link rel="self" href="https://paper.example/feed"/><updated>2025-10-14T10:00:00Z</updated>'
        b"<entry><id>urn:1</id><title>One</title><updated>2025-10-14T10:00:00Z</updated></entry></feed>"
    )
    config = config_of(tmp_path / "home")

    async def keep(services: Services) -> None:
        from hashlib import sha256

        for body in (named, b"<rss version='2.0'><channel><title>T</title></channel></rss>"):
            await services.blobs.put(body, sha256=sha256(body).hexdigest())

    within(config, keep)
    shutil.rmtree(tmp_path / "home" / "out", ignore_errors=True)

    done = within(config, restore_all)

    assert (done.feeds, done.entries, done.without_note, done.without_address) == (1, 1, 2, 1)
    feeds = within(config, lambda s: s.store.feeds(limit=10)).items
    assert [feed.url for feed in feeds] == ["https://paper.example/feed"]


def test_collected_window_becomes_neither_a_subscription_nor_entries(tmp_path: Path) -> None:
    home = tmp_path / "home"
    named = atom(atom_entry(1), atom_entry(2), extra=atom_link("self", "https://self.example/feed"))

    async def tell() -> dict[str, Any]:
        async with opened(home, blobs=BlobsConfig(linger_ms=0)) as stage:
            later = await stage.add("/later", document(named, ATOM))
            await polled(stage)
            stage.publisher.script("/collected", document(atom(atom_entry(5)), ATOM))
            for path in ("/collected", "/self", "/later"):
                if path == "/self":
                    of_its_own = named.replace(b"Text of 2", b"Of its own")
                    stage.publisher.script(path, document(of_its_own, ATOM))
                await collect(stage, path)
            await stage.poll(later)  # the body of a window, now that of a feed
            return await figures(stage.services)

    before = asyncio.run(tell())
    (home / DATABASE_NAME).unlink()
    config = config_of(home)

    done = within(config, restore_all)

    assert (done.feeds, done.without_note) == (4, 0)
    assert within(config, figures) == before


def test_segment_that_this_store_wrote_and_forgot_is_indexed_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    lived(home)
    shutil.copy(home / DATABASE_NAME, tmp_path / "backup.db")
    config = config_of(home)

    async def go_on(services: Services) -> int:
        from tests.integration.engine.maintain.test_raw_store_raw_owner import ingest

        await ingest(services)
        return len(await services.store.blobs())

    known = within(config, go_on)
    for file in home.glob(f"{DATABASE_NAME}*"):
        file.unlink()
    shutil.copy(tmp_path / "backup.db", home / DATABASE_NAME)

    within(config, purge)

    assert len(within(config, lambda s: s.store.blobs())) == known
