"""Raw documents are kept, packed and let go of by policy, and what is kept reads back (D13, D14)."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.engine_harness import NOON, Play, Stage, SteppedClock
from tests.support.scripted_fetcher import ScriptedFetcher

from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.config import Config, RetentionConfig, StoreConfig
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.maintain import retention
from feedmill.engine.maintain.retention import pack_raw, purge, run_maintenance, verify_integrity
from feedmill.engine.poll.ingest_one import ingest_document
from feedmill.engine.ports.store import Store
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.model.fetch import RawDocument

VERSIONS = 12


def document(version: int) -> bytes:
    items = b"".join(
        b"<item><guid>%d</guid><title>Item %d</title><description>%s</description></item>"
        % (number, number, b"words of their own %d " % number * 40)
        for number in range(version, version + 20)
    )
    return b"<rss version='2.0'><channel><title>T</title>" + items + b"</channel></rss>"


def in_world(
    folder: Path,
    store_url: str | None,
    config: Config,
    story: Callable[[Services], Awaitable[None]],
) -> None:
    async def tell() -> None:
        clock = SystemClock()
        store: Store = await (
            SqliteStore.open(folder / "mill.db")
            if store_url is None
            else PostgresStore.open(store_url)
        )
        blobs = await DiskBlobs.open(folder / "raw", clock, config.store)
        services = Services(
            clock=clock, fetcher=ScriptedFetcher({}), blobs=blobs, store=store, config=config
        )
        try:
            await story(services)
        finally:
            await blobs.close()
            await store.close()

    asyncio.run(tell())


async def ingest_versions(services: Services) -> list[str]:
    """Every version of one feed's document, each in a segment of its own."""
    feed = (await subscribe_unchecked("https://example.com/feed", services)).feed
    hashes = []
    for version in range(VERSIONS):
        body = document(version)
        current = await services.store.feed(feed.id)
        assert current is not None
        await ingest_document(RawDocument(body=body), current, services)
        await services.blobs.seal()
        hashes.append(sha256(body).hexdigest())
    return hashes


def test_packed_documents_are_far_smaller_and_read_back_exactly(
    tmp_path: Path, store_url: str | None
) -> None:
    config = Config(store=StoreConfig(pack_bytes=100_000))

    async def story(services: Services) -> None:
        hashes = await ingest_versions(services)
        before = sum(ref.length for ref in await services.store.blobs())

        moved = await pack_raw(services.store, services.blobs, services.config.store.pack_bytes)

        refs = await services.store.blobs()
        assert moved == VERSIONS
        assert sum(ref.length for ref in refs) * 5 < before
        assert len({ref.segment for ref in refs}) == 1
        for version, digest in enumerate(hashes):
            assert await load_body(digest, services.store, services.blobs) == document(version)
        assert (await verify_integrity(services.store, services.blobs))["problems"] == []

    in_world(tmp_path, store_url, config, story)


def test_little_raw_is_left_as_it_is_until_more_has_gathered(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story(services: Services) -> None:
        await ingest_versions(services)

        assert await pack_raw(services.store, services.blobs, services.config.store.pack_bytes) == 0

    in_world(tmp_path, store_url, Config(), story)


def test_only_the_last_documents_of_a_feed_are_kept(tmp_path: Path, store_url: str | None) -> None:
    config = Config(retention=RetentionConfig(raw_keep_last=3), store=StoreConfig(pack_bytes=1))

    async def story(services: Services) -> None:
        hashes = await ingest_versions(services)

        gone = await purge(services)

        kept = {ref.sha256 for ref in await services.store.blobs()}
        assert gone["documents"] == VERSIONS - 3
        assert kept == set(hashes[-3:])
        assert await load_body(hashes[-1], services.store, services.blobs) == document(VERSIONS - 1)
        assert (await verify_integrity(services.store, services.blobs))["problems"] == []

    in_world(tmp_path, store_url, config, story)


def test_the_document_a_feed_was_last_read_from_outlives_every_limit(
    tmp_path: Path, store_url: str | None
) -> None:
    retention = RetentionConfig(raw_keep_last=0, raw_keep_days=0)
    config = replace(Config(), retention=retention)

    async def story(services: Services) -> None:
        hashes = await ingest_versions(services)

        await purge(services)

        assert [ref.sha256 for ref in await services.store.blobs()] == [hashes[-1]]

    in_world(tmp_path, store_url, config, story)


class _Sleeper(Lifecycle):
    """A run whose waits are over at once; after each, the clock is moved, and after the last the run ends."""

    def __init__(self, clock: SteppedClock, *moves: timedelta) -> None:
        super().__init__("the test")
        self._clock, self._moves = clock, list(moves)

    async def sleep_unless_stopping(self, _: float) -> None:
        self._clock.move(self._moves.pop(0))
        if not self._moves:
            self.stop()


YEAR = timedelta(days=365)


@pytest.mark.parametrize(
    "moves",
    [
        (timedelta(0), timedelta(0)),
        (YEAR, -YEAR, timedelta(0)),  # a wrong clock, which was set right
        (YEAR, timedelta(0), timedelta(0)),  # the right time after a wrong one
    ],
)
def test_clock_that_jumps_ahead_purges_nothing_for_an_hour(
    play: Play, monkeypatch: pytest.MonkeyPatch, moves: tuple[timedelta, ...]
) -> None:
    purged_at = list[datetime]()

    async def noted(services: Services) -> dict[str, int]:
        purged_at.append(services.clock.now())
        return await purge(services)

    async def story(stage: Stage) -> None:
        assert isinstance(stage.clock, SteppedClock)

        await run_maintenance(stage.services, _Sleeper(stage.clock, *moves))

        assert purged_at == [NOON + sum(moves, timedelta(0))]

    monkeypatch.setattr(retention, "purge", noted)
    play(story)
