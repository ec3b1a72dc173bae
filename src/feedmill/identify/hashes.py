"""The named recipes behind every stored hash (D10, D11).

A recipe never changes; a better one gets a new name, and the name is stored beside the hash.
None of them contains the current time, so reading a document twice gives the same hashes.
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from feedmill.identify.volatile import DATES, IGNORED, mask_numbers, recipe_suffix
from feedmill.model.entry import Entry
from feedmill.model.field_digests import NO_LIST, NO_VALUE, FieldDigests

CONTENT_V1 = "content-v1"
ARTICLE_V1 = "article-v1"

ARTICLE_PREFIX_CHARS = 100  # 003 HASH_SUMMARY_PREFIX_LEN
FALLBACK_SUMMARY_CHARS = 200  # 001 summary_head_200
_EXACT: Final[Mapping[str, int]] = {}


def guid_of(entry: Entry) -> str | None:
    """The publisher's id as a string, compared character by character; blank is missing."""
    return (entry.guid or "").strip() or None


def link_of(entry: Entry) -> str | None:
    """The link that identifies the entry; blank is missing."""
    return (entry.canonical_link or "").strip() or (entry.link or "").strip() or None


def field_digests(entry: Entry, volatile: Mapping[str, int] = _EXACT) -> FieldDigests:
    """A short digest of every normalised field, so that a revision can say what changed.

    The guid is left out: a new guid on the same content is no revision. So are the effective
    date, which may be first_seen, and what describes our reading rather than the entry. Of
    volatile fields only what lasts is hashed.
    """
    fields: dict[str, object] = {
        "title": entry.title,
        "link": link_of(entry),
        "summary": entry.summary,
        "content": entry.content,
        "authors": [[author.name, author.email, author.uri] for author in entry.authors],
        "categories": sorted(set(entry.categories)),
        "enclosures": [
            [e.url, e.type, e.length, e.title, e.duration]
            for e in entry.enclosures
            if not e.alternate  # another version of the file is no other entry
        ],
        "published": _instant(entry.published),
        "updated": _instant(entry.updated),
        "image": entry.image,
        "comments_url": entry.comments_url,
        "language": entry.language,
    }
    if volatile:
        fields = {name: _lasting(name, value, volatile) for name, value in fields.items()}
    return tuple([(name, _digest(value)) for name, value in fields.items()])


def content_hash(digests: FieldDigests) -> str:
    """`content-v1`: one hash over everything normalised, for change detection."""
    return _sha256(_json(digests))


def content_version(reader: str = "", volatile: Mapping[str, int] = _EXACT) -> str:
    """The recipe's name, with the version of the parser and normaliser that fed it (D31)."""
    recipe = f"{CONTENT_V1}+{reader}" if reader else CONTENT_V1
    return recipe + recipe_suffix(volatile)


def article_hash(entry: Entry, prefix_chars: int = ARTICLE_PREFIX_CHARS) -> str | None:
    """`article-v1`: 003 §4, equal over all sources; None when there is nothing to hash.

    NFKC and lower case happen here and only here (D18).
    """
    title = _collapse(unicodedata.normalize("NFKC", entry.title or "")).lower()
    summary = _beginning(unicodedata.normalize("NFKC", entry.summary or ""), prefix_chars)
    link = entry.article_link or link_of(entry) or ""
    if not (title or summary or link):
        return None
    # Undated: a constant of the link, never "now" (D11), or each reading would insert again.
    dated = _instant(entry.published or entry.updated) or f"fallback:{_sha256(link)[:8]}"
    return _sha256(f"{title}|{link}|{dated}|{summary}")


def article_version(prefix_chars: int = ARTICLE_PREFIX_CHARS) -> str:
    """The recipe's name; another prefix length is another recipe and says so."""
    return ARTICLE_V1 if prefix_chars == ARTICLE_PREFIX_CHARS else f"{ARTICLE_V1}/{prefix_chars}"


def fallback_hash(entry: Entry, feed_key: str) -> str:
    """`fallback-v1`: 000/001's last resort, feed|title|published|first 200 of the summary."""
    summary = _beginning(entry.summary or "", FALLBACK_SUMMARY_CHARS)
    parts = (feed_key, _collapse(entry.title or ""), _second(entry.published), summary)
    return _sha256("|".join(parts))


def uid_hash(entry: Entry, feed_id: str) -> str:
    """`uid-v1`: 002 §4.4's tuple as a JSON array, so that a missing field is not an empty one."""
    published = None if entry.published is None else _second(entry.published)
    return _sha256(_json([link_of(entry), entry.title, published, feed_id]))


def item_hash(entry: Entry, guid: str | None, feed_key: str) -> str:
    """`item-v1`: tells apart any two items that are not repeats of each other."""
    return _sha256(_json([feed_key, guid, link_of(entry), fallback_hash(entry, feed_key)]))


def title_hash(entry: Entry) -> str | None:
    """`title-v1`: the title without case, compatibility forms and white space; None if empty."""
    title = _collapse(unicodedata.normalize("NFKC", entry.title or "")).lower()
    return _sha256(title)[:16] if title else None


def native_hash(guid: str, feed_key: str) -> str:
    """A fixed-length stand-in for a publisher's id within its feed, safe in a URL."""
    return _sha256(_json([feed_key, guid]))


def text_hash(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return _sha256(text)


def as_utc(moment: datetime) -> datetime:
    """The same instant in UTC; a naive one is read as UTC, never in the machine's zone."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or last hours of the calendar
        return moment.replace(tzinfo=UTC)


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else as_utc(moment).isoformat()


def _second(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return as_utc(moment).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _beginning(text: str, chars: int) -> str:
    """The first characters of the collapsed text; of a long one, no more is collapsed than it takes."""
    found = _collapse(text[: 2 * chars])[:chars]
    return found if len(found) == chars else _collapse(text)[:chars]


def _lasting(name: str, value: object, volatile: Mapping[str, int]) -> object:
    level = volatile.get(name)
    if level is None or value is None:
        return value
    if level == IGNORED or name in DATES:
        return None
    return mask_numbers(value if isinstance(value, str) else _json(value))


def _digest(value: object) -> str:
    """The first half of a hash; most fields of most entries are empty, and that is known."""
    if not value:
        return NO_VALUE if value is None else NO_LIST
    return _sha256(value if isinstance(value, str) else _json(value))[:16]


def _json(value: object) -> str:
    """Compact JSON, the same on every machine."""
    try:
        return _encoder.encode(value).decode()
    except UnicodeEncodeError:  # a lone surrogate, which only the standard library writes
        return json.dumps(value, separators=(",", ":"))


def _sha256(text: str) -> str:
    # JSON feeds can smuggle in lone surrogates; hashing them must not raise.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_encoder = msgspec.json.Encoder()
