"""Identifies the entries of a document by their keys.

The keys an entry is found by, strongest first (000, D7).

    guid           <feed key>:<guid>              the publisher's id, within the feed
    alias          address:<feed key>://host/path a guid that is an address, without scheme and www
    alias          path:<feed key>:/path          the same without its host
    canonical_url  the link under identity-v1
    legacy_guid    guid:<guid>                    historical, unscoped: believed only under guard
    fallback_hash  fallback-v1                    only without guid and link; low confidence

Spare keys, asked for always and registered when a regular one is taken:

    alias          url:<feed key>:<link>          another feed's entry has the unscoped link
    alias          uid:<uid-v1>                   002's tuple
    fallback_hash  item:<item-v1>                 the item and nothing but the item

Entries whose slice stands in the document again are recognised by its digest, without reading
them (D31).
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import ada_url
from msgspec.structs import replace

from feedmill.config import IdentifyConfig
from feedmill.identify import hashes
from feedmill.identify.document_profile import DocumentProfile, profile_document
from feedmill.identify.hashes import (
    content_version,
    fallback_hash,
    guid_of,
    item_hash,
    link_of,
    native_hash,
    text_hash,
    uid_hash,
)
from feedmill.model.entry import Entry
from feedmill.model.identity import (
    FeedIdentity,
    Identified,
    IdentityKey,
    KeyType,
    KnownEntry,
    UnchangedEntry,
)
from feedmill.model.parsed import Slice

# PostgreSQL refuses index rows over about 2,700 bytes; a longer key is replaced by its hash.
MAX_KEY_BYTES = 2_000

_HTTP = re.compile(r"https?://(?:www\.)?(?=[^/?#])")
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
# Where the feed key stands in a key: after the prefix, before the mark.
_SCOPES: tuple[tuple[KeyType, str, str], ...] = (
    ("guid", "", ":"),
    ("alias", "address:", "://"),
    ("alias", "path:", ":"),
    ("alias", "url:", ":"),
)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def identity_keys(
    entry: Entry, feed_key: str, *, use_guid: bool = True, use_link: bool = True
) -> tuple[IdentityKey, ...]:
    """Every key to register for the entry, strongest first; never empty.

    `use_guid` and `use_link` are off where the document shows that they identify no entry (D8).
    """
    guid = guid_of(entry) if use_guid else None
    link = link_of(entry) if use_link else None
    keys: list[IdentityKey] = []
    if guid is not None:
        keys.append(_key("guid", f"{feed_key}:{guid}"))
        keys.extend(_aliases(guid, entry.guid_is_permalink, feed_key))
    if link is not None:
        keys.append(_key("canonical_url", link))
    if guid is not None:
        keys.append(_key("legacy_guid", f"guid:{guid}"))
    if not keys:
        keys.append(_key("fallback_hash", fallback_hash(entry, feed_key)))
    return tuple(keys)


def spare_keys(
    entry: Entry, feed_key: str, feed_id: str, *, use_guid: bool = True
) -> tuple[IdentityKey, ...]:
    """Keys to ask for besides, and to register when a regular one belongs to another row.

    The item's own hash; 002's tuple; and the link, both as it is (the document may share a link
    that used to be one entry's own) and scoped to the feed (another feed may have it already).
    """
    guid = guid_of(entry) if use_guid else None
    link = link_of(entry)
    keys = [
        item_key(item_hash(entry, guid, feed_key)),
        IdentityKey(type="alias", value=f"uid:{uid_hash(entry, feed_id)}"),
    ]
    if link is not None:
        keys += [_key("canonical_url", link), scoped_url_key(link, feed_key)]
    return tuple(keys)


def dedupe_key(entry: Entry, feed_key: str, *, use_guid: bool = True, use_link: bool = True) -> str:
    """000's readable snapshot of the strongest key: guid:…, url:… or hash:…"""
    guid = guid_of(entry) if use_guid else None
    link = link_of(entry) if use_link else None
    if guid is not None:
        return f"guid:{_bounded(f'{feed_key}:{guid}')}"
    if link is not None:
        return f"url:{_bounded(link)}"
    return f"hash:{fallback_hash(entry, feed_key)}"


def entry_uid(entry: Entry, feed_key: str, feed_id: str, *, use_guid: bool = True) -> str:
    """The public id of a new entry: feed-scoped, of fixed length, safe in a URL path.

    The native id is hashed with its feed: alone it is neither unique (two feeds may both call an
    item "1") nor bounded. Without one, 002 §4.4's tuple.
    """
    guid = guid_of(entry) if use_guid else None
    if guid is not None:
        return f"guid:{native_hash(guid, feed_key)}"
    return f"hash:{uid_hash(entry, feed_id)}"


def item_key(digest: str) -> IdentityKey:
    """The key of last resort: the hash that only repeats of an item share."""
    return IdentityKey(type="fallback_hash", value=f"item:{digest}")


def scoped_url_key(link: str, feed_key: str) -> IdentityKey:
    """The link within its feed, for when the unscoped one belongs to another feed's entry."""
    return _alias("url", f"{feed_key}:{link}")


def rescoped_key(key: IdentityKey, old_key: str, feed_key: str) -> IdentityKey | None:
    """The same key within another feed; None for one that names no feed, or hides it in a hash."""
    for kind, prefix, scope in _SCOPES:
        head = f"{prefix}{old_key}{scope}"
        if key.type == kind and key.value.startswith(head):
            value = f"{feed_key}{scope}{key.value[len(head) :]}"
            return IdentityKey(type=kind, value=f"{prefix}{_bounded(value)}")
    return None


def address_tail(url: str) -> str | None:
    """What follows the host; None for the root or anything that is no web address."""
    address = _HTTP.match(url)
    if address is None:
        return None
    rest = url[address.end() :]
    cut = re.search(r"[/?#]", rest)
    tail = rest[cut.start() :] if cut else ""
    return None if tail in ("", "/") else tail


def _aliases(guid: str, is_permalink: bool, feed_key: str) -> list[IdentityKey]:
    # Scheme and www flips are the commonest change of a guid (feedbin, pushpress #15).
    address = _canonical_address(guid) if is_permalink else guid
    found = _HTTP.match(address)
    if found is None:
        return []
    aliases = [_alias("address", f"{feed_key}://{address[found.end() :]}")]
    tail = address_tail(address)
    if tail is not None:
        aliases.append(_alias("path", f"{feed_key}:{tail}"))
    return aliases


def _canonical_address(guid: str) -> str:
    """A permalink with host case, default port and needless escapes undone.

    Only a permalink may be treated as an address; any other id is compared as it stands
    (RFC 4287 4.2.6.1).
    """
    try:
        url = ada_url.URL(guid)
    except ValueError:
        return guid
    return _ESCAPE.sub(_plainest, url.href)


def _plainest(escape: re.Match[str]) -> str:
    character = chr(int(escape[0][1:], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _key(kind: KeyType, value: str) -> IdentityKey:
    return IdentityKey(type=kind, value=_bounded(value))


def _alias(kind: str, value: str) -> IdentityKey:
    return IdentityKey(type="alias", value=f"{kind}:{_bounded(value)}")


def _bounded(value: str) -> str:
    if len(value.encode("utf-8", "surrogatepass")) <= MAX_KEY_BYTES:
        return value
    return f"sha256:{text_hash(value)}"


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


def without_guids(
    seen: Sequence[Identified],
    feed: FeedIdentity,
    config: IdentifyConfig,
    touched: Sequence[UnchangedEntry] = (),
) -> tuple[Identified, ...]:
    """The same entries, identified by everything but their guids."""
    found = identify([replace(one.entry, guid=None) for one in seen], feed, config, touched=touched)
    return tuple(
        replace(bare, content_version=one.content_version)
        for bare, one in zip(found, seen, strict=True)
    )


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
