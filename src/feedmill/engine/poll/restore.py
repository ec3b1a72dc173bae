"""Restores an empty store from the segments of the raw store: feeds, fetches and entries.

Every body has a note about the fetch that brought it. The documents are read again in the order of their fetches,
through the same comparison and commit as a poll, without a request. Events of entries are not written: the readers
of the lost log had them. The new log begins with `log.rewound`, beyond their cursors. Segments of earlier versions have no notes; there a document is restored when
it names its own address.

A fetch is committed once, so a restore that was killed goes on where it was.
"""
# Tested in tests/integration/engine/poll/test_restore.py

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from feedmill.config import Config
from feedmill.engine.documents.raw_documents import (
    BACKFILL,
    COLLECTED,
    FULL_TEXT,
    PUSHED,
    decode_note,
    load_body,
)
from feedmill.engine.documents.read_document import ComparedDocument, NotAFeed, read_and_compare
from feedmill.engine.documents.unscheduled import (
    commit_unscheduled,
    removals_of_part,
    unscheduled,
)
from feedmill.engine.poll.fetch_record import with_reading
from feedmill.engine.ports.entries import NewestEvent
from feedmill.engine.ports.io import Blobs
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.errors import BlobError, ConflictError, NotFoundError
from feedmill.fetch.guard import check_url
from feedmill.model.base import Value
from feedmill.model.feed import BlobRef, Feed, FetchNote, FetchRecord, NewFeed
from feedmill.model.fetch import RawDocument, Refused
from feedmill.model.parsed import ParsedFeed
from feedmill.model.running.worker import Segment
from feedmill.parse.document import parse_document
from feedmill.push.subscription import is_own_document
from feedmill.schedule.interval import initial_state

RESTORE_LEASE: Final = "restore"
_BESIDE: Final = (
    BACKFILL,
    PUSHED,
)  # documents that bring entries and say nothing else of their feed
_READ: Final = ("fresh", "ingested", *_BESIDE)  # outcomes with a document to read
# The web page of an entry, and a collected window: it is stored by a person's selection alone.
_OF_NO_FEED: Final = frozenset({FULL_TEXT, COLLECTED})
_FOR: Final = timedelta(days=3650)
_TICK: Final = timedelta(microseconds=1)


class RestoreResult(Value):
    """What a restore found and wrote."""

    feeds: int = 0
    fetches: int = 0
    entries: int = 0  # new ones
    already: int = 0  # fetches that an interrupted restore had written
    without_note: int = 0  # documents of an earlier version
    without_address: int = 0  # of them, documents that do not name their feed: kept, not read
    unreadable: int = 0  # not a feed any more, or damaged


class StoredFetch(NamedTuple):
    """A fetch that is to be restored: its instant, the body, and the note about it."""

    fetched_at: datetime
    sha256: str
    note: FetchNote


async def begin_restore(services: Services) -> None:
    """ConflictError when the store has feeds that no interrupted restore has written."""
    store, now = services.store, services.clock.now()
    has_feeds = bool((await store.feeds(limit=1)).items)
    if has_feeds and await store.take_lease(RESTORE_LEASE, "check", now=now, until=now):
        message = "the store has feeds already; a restore fills an empty store"
        hint = "copy raw/ into an empty --home, or give an empty database, and restore there"
        raise ConflictError(message, reason="not-empty", hint=hint)
    await store.take_lease(RESTORE_LEASE, RESTORE_LEASE, now=now, until=now + _FOR)


async def stored_fetches(
    services: Services, *, step: Callable[[], None] = lambda: None
) -> tuple[list[StoredFetch], RestoreResult]:
    """Every fetch that the segments tell of, oldest first; and what could not be told."""
    found: dict[str, StoredFetch] = {}
    bare: dict[str, tuple[datetime, BlobRef]] = {}
    noted: set[str] = set()
    for segment in await services.blobs.segments():
        if segment.sealed:
            for note, sha256 in await _notes(segment, services.blobs):
                noted.add(sha256)
                if note.fetch.outcome not in _OF_NO_FEED:
                    found[note.fetch.fetch_id] = StoredFetch(note.fetch.fetched_at, sha256, note)
            bare |= await _bare(segment, services.blobs)
        step()
    left = {sha256: place for sha256, place in bare.items() if sha256 not in noted}
    result = RestoreResult(without_note=len(left))
    for sha256, (at, _) in left.items():
        guessed = await _guess(sha256, at, services)
        if guessed is None:
            result = replace(result, without_address=result.without_address + 1)
        else:
            found[guessed.fetch.fetch_id] = StoredFetch(at, sha256, guessed)
    return sorted(found.values(), key=lambda one: (one.fetched_at, one.note.fetch.fetch_id)), result


async def restore(
    fetches: list[StoredFetch],
    result: RestoreResult,
    services: Services,
    *,
    step: Callable[[], None] = lambda: None,
) -> RestoreResult:
    """Read the documents again and commit them, oldest first."""
    if fetches and not await services.store.last_seq():
        # Numbers from 1 on were given before: a reader whose cursor stands at 65 would miss the new events 1 to 65.
        await services.store.append_rewound(NewestEvent(seq=1), services.clock.now())
    feeds: dict[str, str] = {}  # ids in the notes → ids in this store
    for one in fetches:
        result = await _restore_one(one, feeds, result, services)
        step()
    await services.store.release_lease(RESTORE_LEASE, RESTORE_LEASE)
    return replace(result, feeds=len(set(feeds.values())))


async def _notes(segment: Segment, blobs: Blobs) -> list[tuple[FetchNote, str]]:
    try:
        notes = await blobs.notes(segment.name)
    except BlobError:  # verify tells about it
        return []
    decoded = [(decode_note(one.note), one.sha256) for one in notes]
    return [(note, sha256) for note, sha256 in decoded if note is not None]


async def _bare(segment: Segment, blobs: Blobs) -> dict[str, tuple[datetime, BlobRef]]:
    """The bodies of a segment, each with an instant: that of the segment, in the order of the bytes."""
    made = segment.created_at
    try:
        refs = await blobs.contents(segment.name)
    except BlobError:
        return {}
    if made is None:
        return {}
    return {ref.sha256: (made + at * _TICK, ref) for at, ref in enumerate(refs)}


async def _guess(sha256: str, at: datetime, services: Services) -> FetchNote | None:
    """A note for a document that has none: of the feed that it says it is; None when it does not say."""
    try:
        body = await load_body(sha256, services.store, services.blobs)
    except (BlobError, NotFoundError):
        return None
    document = RawDocument(body=body)
    parsed = await PARSE_THREADS.run(lambda: parse_document(document, services.config.parse))
    url = _own_address(parsed, services.config) if isinstance(parsed, ParsedFeed) else None
    if url is None:
        return None
    fetch = FetchRecord(
        fetch_id=f"restored-{sha256[:32]}",
        feed_id=f"restored:{url}",
        scheduled_at=at,
        fetched_at=at,
        url=url,
        final_url=url,
        outcome="fresh",
        detail="restored from a segment without a note: address and time are a guess",
        body_sha256=sha256,
        content_length=len(body),
    )
    return FetchNote(feed_key=url, fetch=fetch)


def _own_address(parsed: ParsedFeed, config: Config) -> str | None:
    url = parsed.self_url
    if not url or isinstance(check_url(url, allow_cidrs=config.fetch.allow_cidrs), Refused):
        return None
    return url


async def _restore_one(
    one: StoredFetch, feeds: dict[str, str], result: RestoreResult, services: Services
) -> RestoreResult:
    store, fetch = services.store, one.note.fetch
    feed = await _feed_of(one, feeds, services)
    if await store.fetch(fetch.fetch_id) is not None:
        return replace(result, already=result.already + 1)
    fetch = replace(fetch, feed_id=feed.id, body_sha256=one.sha256)
    blob = await store.blob(one.sha256)
    try:
        read = await _read(fetch, feed, services)
    except (BlobError, NotFoundError):
        return replace(result, unreadable=result.unreadable + 1)
    whole = fetch.outcome not in _BESIDE
    if whole:
        feed = replace(feed, **_facts(fetch, read))
    if isinstance(read, ComparedDocument):
        removed = read.removed if whole else removals_of_part(read)
        is_archive = fetch.outcome == BACKFILL
        refresh = unscheduled(
            feed,
            with_reading(fetch, read),
            read.changes,
            () if is_archive else removed,
            blob=blob,
            whole=whole,
            silent=True,
        )
        refresh = replace(refresh, backfill=is_archive)
        entries = read.changes.summary.added
    else:
        refresh, entries = unscheduled(feed, fetch, blob=blob, whole=whole), 0
    await commit_unscheduled(refresh, store)
    return replace(
        result,
        fetches=result.fetches + 1,
        entries=result.entries + entries,
        unreadable=result.unreadable + isinstance(read, NotAFeed),
    )


def _facts(fetch: FetchRecord, read: ComparedDocument | NotAFeed | None) -> dict[str, object]:
    """What a poll says about its feed."""
    facts: dict[str, object] = {
        "last_fetch_at": fetch.fetched_at,
        "last_result": fetch.outcome,
        "last_status": fetch.http_status,
        "last_detail": fetch.detail,
    }
    if isinstance(read, ComparedDocument):
        facts |= read.facts | {
            "body_sha256": None if read.parsed.truncated else fetch.body_sha256,
            "document_fetch_id": fetch.fetch_id,
            "last_success_at": fetch.fetched_at,
            "validators": None,
        }
    return facts


async def _read(
    fetch: FetchRecord, feed: Feed, services: Services
) -> ComparedDocument | NotAFeed | None:
    if fetch.outcome not in _READ or fetch.body_sha256 is None:
        return None
    body = await load_body(fetch.body_sha256, services.store, services.blobs)
    document = RawDocument(body=body, url=fetch.final_url, content_type=fetch.content_type)
    read = await read_and_compare(
        document,
        feed,
        services.store,
        services.config,
        now=fetch.fetched_at,
        rows=() if fetch.outcome == BACKFILL else None,
    )
    if (
        fetch.outcome == PUSHED
        and isinstance(read, ComparedDocument)
        and not is_own_document(read.clean.self_url, fetch.final_url, feed.self_url, feed.url)
    ):
        return NotAFeed(reason="other-topic", detail="pushed")
    return read


async def _feed_of(one: StoredFetch, feeds: dict[str, str], services: Services) -> Feed:
    """The feed of a fetch: as it is stored, or made with the id, key and tags that it had."""
    store, note = services.store, one.note
    known = await store.feed(feeds.get(note.fetch.feed_id, note.fetch.feed_id))
    if known is None:
        guessed = note.fetch.feed_id.startswith("restored:")
        known, _ = await store.add_feed(
            NewFeed(
                id=services.clock.new_id() if guessed else note.fetch.feed_id,
                url=note.fetch.url,
                created_at=note.fetch.fetched_at,
                next_poll_at=services.clock.now(),
                schedule=initial_state(services.config.schedule),
                tags=note.tags,
                feed_key=note.feed_key,
            )
        )
    feeds[note.fetch.feed_id] = known.id
    moved = known.url != note.fetch.url and await store.find_feed((note.fetch.url,)) is None
    if moved or (note.tags and set(note.tags) != set(known.tags)):
        known = replace(known, url=note.fetch.url if moved else known.url, tags=note.tags)
        await store.change_feed(known)
    return known
