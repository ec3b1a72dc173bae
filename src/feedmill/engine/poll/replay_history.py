"""Replays the stored documents of a feed, the oldest first: what the present reader makes of its history.

    read_history      every stored document of a span, in order: the last reading of each entry
    against_store     what would have been different from what the store holds
    against_reading   the same against the reading of another version, which `replay --record` wrote

Nothing is written. One feed is held in memory at a time, and of an entry its digests only.
"""
# Tested in tests/integration/engine/poll/test_replay_history.py

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final, Literal

from msgspec.structs import replace

from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.documents.raw_documents import FULL_TEXT, load_document
from feedmill.engine.documents.read_document import (
    NotAFeed,
    read_document,
    reader_version,
)
from feedmill.engine.run.services import Services
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.identify.volatile import recipe_of
from feedmill.model.base import Value
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.identity import Identified, IdentityKey, KnownEntry

DifferenceKind = Literal[
    "missed", "lost", "identity", "dates", "content", "article", "entries", "readable", "unreadable"
]
KINDS: Final[tuple[DifferenceKind, ...]] = DifferenceKind.__args__  # type: ignore[attr-defined]  # of a Literal
_DATES: Final = frozenset({"published", "updated"})
_READ: Final = SUCCESSFUL_OUTCOMES | {"replayed", "backfill"}
_KEYS_AT_ONCE: Final = 500


class EntryReading(Value):
    """An entry as one version read it in the last document that held it."""

    entry_uid: str
    title: str | None
    keys: tuple[IdentityKey, ...]
    article_hash: str | None
    content_version: str
    fields: tuple[tuple[str, str], ...]  # digests


class HistoryDifference(Value):
    """Something that the present reader would have made otherwise."""

    kind: DifferenceKind
    subject: str  # the id of the entry, or of the fetch
    changed: tuple[str, ...] = ()  # fields, or what was and what is
    title: str | None = None


class FeedReading(Value):
    """What a version read in the stored documents of a feed: a line of `replay --record`."""

    feed_id: str
    reader: str
    documents: int = 0
    missing: int = 0  # documents that are not kept any more
    entries: tuple[EntryReading, ...] = ()
    differences: tuple[HistoryDifference, ...] = ()  # from what the fetches recorded


class FeedHistory(Value):
    """A feed's history under the present reader, and what would have been different."""

    feed_id: str
    reader: str
    before: str  # "store", or the version that was recorded
    documents: int
    missing: int
    entries: int
    differences: tuple[HistoryDifference, ...]


async def read_history(
    feed: Feed, services: Services, since: datetime | None = None, until: datetime | None = None
) -> FeedReading:
    """Read the stored documents of the span again, the oldest first."""
    last: dict[str, EntryReading] = {}
    found: list[HistoryDifference] = []
    documents = missing = 0
    anew = replace(feed, reader_version=None)
    for fetch in await _documents(feed, services, since, until):
        document = await load_document(fetch, services.store, services.blobs)
        if document is None:
            missing += 1
            continue
        documents += 1
        read = await PARSE_THREADS.run(
            partial(read_document, document, anew, (), services.config, fetch.fetched_at)
        )
        seen = None if isinstance(read, NotAFeed) else len(read.seen)
        found += _against_fetch(fetch, seen, read.reason if isinstance(read, NotAFeed) else "")
        for one in () if isinstance(read, NotAFeed) else read.seen:
            last[one.entry_uid] = _reading_of(one)
    return FeedReading(
        feed_id=feed.id,
        reader=reader_version(services.config),
        documents=documents,
        missing=missing,
        entries=tuple(last.values()),
        differences=tuple(found),
    )


async def against_store(
    reading: FeedReading, services: Services, *, is_recent: bool = True
) -> FeedHistory:
    """Compare with the stored entries; those of an older span only by whether they are there.

    What the store holds is the last state of an entry, which an older document does not show.
    """
    rows: dict[IdentityKey, KnownEntry] = {}
    keys = [key for entry in reading.entries for key in entry.keys]
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        some = tuple(keys[start : start + _KEYS_AT_ONCE])
        recalled = await services.store.load_existing(reading.feed_id, some, ())
        own = [row for row in recalled.known if row.feed_id in (None, reading.feed_id)]
        rows |= {key: row for row in own for key in row.keys}
    found = [
        difference
        for entry in reading.entries
        for difference in _against_row(entry, rows, is_recent=is_recent)
    ]
    return _history(reading, "store", found)


def against_reading(reading: FeedReading, recorded: FeedReading) -> FeedHistory:
    """Compare with what another version read in the same documents."""
    before = {entry.entry_uid: entry for entry in recorded.entries}
    after = {entry.entry_uid: entry for entry in reading.entries}
    gone = {entry.article_hash: entry for uid, entry in before.items() if uid not in after}
    found: list[HistoryDifference] = []
    for uid, entry in after.items():
        if uid in before:
            found += _changed(entry, before[uid].fields, before[uid].article_hash)
        elif entry.article_hash is not None and gone.pop(entry.article_hash, None) is not None:
            found.append(_of_entry("identity", entry))
        else:
            found.append(_of_entry("missed", entry))
    found += [_of_entry("lost", entry) for entry in gone.values()]
    # What both versions make of a document otherwise than it was made then says nothing here.
    then = set(recorded.differences)
    own = replace(reading, differences=tuple(one for one in reading.differences if one not in then))
    return _history(own, recorded.reader, found)


async def _documents(
    feed: Feed, services: Services, since: datetime | None, until: datetime | None
) -> list[FetchRecord]:
    """The fetches of the span that brought a document, the oldest first, each body once in a row."""
    found: list[FetchRecord] = []
    after: str | None = None
    while True:
        page = await services.store.fetches(feed.id, after=after, limit=200)
        for fetch in page.items:
            is_old = since is not None and fetch.fetched_at < since
            is_new = until is not None and fetch.fetched_at >= until
            if fetch.body_sha256 and fetch.outcome != FULL_TEXT and not is_old and not is_new:
                found.append(replace(fetch, request_headers=(), response_headers=(), hops=()))
        after = page.next
        past = bool(page.items) and since is not None and page.items[-1].fetched_at < since
        if after is None or past:
            break
    found.reverse()
    return [
        fetch
        for number, fetch in enumerate(found)
        if number == 0 or fetch.body_sha256 != found[number - 1].body_sha256
    ]


def _against_fetch(fetch: FetchRecord, seen: int | None, reason: str) -> list[HistoryDifference]:
    was_read = fetch.outcome in _READ
    if seen is None:
        changed = (fetch.outcome, reason)
        return [_of_fetch("unreadable", fetch, changed)] if was_read else []
    if not was_read:
        return [_of_fetch("readable", fetch, (fetch.outcome, f"{seen} entries"))]
    # A ping or a page of an archive is counted as a part of its feed: there is nothing to compare.
    if fetch.outcome == "fresh" and fetch.entries_seen != seen:
        return [_of_fetch("entries", fetch, (str(fetch.entries_seen), str(seen)))]
    return []


def _against_row(
    entry: EntryReading, rows: dict[IdentityKey, KnownEntry], *, is_recent: bool
) -> Iterator[HistoryDifference]:
    row = next((rows[key] for key in entry.keys if key in rows), None)
    if row is None:
        yield _of_entry("missed", entry)
        return
    if entry.keys[0] not in row.keys:
        yield _of_entry("identity", entry)
    alike = recipe_of(row.content_version)[1] == recipe_of(entry.content_version)[1]
    if is_recent and row.content_hash is not None and not row.removed and alike:
        yield from _changed(entry, row.field_digests, row.article_hash)


def _changed(
    entry: EntryReading, fields: tuple[tuple[str, str], ...], article_hash: str | None
) -> Iterator[HistoryDifference]:
    before = dict(fields)
    names = {name for name, digest in entry.fields if before.get(name, digest) != digest}
    if names & _DATES:
        yield _of_entry("dates", entry, names & _DATES)
    if names - _DATES:
        yield _of_entry("content", entry, names - _DATES)
    if article_hash is not None and article_hash != entry.article_hash:
        yield _of_entry("article", entry)


def _reading_of(seen: Identified) -> EntryReading:
    return EntryReading(
        entry_uid=seen.entry_uid,
        title=seen.entry.title,
        keys=(*seen.keys, *seen.spare_keys),
        article_hash=seen.article_hash,
        content_version=seen.content_version,
        fields=seen.field_digests,
    )


def _of_entry(
    kind: DifferenceKind, entry: EntryReading, changed: set[str] | frozenset[str] = frozenset()
) -> HistoryDifference:
    return HistoryDifference(
        kind=kind, subject=entry.entry_uid, changed=tuple(sorted(changed)), title=entry.title
    )


def _of_fetch(
    kind: DifferenceKind, fetch: FetchRecord, changed: tuple[str, ...]
) -> HistoryDifference:
    return HistoryDifference(kind=kind, subject=fetch.fetch_id, changed=changed)


def _history(reading: FeedReading, before: str, found: list[HistoryDifference]) -> FeedHistory:
    return FeedHistory(
        feed_id=reading.feed_id,
        reader=reading.reader,
        before=before,
        documents=reading.documents,
        missing=reading.missing,
        entries=len(reading.entries),
        differences=(*reading.differences, *found),
    )
