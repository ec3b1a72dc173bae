"""Entries as rows and back: what is stored, what identity knows of them, what they were before."""
# Tested in tests/contracts/store/

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from feedmill.adapters.store.statements import RowStatement, named_values, position
from feedmill.adapters.store.tables.codec import (
    NEVER,
    Column,
    Row,
    RowCodec,
    json_or_null,
    micros_or_none,
)
from feedmill.errors import CursorError
from feedmill.model.addresses import mask_address
from feedmill.model.event import RawRef, Revision, StoredArticle, StoredEntry
from feedmill.model.identity import FieldDigests, Identified, IdentityKey, KnownEntry
from feedmill.model.page import EntryOrder

KNOWN_COLUMNS: Final = (
    "e.entry_id, e.entry_uid, f.id, e.guid, e.canonical_link, e.title_hash, e.item_hash,"
    " e.content_hash, e.content_version, e.field_digests, e.article_hash, e.slice_digest,"
    " e.slice_length, e.published, e.updated, e.removed_at"
)
# The same for what retention left of an entry.
TOMBSTONE_COLUMNS: Final = (
    "e.entry_id, e.entry_uid, f.id, e.guid, e.canonical_link, e.title_hash, e.item_hash,"
    " NULL, NULL, NULL, e.article_hash, NULL, NULL, NULL, NULL, e.removed_at"
)
# An entry of the current document was last seen when the document was.
LAST_SEEN: Final = (
    "CASE WHEN e.in_document = 1 AND f.confirmed_at > e.last_seen"
    " THEN f.confirmed_at ELSE e.last_seen END"
)
SEEN_COUNT: Final = (
    "CASE WHEN e.in_document = 1"
    " THEN e.seen_count + f.confirmations - e.confirmation ELSE e.seen_count END"
)
STORED_COLUMNS: Final = (
    f"e.entry_uid, f.id, e.first_seen, {LAST_SEEN}, {SEEN_COUNT},"
    " e.content_hash, e.dedupe_key, e.match_confidence, e.guid, e.link, e.canonical_link, e.title,"
    " e.summary, e.content, e.authors, e.categories, e.enclosures, e.published, e.updated,"
    " e.published_effective, e.published_source, e.language, e.image, e.comments_url,"
    " e.article_hash, e.revisions, e.removed_at, e.backfill, f.url, f.title,"
    " coalesce(r.article_hash, e.article_hash, e.entry_uid), r.entry_uid, e.cluster_no,"
    " e.fetch_id, e.slice_offset, e.slice_length, @earlier_refs(e)"
)
# `r` is the first entry that carried the article.
FROM_ENTRIES: Final = (
    "FROM entries e JOIN feeds f ON f.feed_no = e.feed_no"
    " LEFT JOIN entries r ON r.entry_id = e.same_as"
)
# Entries that carry an article which another one carried before: all point to that first one.
# For entries whose article or address is known elsewhere; nothing else has a reason to ask.
POINT_TO_FIRST: Final = (
    "UPDATE entries SET same_as = coalesce((SELECT nullif(coalesce(t.same_as, t.entry_id), entries.entry_id)"
    " FROM entries t WHERE t.entry_id = coalesce(entries.same_as,"
    " (SELECT a.entry_id FROM articles a WHERE a.article_hash = entries.article_hash))), same_as)"
)
# What is written anew whenever an entry's content is.
CONTENT_COLUMNS: Final = (
    "dedupe_key", "match_confidence", "guid", "link", "canonical_link", "title", "summary",
    "content", "authors", "categories", "enclosures", "published", "updated",
    "published_effective", "published_source", "language", "image", "comments_url",
    "content_hash", "content_version", "field_digests", "title_hash", "item_hash",
    "article_hash", "fetch_id", "slice_offset", "slice_length", "slice_digest",
)  # fmt: skip

# How it is written.
_CONTENT: Final = ", ".join(CONTENT_COLUMNS)
_NEW_COLUMNS: Final = (
    "entry_uid", "feed_no", "first_seen", "in_document", "confirmation", "same_as", "backfill",
    *CONTENT_COLUMNS,
)  # fmt: skip
_REWRITTEN: Final = ("entry_id", "revisions", *CONTENT_COLUMNS)


def _rewritten(row: str) -> list[str]:
    """The new values; an undated entry stays where it was first seen: the reader knows only when it read it."""
    undated = f"CASE :published_source WHEN 'first_seen' THEN {row}.first_seen ELSE :published_effective END"
    return [undated if name == "published_effective" else f":{name}" for name in CONTENT_COLUMNS]


INSERT: Final = RowStatement(
    _NEW_COLUMNS,
    "INSERT INTO entries (entry_uid, feed_no, first_seen, last_seen, seen_count, in_document,"
    f" confirmation, same_as, backfill, {_CONTENT}) SELECT :entry_uid, :feed_no, :first_seen, :first_seen, 1,"
    f" :in_document, :confirmation, :same_as, :backfill, {named_values(CONTENT_COLUMNS)} @from WHERE TRUE"
    " ON CONFLICT (entry_uid) DO NOTHING RETURNING entry_uid, entry_id",
)
REWRITE: Final = RowStatement(
    _REWRITTEN,
    f"UPDATE entries SET {', '.join(map(' = '.join, zip(CONTENT_COLUMNS, _rewritten('entries'), strict=True)))},"
    " revisions = entries.revisions + :revisions, removed_at = NULL, removed_reason = NULL,"
    " removed_comment = NULL @from WHERE entries.entry_id = :entry_id RETURNING entries.entry_id",
)
REVIVE: Final = RowStatement(
    _REWRITTEN,
    "INSERT INTO entries (entry_id, entry_uid, feed_no, first_seen, last_seen, seen_count,"
    f" revisions, {_CONTENT}) SELECT t.entry_id, t.entry_uid, t.feed_no, t.first_seen, t.last_seen,"
    f" t.seen_count, t.revisions, {', '.join(_rewritten('t'))}"
    " FROM tombstones t @also WHERE t.entry_id = :entry_id",
)

_refs: Final = msgspec.json.Decoder(tuple[tuple[str, int | None, int | None], ...]).decode


def content_row(
    seen: Identified, fetch_id: str, first_seen: int, digests_text: Callable[[FieldDigests], str]
) -> Row:
    """The CONTENT_COLUMNS of an entry; an undated one stands where it was first seen (D11)."""
    entry, piece = seen.entry, seen.entry.slice
    effective = micros_or_none(entry.published_effective)
    return (
        seen.dedupe_key,
        seen.match_confidence,
        seen.guid,
        entry.link,
        seen.link,
        entry.title,
        entry.summary,
        entry.content,
        json_or_null(entry.authors),
        json_or_null(entry.categories),
        json_or_null(entry.enclosures),
        micros_or_none(entry.published),
        micros_or_none(entry.updated),
        first_seen if effective is None else effective,
        "first_seen" if effective is None else entry.published_source or "first_seen",
        entry.language,
        entry.image,
        entry.comments_url,
        seen.content_hash,
        seen.content_version,
        digests_text(seen.field_digests),
        seen.title_hash,
        seen.item_hash,
        seen.article_hash,
        fetch_id,
        None if piece is None else piece.offset,
        None if piece is None else piece.length,
        None if piece is None else piece.digest,
    )


# Of entries `e` without any key, as an older version or another program left them (000 step 4).
WITHOUT_KEYS: Final = " NOT EXISTS (SELECT 1 FROM entry_identities i WHERE i.entry_id = e.entry_id)"
_LEGACY: Final = {"guid": "guid", "canonical_url": "url", "fallback_hash": "hash"}
_KEY_TYPES: Final = {prefix: kind for kind, prefix in _LEGACY.items()}


def dedupe_keys_of(keys: Sequence[IdentityKey]) -> list[str]:
    """The `dedupe_key`s of entries that these keys mean."""
    return [f"{_LEGACY[key.type]}:{key.value}" for key in keys if key.type in _LEGACY]


def legacy_known(found: KnownEntry, dedupe_key: str, taken: set[IdentityKey]) -> KnownEntry | None:
    """An entry without keys with the one that its `dedupe_key` stands for; None when another entry has that."""
    prefix, _, value = dedupe_key.partition(":")
    key = IdentityKey(type=_KEY_TYPES[prefix], value=value)  # type: ignore[arg-type]  # a kind of key
    return None if key in taken else replace(found, keys=(key,), legacy=True)


_KNOWN: Final = RowCodec(
    KnownEntry,
    "entry_id entry_uid feed_id guid canonical_link title_hash item_hash content_hash content_version stored_digests"
    " article_hash slice_digest slice_length published updated removed",
    "keys",
    table="entries",
    removed=Column(None, lambda _at: True, empty=False),
)


def known_of(row: Row, keys: Sequence[tuple[Any, str]]) -> KnownEntry:
    """What is known of an entry: a row of KNOWN_COLUMNS or TOMBSTONE_COLUMNS, and its keys."""
    return _KNOWN.value(row, tuple(IdentityKey(type=kind, value=value) for kind, value in keys))


_STORED: Final = RowCodec(
    StoredEntry,
    "entry_uid feed_id first_seen last_seen seen_count content_hash dedupe_key match_confidence guid link"
    " canonical_link title summary content authors categories enclosures published updated published_effective"
    " published_source language image comments_url article_hash revisions removed_at backfill feed_url feed_title"
    " article_id duplicate_of cluster_id",
    "raw_refs",
    table="entries",
    dedupe_key=Column(None, mask_address),
    feed_url=Column(None, mask_address),
    cluster_id=Column(None, lambda number: f"c{number}"),
)


def stored_of(row: Row) -> StoredEntry:
    """The entry of a row of STORED_COLUMNS."""
    *own, fetch_id, offset, length, earlier = row
    raw: tuple[RawRef, ...] = (
        () if fetch_id is None else (RawRef(fetch_id=fetch_id, offset=offset, length=length),)
    )
    if earlier:
        raw += tuple(RawRef(fetch_id=at, offset=o, length=n) for at, o, n in _refs(earlier))
    return _STORED.value(own, raw)


# A row of REVISIONS.
revision_of: Final = RowCodec(
    Revision,
    "entry_uid number replaced_at changed content_hash title summary content canonical_link published updated"
    " fetch_id",
    table="entry_revisions",
).value

# What entries are ordered by, and where it stands in a row of STORED_COLUMNS and the entry's number.
ENTRY_ORDERS: Final[dict[EntryOrder, tuple[tuple[str, ...], tuple[int, ...]]]] = {
    "first_seen": (("e.first_seen", "e.published_effective", "e.entry_id"), (2, 19, -1)),
    "published": (("e.published_effective", "e.entry_id"), (19, -1)),
    "relevance": (("e.entry_id",), (-1,)),  # of the entries that are ranked
}
_ARTICLE: Final = RowCodec(
    StoredArticle,
    "article_hash first_seen link entry_uid feed_id title published_effective",
    table="articles",
)
article_of: Final = _ARTICLE.value  # of a row of ARTICLES after the number of its entry
_DIGEST_CHARS: Final = 64
ARTICLES: Final = (
    "SELECT a.entry_id, a.article_hash, a.first_seen, a.link, e.entry_uid, f.id, e.title,"
    " e.published_effective FROM articles a LEFT JOIN entries e ON e.entry_id = a.entry_id"
    " LEFT JOIN feeds f ON f.feed_no = e.feed_no"
)
REVISIONS: Final = (
    "SELECT e.entry_uid, r.number, r.replaced_at, r.changed, r.content_hash, r.title,"
    " r.summary, r.content, r.canonical_link, r.published, r.updated, r.fetch_id"
    " FROM entry_revisions r JOIN entries e ON e.entry_id = r.entry_id"
)


def article_position(cursor: str | None) -> tuple[int, str]:
    """Where a page of articles begins."""
    if cursor is None:
        return NEVER, ""
    entry_id, _, digest = cursor.partition(".")
    (number,) = position(entry_id, 1) or (NEVER,)
    if digest.isdecimal() and len(digest) < _DIGEST_CHARS:  # of a list of entries
        raise CursorError(cursor)
    return number, digest
