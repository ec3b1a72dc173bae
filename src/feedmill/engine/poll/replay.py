"""Replays stored documents through the present reader: the last one, or the history of a feed.

Of the last one it shows what would change, or writes it. The history is read the oldest first:

    read_history      every stored document of a span, in order: the last reading of each entry
    against_store     what would have been different from what the store holds
    against_reading   the same against the reading of another version, which `replay --record` wrote

Nothing is written. One feed is held in memory at a time, and of an entry its digests only.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Final, Literal

from msgspec.structs import replace

from feedmill.engine.documents.raw_documents import FULL_TEXT, load_document
from feedmill.engine.documents.read_document import (
    ComparedDocument,
    NotAFeed,
    read_and_compare,
    read_document,
    reader_version,
)
from feedmill.engine.documents.unscheduled import commit_unscheduled, unscheduled
from feedmill.engine.poll.fetch_record import with_reading
from feedmill.engine.poll.live_screening import apply_live_screen, held_rows
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services, each_page
from feedmill.errors import RAW_DAMAGE, BlobError
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES
from feedmill.identify.hashes import recipe_of
from feedmill.model.base import Value, filled
from feedmill.model.feed import Feed, FetchRecord
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import (
    Added,
    Change,
    Identified,
    IdentityKey,
    KnownEntry,
    Revised,
    UnchangedEntry,
)

DifferenceKind = Literal[
    "missed", "lost", "identity", "dates", "content", "article", "entries", "readable", "unreadable"
]
KINDS: Final[tuple[DifferenceKind, ...]] = DifferenceKind.__args__  # type: ignore[attr-defined]  # of a Literal
_DATES: Final = frozenset({"published", "updated"})
_READ: Final = SUCCESSFUL_OUTCOMES | {"replayed", "backfill"}
_KEYS_AT_ONCE: Final = 500


class EntryDifference(Value):
    """One entry that today's parser reads differently."""

    entry_uid: str
    kind: str  # "added", "revised", or "reread": the publisher's text is the same, our reading not
    changed: tuple[str, ...]
    title: str | None


class Replayed(Value):
    """What a feed's last document would be today."""

    feed_id: str
    fetch_id: str | None
    outcome: str
    differences: tuple[EntryDifference, ...] = ()
    unchanged: int = 0
    written: bool = False


async def replay(feed: Feed, services: Services, *, write: bool = False) -> Replayed:
    """Read the feed's last document again; the difference, and with `write` the commit of it."""
    fetch_id = feed.document_fetch_id
    fetch = await services.store.fetch(fetch_id) if fetch_id else None
    if fetch is None or fetch.body_sha256 is None:
        return Replayed(feed_id=feed.id, fetch_id=fetch_id, outcome="no-raw-document")
    document = await _load(fetch, services)
    if document is None:
        return Replayed(feed_id=feed.id, fetch_id=fetch_id, outcome="no-raw-document")
    read = await read_and_compare(
        document,
        feed,
        services.store,
        services.config,
        now=fetch.fetched_at,  # as if it had just arrived: replay never depends on today
        anew=True,
    )
    if isinstance(read, NotAFeed):
        return Replayed(feed_id=feed.id, fetch_id=fetch_id, outcome=read.reason)
    read = await apply_live_screen(read, feed, services)
    found = _differences(read)
    if write:
        await _write(feed, fetch, read, services)
    return Replayed(
        feed_id=feed.id,
        fetch_id=fetch_id,
        outcome="read",
        differences=found,
        unchanged=read.seen - len(found),
        written=write,
    )


async def _load(fetch: FetchRecord, services: Services) -> RawDocument | None:
    """The document of a fetch; None when it is not kept any more, is missing or damaged: `verify` names those."""
    try:
        return await load_document(fetch, services.store, services.blobs)
    except BlobError as problem:
        if problem.reason not in RAW_DAMAGE:
            raise
        return None


async def _write(
    feed: Feed, fetch: FetchRecord, read: ComparedDocument, services: Services
) -> None:
    now = services.clock.now()
    after = replace(feed, **read.facts)
    again = replace(
        fetch,
        fetch_id=services.clock.new_id(),
        scheduled_at=now,
        fetched_at=now,
        outcome="replayed",
    )
    again = with_reading(again, read)
    refresh = unscheduled(after, again, read.changes, read.removed, whole=True)
    await commit_unscheduled(replace(refresh, held=held_rows(read, again, now)), services.store)


def _differences(read: ComparedDocument) -> tuple[EntryDifference, ...]:
    return tuple(found for found in map(_difference, read.changes.changes) if found is not None)


def _difference(change: Change) -> EntryDifference | None:
    match change:
        case Added(seen=seen):
            return _entry_difference(change.entry_uid, "added", (), seen)
        case Revised(seen=seen):
            return _entry_difference(change.known.entry_uid, "revised", change.changed, seen)
        case UnchangedEntry(refresh=True, seen=Identified() as seen):
            changed = _changed_fields(change.known, seen)
            return (
                _entry_difference(change.known.entry_uid, "reread", changed, seen)
                if changed
                else None
            )
        case _:
            return None


def _changed_fields(row: KnownEntry, seen: Identified) -> tuple[str, ...]:
    before = dict(row.field_digests)
    return tuple(name for name, digest in seen.field_digests if before.get(name) != digest)


def _entry_difference(
    entry_uid: str, kind: str, changed: tuple[str, ...], seen: Identified
) -> EntryDifference:
    return EntryDifference(entry_uid=entry_uid, kind=kind, changed=changed, title=seen.entry.title)


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
    missing: int = 0  # documents that are not kept any more, or cannot be read
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
        document = await _load(fetch, services)
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
    read = services.store.fetches
    async for page in each_page(lambda after: read(feed.id, after=after, limit=200)):
        for fetch in page.items:
            is_old = since is not None and fetch.fetched_at < since
            is_new = until is not None and fetch.fetched_at >= until
            if fetch.body_sha256 and fetch.outcome != FULL_TEXT and not is_old and not is_new:
                found.append(replace(fetch, request_headers=(), response_headers=(), hops=()))
        if page.items and since is not None and page.items[-1].fetched_at < since:
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
    entries, differences = len(reading.entries), (*reading.differences, *found)
    return filled(FeedHistory, reading, before=before, entries=entries, differences=differences)
