"""Identifies the entries of one document, and lists the keys to look up in the store.

Entries whose slice stands in the document again are recognised by its digest, without reading
them (D31).
"""

from collections.abc import Iterable, Mapping, Sequence

from feedmill.config import IdentifyConfig
from feedmill.identify import hashes
from feedmill.identify.document_profile import DocumentProfile, profile_document
from feedmill.identify.hashes import content_version
from feedmill.identify.keys import dedupe_key, entry_uid, identity_keys, spare_keys
from feedmill.model.entry import Entry
from feedmill.model.identity import (
    FeedIdentity,
    Identified,
    IdentityKey,
    KnownEntry,
    UnchangedEntry,
)
from feedmill.model.parsed import Slice


def identify(
    entries: Sequence[Entry],
    feed: FeedIdentity,
    config: IdentifyConfig,
    *,
    touched: Sequence[UnchangedEntry] = (),
    reader: str = "",
    profile: DocumentProfile | None = None,
) -> tuple[Identified, ...]:
    """Each entry with its keys and hashes, in document order.

    `touched` are the document's entries that were recognised by their slice alone; `reader` is
    the version of the parser and normaliser, a part of what content hashes can be compared with;
    `profile` is that of the document where it is at hand.
    """
    found = profile or profile_document(entries, feed, config, touched)
    return tuple(_identified(entry, feed, config, found, reader) for entry in entries)


def keys_of(seen: Iterable[Identified]) -> frozenset[IdentityKey]:
    """Every key to ask the store for; the rows it finds are what `diff` wants to know."""
    return frozenset(key for item in seen for key in (*item.keys, *item.spare_keys))


def articles_of(seen: Iterable[Identified]) -> frozenset[str]:
    """Every article hash to ask the store for (D10)."""
    return frozenset(item.article_hash for item in seen if item.article_hash is not None)


def known_slice_digests(
    known: Iterable[KnownEntry], reader: str = "", feed: FeedIdentity | None = None
) -> Mapping[str, int]:
    """The slice digests that the parser may pass over, with the length of each (0: unknown).

    Not those of removed or expired rows, which must be read again to come back, nor those that
    an older parser, normaliser or recipe read.
    """
    version = content_version(reader, {} if feed is None else feed.volatile)
    return {
        row.slice_digest: row.slice_length or 0
        for row in known
        if row.slice_digest is not None and _is_current(row, version)
    }


def match_unchanged(
    known: Iterable[KnownEntry], slices: Iterable[Slice]
) -> tuple[UnchangedEntry, ...]:
    """The rows whose slice stands in the document again, in document order, each once."""
    rows = {row.slice_digest: row for row in sorted(known, key=_entry_id, reverse=True)}
    found: dict[int, UnchangedEntry] = {}
    for piece in slices:
        row = rows.get(piece.digest)
        if row is not None and row.entry_id not in found:
            found[row.entry_id] = UnchangedEntry(known=row, matched_by="slice", slice=piece)
    return tuple(found.values())


def _identified(
    entry: Entry,
    feed: FeedIdentity,
    config: IdentifyConfig,
    profile: DocumentProfile,
    reader: str,
) -> Identified:
    raw_guid, link, feed_key = hashes.guid_of(entry), hashes.link_of(entry), feed.feed_key
    guid = None if raw_guid in profile.ignored_guids else raw_guid
    use_guid = guid is not None
    shared = link in profile.shared_links or link in profile.ignored_links
    prefix = config.hash_summary_prefix_len
    digests = hashes.field_digests(entry, feed.volatile)
    return Identified(
        entry=entry,
        guid=guid,
        link=link,
        link_is_shared=shared,
        keys=identity_keys(entry, feed_key, use_guid=use_guid, use_link=not shared),
        spare_keys=spare_keys(entry, feed_key, feed.feed_id, use_guid=use_guid),
        dedupe_key=dedupe_key(entry, feed_key, use_guid=use_guid, use_link=not shared),
        entry_uid=entry_uid(entry, feed_key, feed.feed_id, use_guid=use_guid),
        title_hash=hashes.title_hash(entry),
        item_hash=hashes.item_hash(entry, guid, feed_key),
        content_hash=hashes.content_hash(digests),
        content_version=hashes.content_version(reader, feed.volatile),
        field_digests=digests,
        article_hash=hashes.article_hash(entry, prefix),
        article_version=hashes.article_version(prefix),
        match_confidence="high" if use_guid or (link is not None and not shared) else "low",
    )


def _is_current(row: KnownEntry, version: str) -> bool:
    return not row.removed and row.content_hash is not None and row.content_version == version


def _entry_id(row: KnownEntry) -> int:
    return row.entry_id
