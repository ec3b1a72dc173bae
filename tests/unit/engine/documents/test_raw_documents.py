"""Raw bodies: kept once before they are parsed, and loaded past a segment that has moved."""

import asyncio
from datetime import UTC, datetime
from hashlib import sha256
from typing import cast

import pytest

from feedmill.engine.documents.raw_documents import (
    COLLECTED,
    decode_note,
    keep_collected,
    keep_document,
    load_body,
)
from feedmill.engine.ports.io import Blobs, RawIndex
from feedmill.errors import BlobError, BlobMoved, NotFoundError
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef, Feed, FetchRecord
from feedmill.model.schedule import ScheduleState

BODY = b"<rss/>"
DIGEST = sha256(BODY).hexdigest()
DOCUMENT = CollectedDocument(
    source=0,
    url="https://paper.example/feed",
    final_url="https://paper.example/feed",
    fetched_at=datetime(2026, 3, 1, tzinfo=UTC),
    body_sha256=DIGEST,
)
FEED = Feed(
    id="f",
    url=DOCUMENT.url,
    feed_key=DOCUMENT.url,
    created_at=DOCUMENT.fetched_at,
    next_poll_at=DOCUMENT.fetched_at,
    schedule=ScheduleState(interval_sec=1800.0),
)
FETCH = FetchRecord(
    fetch_id="1",
    feed_id=FEED.id,
    scheduled_at=DOCUMENT.fetched_at,
    fetched_at=DOCUMENT.fetched_at,
    url=FEED.url,
    final_url=FEED.url,
    outcome="fresh",
    body_sha256=DIGEST,
)


class FakeRawStore:
    """An index and a raw store in one; `moved` reads fail as after a re-encoding."""

    def __init__(self, *, moved: int = 0) -> None:
        self.refs: dict[str, BlobRef] = {}
        self.puts = 0
        self.moved = moved
        self.notes: list[bytes] = []
        self.noted: set[tuple[str, str]] = set()
        self.is_full = False

    async def blob(self, sha256: str) -> BlobRef | None:
        return self.refs.get(sha256)

    async def store_id(self) -> str:
        return "store"

    async def put(self, body: bytes, *, sha256: str, note: bytes) -> BlobRef:
        self.puts += 1
        self.note = note
        ref = BlobRef(
            sha256=sha256,
            segment="1",
            offset=0,
            length=len(body),
            coding="raw",
            raw_length=len(body),
        )
        self.refs[sha256] = ref
        return ref

    async def annotate(self, sha256: str, note: bytes) -> None:
        assert sha256 == DIGEST
        if self.is_full:
            reason = "disk-full"
            raise BlobError(reason, reason)
        self.notes.append(note)

    def is_noted(self, feed_id: str, sha256: str) -> bool:
        return (feed_id, sha256) in self.noted

    def remember_note(self, feed_id: str, sha256: str) -> None:
        self.noted.add((feed_id, sha256))

    async def get(self, ref: BlobRef, prefix: bytes | None = None) -> bytes:
        assert (ref.sha256, prefix) == (DIGEST, None)
        if self.moved:
            self.moved -= 1
            reason, message = "moved", "the segment was packed"
            raise BlobMoved(reason, message)
        return BODY


def _ports(store: FakeRawStore) -> tuple[RawIndex, Blobs]:
    return cast("RawIndex", store), cast("Blobs", store)


def test_a_body_that_is_kept_already_is_not_written_again() -> None:
    store = FakeRawStore()

    refs = [asyncio.run(keep_collected(BODY, DOCUMENT, *_ports(store))) for _ in range(2)]

    assert refs[0] == refs[1]
    assert store.puts == 1


def test_a_collected_body_is_kept_with_a_note_that_it_is_of_no_feed() -> None:
    store = FakeRawStore()

    asyncio.run(keep_collected(BODY, DOCUMENT, *_ports(store)))

    note = decode_note(store.note)
    assert note is not None
    assert (note.fetch.feed_id, note.fetch.outcome) == ("", COLLECTED)


def test_a_note_that_a_full_disk_refused_is_written_at_the_next_attempt_and_once() -> None:
    store = FakeRawStore()
    asyncio.run(keep_collected(BODY, DOCUMENT, *_ports(store)))
    store.is_full = True
    with pytest.raises(BlobError):
        asyncio.run(keep_document(BODY, FETCH, FEED, *_ports(store)))
    store.is_full = False

    for _ in range(2):
        asyncio.run(keep_document(BODY, FETCH, FEED, *_ports(store)))

    assert len(store.notes) == 1


def test_a_body_whose_segment_has_moved_is_looked_up_once_more() -> None:
    store = FakeRawStore(moved=1)
    asyncio.run(keep_collected(BODY, DOCUMENT, *_ports(store)))

    assert asyncio.run(load_body(DIGEST, *_ports(store))) == BODY

    store.moved = 2
    with pytest.raises(BlobMoved):
        asyncio.run(load_body(DIGEST, *_ports(store)))


def test_a_body_that_retention_deleted_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="retention"):
        asyncio.run(load_body(DIGEST, *_ports(FakeRawStore())))
