"""Parses a document and compares it with the entries that the store knows.

`read_and_compare` is the whole of it: `read_document` (pure) says what is in the bytes and which
keys to look up, one query recalls them, `compare` (pure) says what the document changes.
`candidate_of` shows an item to people and screeners before it becomes an entry.
"""
# Tested in tests/integration/engine/poll/

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from feedmill.config import Config
from feedmill.engine.ports.entries import CommitStore
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.identify.diff import diff
from feedmill.identify.document_profile import (
    DocumentProfile,
    apply_tombstones,
    profile_document,
    remove_absent,
    without_withdrawn,
)
from feedmill.identify.hashes import GUID, as_utc, volatile_levels
from feedmill.identify.keys import (
    articles_of,
    identify,
    identity_keys,
    keys_of,
    known_slice_digests,
    match_unchanged,
)
from feedmill.model.base import Value
from feedmill.model.candidate import WindowCandidate
from feedmill.model.entry import Entry, NormalisedFeed
from feedmill.model.feed import Feed
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import (
    Added,
    Changes,
    FeedIdentity,
    Identified,
    IdentityKey,
    KnownEntry,
    Removed,
    Revised,
    UnchangedEntry,
)
from feedmill.model.parsed import ParsedFeed, Tombstone, Unreadable
from feedmill.model.refresh import ExistingEntries
from feedmill.model.screening import LiveScreenState, Screening
from feedmill.normalise.entry import normalise
from feedmill.observe.traces import span
from feedmill.parse.document import parse_document

T = TypeVar("T")

_TYPES: Final = {"rss": "rss", "ato": "atom", "jso": "json"}
# The version of parser and normaliser together: another one reads every document again (D31).
READER: Final = "parse-6.normalise-6"
_PLAIN_READER: Final = "parse-6.as-published-1"

SUMMARY_CHARS: Final = 2_000  # of a candidate; the whole entry is in its document


class SameBody(Value):
    """The very bytes that were read the last time: there is nothing to do (H07)."""


class NotAFeed(Value):
    """The document is something else, and we know what."""

    reason: str
    detail: str


class ParsedDocument(Value):
    """A document that was read, and what to ask the store before it can be compared."""

    parsed: ParsedFeed
    clean: NormalisedFeed
    identity: FeedIdentity
    profile: DocumentProfile
    seen: tuple[Identified, ...]
    touched: tuple[UnchangedEntry, ...]
    rows: tuple[KnownEntry, ...]
    keys: tuple[IdentityKey, ...]
    article_hashes: tuple[str, ...]


class HeldChange(Value):
    """A new entry that is held for review, with its screening."""

    change: Added
    screening: Screening | None = None


class ComparedDocument(Value):
    """A document that was read and compared."""

    parsed: ParsedFeed
    clean: NormalisedFeed
    changes: Changes
    removed: tuple[Removed, ...]
    facts: dict[str, Any]
    new_dates: tuple[datetime | None, ...]  # of new entries, as they say; None: undated
    seen: int
    held: tuple[HeldChange, ...] = ()  # new entries that a live screen keeps back
    newly_held: int = 0  # of them, how many are new to it
    screening: LiveScreenState | None = None  # as it was when its entries were looked up
    waiting: int = 0  # entries that the feed's quotas leave for a later poll (quota.py)


async def read_and_compare(
    document: RawDocument,
    feed: Feed,
    store: CommitStore,
    config: Config,
    *,
    now: datetime,
    anew: bool = False,
    rows: tuple[KnownEntry, ...] | None = None,
) -> ComparedDocument | NotAFeed:
    """What a document changes, given everything that the store knows about its entries.

    `anew` reads every entry, also those whose bytes are known. `rows` stand in for the entries of
    the feed's last document. It is parsed in a thread, and a large one is compared in one.
    """
    if rows is None:
        rows = await store.current_document(feed.id, with_keys=False) if feed.id else ()
    reading = replace(feed, reader_version=None) if anew else feed
    in_thread = partial(off_loop, is_large=len(document.body) > config.run.parse_in_thread_bytes)
    parsed = await PARSE_THREADS.run(lambda: read_document(document, reading, rows, config, now))
    if isinstance(parsed, NotAFeed):
        return parsed
    with span("compare"):
        recalled = await _recall(parsed, feed, store)
        # Only a document that calls itself complete says something about entries that it lacks.
        everything = await store.unremoved_entries(feed.id) if parsed.parsed.complete else ()
        return await in_thread(
            lambda: compare(parsed, recalled, feed, config, everything=everything)
        )


async def off_loop(action: Callable[[], T], *, is_large: bool) -> T:
    """Work on a large document in a thread, so that the event loop goes on with the others."""
    return await asyncio.to_thread(action) if is_large else action()


def read_document(
    document: RawDocument,
    feed: Feed,
    rows: tuple[KnownEntry, ...],
    config: Config,
    now: datetime,
) -> ParsedDocument | NotAFeed:
    """Parse, normalise and identify; entries whose slice is known are only touched (D31).

    `rows` are the entries of the feed's last document; their keys are not looked at.
    """
    reader = reader_version(config)
    identity = FeedIdentity(
        feed_id=feed.id,
        feed_key=feed.feed_key,
        ignored_guids=feed.ignored_guids,
        ignored_links=feed.ignored_links,
        volatile=volatile_levels(feed.volatile_fields),
    )
    is_current = feed.reader_version == reader
    known = known_slice_digests(rows if is_current else (), reader, identity)
    with span("parse"):
        parsed = parse_document(document, config.parse, known)
    if isinstance(parsed, Unreadable):
        return NotAFeed(reason=parsed.reason, detail=parsed.detail)
    with span("normalise"):
        clean = normalise(parsed, url=document.url, config=config.normalise, seen_at=now)
    with span("identify"):
        touched = match_unchanged(rows, parsed.touched)
        alive = without_withdrawn(clean.entries, parsed.tombstones)
        if GUID in identity.volatile:
            alive = tuple(replace(entry, guid=None) for entry in alive)
        profile = profile_document(alive, identity, config.identify, touched)
        seen = identify(
            alive, identity, config.identify, touched=touched, reader=reader, profile=profile
        )
    return ParsedDocument(
        parsed=parsed,
        clean=clean,
        identity=identity,
        profile=profile,
        seen=seen,
        touched=touched,
        rows=rows,
        keys=(*keys_of(seen), *_grave_keys(parsed.tombstones, feed.feed_key)),
        article_hashes=tuple(articles_of(seen)),
    )


def reader_version(config: Config) -> str:
    """The version under which documents are read; texts as published are another reading."""
    return READER if config.normalise.enabled else _PLAIN_READER


async def classify_non_feed(document: RawDocument | None, config: Config) -> NotAFeed | None:
    """What a page is that was served instead of a feed: a login, a challenge, an error."""
    if document is None:
        return None
    parsed = await PARSE_THREADS.run(lambda: parse_document(document, config.parse))
    if isinstance(parsed, Unreadable):
        return NotAFeed(reason=parsed.reason, detail=parsed.detail)
    return None


def compare(
    document: ParsedDocument,
    recalled: ExistingEntries,
    feed: Feed,
    config: Config,
    *,
    everything: tuple[KnownEntry, ...] = (),
) -> ComparedDocument:
    """What the document changes, given the rows that hold any of its keys.

    `everything` is every row of the feed that was not removed; a document that calls itself
    complete is compared with it (RFC 5005 2).
    """
    by_id = {row.entry_id: row for row in (*document.rows, *recalled.known)}
    rows = tuple(by_id.values())
    identity, parsed = document.identity, document.parsed
    changes = diff(
        rows,
        document.seen,
        identity,
        config.identify,
        touched=document.touched,
        articles=recalled.articles,
        profile=document.profile,
    )
    removed = apply_tombstones(rows, parsed.tombstones, identity, document.clean.entries)
    if parsed.complete and not parsed.truncated:
        gone = {one.known.entry_id for one in removed}
        absent = remove_absent(everything or document.rows, changes, identity)
        removed += tuple(one for one in absent if one.known.entry_id not in gone)
    return ComparedDocument(
        parsed=parsed,
        clean=document.clean,
        changes=changes,
        removed=removed,
        facts=_facts(document, changes, feed, config),
        new_dates=dates_of(one for one in changes.changes if isinstance(one, Added)),
        seen=len(document.seen) + len(document.touched),
        screening=recalled.screening,
    )


def candidate_of(
    change: Added | Revised | UnchangedEntry,
    seen: Identified,
    *,
    feed_title: str | None,
    source: int = 0,
    document: int = 0,
) -> WindowCandidate:
    """An item of a document as a candidate that has no number yet."""
    entry = seen.entry
    summary, piece, at = entry.summary, entry.slice, publication_date_of(entry)
    elsewhere = isinstance(change, Added) and (
        change.same_as is not None or change.article == "duplicate"
    )
    return WindowCandidate(
        candidate_id=0,
        title=entry.title,
        published_at=at,
        feed_title=feed_title,
        url=entry.link,
        summary=None if summary is None else summary[:SUMMARY_CHARS],
        categories=entry.categories,
        dedupe_key=seen.dedupe_key,
        source=source,
        is_undated=at is None,
        is_known=not isinstance(change, Added),
        slice_offset=None if piece is None else piece.offset,
        slice_length=None if piece is None else piece.length,
        language=entry.language,
        document=document,
        is_known_elsewhere=elsewhere,
    )


def publication_date_of(entry: Entry) -> datetime | None:
    """When the publisher says it was published, or last changed; None: it does not say."""
    at = entry.published or entry.updated
    return None if at is None else as_utc(at)


async def _recall(document: ParsedDocument, feed: Feed, store: CommitStore) -> ExistingEntries:
    if not document.keys and not document.article_hashes:
        return ExistingEntries()  # every entry was recognised by its slice (D31)
    return await store.load_existing(feed.id, document.keys, document.article_hashes)


def _grave_keys(tombstones: tuple[Tombstone, ...], feed_key: str) -> tuple[IdentityKey, ...]:
    """What a tombstone names may have left the document long ago: it is asked for by its guid."""
    return tuple(
        identity_keys(Entry(guid=stone.ref.strip()), feed_key)[0]
        for stone in tombstones
        if stone.ref.strip()
    )


def _facts(
    document: ParsedDocument, changes: Changes, feed: Feed, config: Config
) -> dict[str, Any]:
    clean, parsed = document.clean, document.parsed
    return {
        "type": _TYPES[parsed.format[:3]],
        "title": clean.title or feed.title,
        "site_url": clean.link or feed.site_url,
        "self_url": clean.self_url,
        "hubs": parsed.hubs[:16],
        "reader_version": reader_version(config),
        "ignored_guids": changes.ignored_guids,
        "ignored_links": changes.ignored_links,
    }


def dates_of(added: Iterable[Added]) -> tuple[datetime | None, ...]:
    """When new entries were published as far as they say it; None for each that does not."""
    return tuple(publication_date_of(change.seen.entry) for change in added)
