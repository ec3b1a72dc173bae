"""Identity of entries: their keys, the stored rows they match, and what a document changed.

Entry -> Identified ; Identified x KnownEntry -> Added | Revised | Touched | Skipped
                                                 | Rekeyed | Conflict

Digests of an entry's fields, and the short text that SQLite keeps of them: 74 octets of an entry instead of 380.

Most fields of most entries are empty. So the names are left out, an empty field is one character, and any other digest is
11 characters of base64. The text is JSON, as before: a list of pairs of name and digest, which rows of earlier
versions still have and which says what the short one cannot. PostgreSQL keeps the list: during a rolling upgrade processes of the
version before read the rows of this one.
"""
# Tested in tests/unit/publish/test_events.py
# Tested in tests/unit/identify/test_field_digests.py

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

from feedmill.model.base import Value
from feedmill.model.entry import Entry
from feedmill.model.parsed import Slice

KeyType = Literal["guid", "alias", "canonical_url", "legacy_guid", "fallback_hash"]
MatchedBy = Literal[
    "guid",
    "alias",
    "canonical_url",
    "legacy_guid",
    "fallback_hash",
    "item",  # the same item word for word
    "rekey",  # link and title, among many others (D9)
    "slice",  # the same bytes (D31)
]
Confidence = Literal["high", "low"]
ArticleFate = Literal[
    "new",  # no feed has published this article yet
    "same",  # the entry's own article, unchanged
    "duplicate",  # another source has it: a skipped article and a kept entry (D10)
    "none",  # neither title, link nor summary: there is nothing to hash
]
FieldDigests: TypeAlias = tuple[tuple[str, str], ...]

# In the order of `content-v1`, which never changes.
FIELDS: Final = (
    "title", "link", "summary", "content", "authors", "categories", "enclosures", "published",
    "updated", "image", "comments_url", "language",
)  # fmt: skip
NO_VALUE: Final = "74234e98afe7498f"  # the digest of null
NO_LIST: Final = "4f53cda18c2baa0c"  # and of []

_EMPTY: Final = {NO_VALUE: ".", NO_LIST: ","}
_EMPTY_DIGESTS: Final = {mark: digest for digest, mark in _EMPTY.items()}
_parts: Final = re.compile("[.,]|[^.,]{11}").findall
_decode: Final = msgspec.json.Decoder(FieldDigests | str).decode
_encode: Final = msgspec.json.Encoder().encode


class IdentityKey(Value):
    """One row of entry_identities; (type, value) is unique over all entries (D7)."""

    type: KeyType
    value: str


class FeedIdentity(Value):
    """The feed as identity sees it; `feed_key` was frozen at the first insert and scopes guids."""

    feed_id: str
    feed_key: str
    ignored_guids: tuple[str, ...] = ()  # learnt from earlier documents (D8)
    ignored_links: tuple[str, ...] = ()
    volatile: Mapping[str, int] = {}  # fields that the publisher changes with every request


class Identified(Value):
    """An entry with everything it can be recognised by."""

    entry: Entry
    guid: str | None  # None also when the feed's guids mean nothing
    link: str | None  # policy identity-v1
    link_is_shared: bool  # other items of the document have it too: it identifies none
    keys: tuple[IdentityKey, ...]  # strongest first
    spare_keys: tuple[IdentityKey, ...]  # asked for always, registered when a key is taken
    dedupe_key: str
    entry_uid: str  # for a new row; a known row keeps its own
    title_hash: str | None
    item_hash: str
    content_hash: str
    content_version: str
    field_digests: FieldDigests
    article_hash: str | None
    article_version: str
    match_confidence: Confidence = "high"


class KnownEntry(Value):
    """What the store knows of one row; None where an old or expired row lacks it."""

    entry_id: int
    entry_uid: str
    feed_id: str | None  # None for a row that was imported without its feed
    guid: str | None = None
    canonical_link: str | None = None
    keys: tuple[IdentityKey, ...] = ()
    title_hash: str | None = None
    item_hash: str | None = None
    content_hash: str | None = None  # None once retention took the content (D13)
    content_version: str | None = None
    stored_digests: str | None = None  # of each field, as a store keeps them
    article_hash: str | None = None
    slice_digest: str | None = None
    slice_length: int | None = None
    published: datetime | None = None
    updated: datetime | None = None
    removed: bool = False
    legacy: bool = False  # found by its dedupe_key: its keys are not registered yet (000 step 4)

    @property
    def field_digests(self) -> FieldDigests:
        """The digest of each field; none where none are stored or they cannot be read.

        Read when they are asked for: of the thirty rows of a document hardly one is ever compared by field.
        """
        try:
            return digests_of(self.stored_digests or "[]")
        except msgspec.DecodeError:
            return ()


class Added(Value):
    """A row to insert, with the keys that no other row holds."""

    seen: Identified
    entry_uid: str
    new_keys: tuple[IdentityKey, ...]
    article: ArticleFate
    same_as: int | None = None  # a row of another feed with the same address, left untouched


class Revised(Value):
    """A known row whose content changed, or which came back after a removal."""

    known: KnownEntry
    seen: Identified
    matched_by: MatchedBy
    changed: tuple[str, ...]
    new_keys: tuple[IdentityKey, ...]
    article: ArticleFate
    restored: bool = False


class UnchangedEntry(Value):
    """A known row that was seen again unchanged; `seen` is None when only its slice was looked at."""

    known: KnownEntry
    matched_by: MatchedBy
    seen: Identified | None = None
    slice: Slice | None = None
    new_keys: tuple[IdentityKey, ...] = ()
    refresh: bool = False  # write the row's fields and hashes anew, but announce nothing


class Skipped(Value):
    """An item that repeats another of the same document; exactly one of the two fields is set."""

    seen: Identified
    repeats: Identified | None = None
    repeats_known: KnownEntry | None = None


class Remap(Value):
    """One entry of a re-keyed feed; the old key stays registered."""

    entry_id: int
    new: IdentityKey


class Rekeyed(Value):
    """The publisher gave most entries new guids at once (D9): one event, no new entries."""

    feed_id: str
    remaps: tuple[Remap, ...]


class Conflict(Value):
    """An entry whose keys point at several rows; the strongest won, nothing was re-pointed."""

    seen: Identified
    winner: KnownEntry
    losers: tuple[tuple[IdentityKey, int], ...]  # the key, and the row it belongs to


Change = Added | Revised | UnchangedEntry | Skipped | Rekeyed | Conflict


class ChangeSummary(Value):
    added: int = 0
    revised: int = 0
    touched: int = 0
    skipped: int = 0
    rekeyed: int = 0  # entries, not feeds
    conflicts: int = 0
    articles_skipped: int = 0
    history_rewritten: bool = False


_WRITTEN: Final = (Added, Revised)  # a union would be made anew for every entry


class Changes(Value):
    """What one document changed, in document order; a re-key comes first."""

    changes: tuple[Change, ...]
    summary: ChangeSummary
    ignored_guids: tuple[str, ...] = ()  # to be remembered with the feed
    ignored_links: tuple[str, ...] = ()
    is_renumbered: bool = False  # the guids only number the items of each document

    @property
    def written(self) -> tuple[Added | Revised, ...]:
        """The entries that come in or change."""
        return tuple([one for one in self.changes if isinstance(one, _WRITTEN)])

    @property
    def modified_count(self) -> int:
        """How many of those cleaning changed (003 §8: normalized_modified_count)."""
        return sum(bool(one.seen.entry.modified) for one in self.written)


class Removed(Value):
    """A row to mark as removed; it is never erased."""

    known: KnownEntry
    reason: Literal["tombstone", "absent"]
    when: datetime | None = None
    comment: str | None = None


def digests_text(digests: FieldDigests) -> str:
    """The digests as a store keeps them."""
    if tuple([name for name, _ in digests]) != FIELDS:
        return _encode(digests).decode()
    return f'"{"".join([_EMPTY.get(digest) or _short(digest) for _, digest in digests])}"'


def digests_of(text: str) -> FieldDigests:
    """The digests of a stored text; msgspec.DecodeError when it is none."""
    found: FieldDigests | str = _decode(text)
    if not isinstance(found, str):
        return found
    parts = _parts(found)
    if len(parts) != len(FIELDS) or len("".join(parts)) != len(found):
        message = "the digests of the fields cannot be read"
        raise msgspec.DecodeError(message)
    return tuple(zip(FIELDS, map(_long, parts), strict=True))


def _short(digest: str) -> str:
    return b2a_base64(bytes.fromhex(digest), newline=False)[:11].decode()


def _long(part: str) -> str:
    if part in _EMPTY_DIGESTS:
        return _EMPTY_DIGESTS[part]
    try:
        return a2b_base64(f"{part}=", strict_mode=True).hex()
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from error
