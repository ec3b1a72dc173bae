"""A mill whose raw documents lie in a bucket: refreshed, packed, swept, verified and read again."""

import sys
from hashlib import sha256
from pathlib import Path

import pytest
from tests.integration.engine.maintain.test_raw_store import document
from tests.support.blob_stores import StillClock, bucket_url, point_to
from tests.support.servers.seaweedfs import S3Server
from tests.support.waiting import run

from feedmill.app.services import open_services
from feedmill.config import BlobsConfig, Config, StoreConfig
from feedmill.engine.documents.raw_documents import load_body
from feedmill.engine.maintain.retention import pack_raw, sweep_raw, verify_integrity
from feedmill.engine.poll.ingest_one import ingest_document
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import MissingExtraError
from feedmill.model.fetch import RawDocument

_VERSIONS = 12


@pytest.fixture
def config(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Config:
    point_to(s3_server, monkeypatch)
    return Config(
        store=StoreConfig(home=str(tmp_path), pack_bytes=5_000, segment_grace_sec=600),
        blobs=BlobsConfig(url=bucket_url(tmp_path), linger_ms=0),
    )


async def test_small_segments_become_few_and_the_old_ones_go_after_the_grace(
    config: Config,
) -> None:
    clock = StillClock()
    async with open_services(config, clock=clock) as services:
        feed = (await subscribe_unchecked("https://example.com/feed", services)).feed
        for version in range(_VERSIONS):
            current = await services.store.feed(feed.id)
            assert current is not None
            await ingest_document(RawDocument(body=document(version)), current, services)
            clock.advance(60)
        assert len(await services.blobs.segments()) == _VERSIONS

        assert (
            await pack_raw(services.store, services.blobs, services.config.store.pack_bytes)
            == _VERSIONS
        )
        assert await sweep_raw(services.store, services.blobs) == 0
        clock.advance(600)
        assert await sweep_raw(services.store, services.blobs) == _VERSIONS

        packed = await services.blobs.segments()
        assert len(packed) < _VERSIONS
        assert all(one.packed for one in packed)
        for version in range(_VERSIONS):
            digest = sha256(document(version)).hexdigest()
            assert await load_body(digest, services.store, services.blobs) == document(version)
        proof = await verify_integrity(services.store, services.blobs)
        assert (proof["documents"], proof["problems"]) == (_VERSIONS, [])
    assert not (Path(config.store.home) / "raw").exists()


async def test_a_world_in_memory_touches_no_bucket(config: Config) -> None:
    async with open_services(config, memory=True) as services:
        await services.blobs.put(b"body", sha256=sha256(b"body").hexdigest())
    async with open_services(config) as services:
        assert await services.blobs.segments() == ()


def test_without_the_package_the_way_to_it_is_said(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        with pytest.raises(MissingExtraError) as caught:
            async with open_services(config):
                pass
        assert "feedmill[objects]" in caught.value.hint

    monkeypatch.setitem(sys.modules, "feedmill.adapters.blobs.bucket.store", None)
    run(story())
