"""The named recipes behind every stored hash (D10, D11).

A recipe never changes; a better one gets a new name, and the name is stored beside the hash.
None of them contains the current time, so reading a document twice gives the same hashes.

Fields that a publisher changes with every request: counters, stamps, ids of the request (17.5).

They are learnt per feed. A field of one and the same entry that differs in document after document is
*masked*: numbers and ids in it no longer count as a change, dates count not at all, and a guid is no
longer an identity. When it still differs in most entries, as random blocks of text do, it is *ignored*.
What changes is stored as before; only nothing is announced. After a while it is learnt anew.
"""

import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from feedmill.model.entry import Entry
from feedmill.model.feed import VolatileField
from feedmill.model.identity import (
    NO_LIST,
    NO_VALUE,
    Changes,
    FieldDigests,
    Revised,
    UnchangedEntry,
)

CONTENT_V1 = "content-v1"
ARTICLE_V1 = "article-v1"

ARTICLE_PREFIX_CHARS = 100  # 003 HASH_SUMMARY_PREFIX_LEN
FALLBACK_SUMMARY_CHARS = 200  # 001 summary_head_200
_EXACT: Final[Mapping[str, int]] = {}
GUID: Final = "guid"
MASKED: Final = 1
IGNORED: Final = 2
DATES: Final = frozenset({"published", "updated"})

_OF_MOST: Final = 3  # documents in a row, when at least half of the known entries differ
_OF_SOME: Final = 6  # when it is always the same few
_LEAST: Final = 3  # known entries in a document, before a field is ignored altogether
_REMEMBERED: Final = 16  # entries of which the change is followed
_FORGOTTEN_AFTER: Final = timedelta(days=90)  # publishers repair their feeds

_WORD: Final = re.compile(r"[\w-]++")
_NUMBERS: Final = re.compile(r"#(?:[.,:'\u2019\s]#)++")


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


def learn_volatile(
    known: tuple[VolatileField, ...], changes: Changes, now: datetime
) -> tuple[VolatileField, ...]:
    """What is known of volatile fields after a document; a document without known entries says nothing."""
    again = 0
    changed: defaultdict[str, list[int]] = defaultdict(list)
    for one in changes.changes:
        if isinstance(one, UnchangedEntry):
            again += 1
            names = _changed(one) if one.new_keys else ()
        elif isinstance(one, Revised):
            again += 1
            names = _changed(one)
        else:
            continue
        for name in names:
            changed[name].append(one.known.entry_id)
    if not again or not (changed or known or changes.is_renumbered):
        return known
    before = {one.name: one for one in known}
    found = (
        _follow(before.get(name), name, changed.get(name, []), again, now)
        for name in sorted({*before, *changed})
    )
    learnt = {one.name: one for one in found if one is not None}
    if changes.is_renumbered:
        learnt[GUID] = VolatileField(name=GUID, level=MASKED, since=now)
    return tuple(learnt.values())


def volatile_levels(fields: Iterable[VolatileField]) -> dict[str, int]:
    """The fields that do not count as they are, each with how little it counts."""
    return {one.name: one.level for one in fields if one.level}


def mask_numbers(text: str) -> str:
    """The text with every word that has a digit in it, and every number of several groups, as one sign."""
    return _NUMBERS.sub("#", _WORD.sub(_masked, text))


def volatile_in_words(fields: Iterable[VolatileField]) -> tuple[str, ...]:
    """What was learnt, one sentence for each field."""
    return tuple(_words(one) for one in fields if one.level)


def recipe_suffix(levels: Mapping[str, int]) -> str:
    """What the name of a content hash carries, so that only alike hashes are compared."""
    return (
        "~" + ",".join(f"{name}:{level}" for name, level in sorted(levels.items()))
        if levels
        else ""
    )


def recipe_of(version: str | None) -> tuple[str, dict[str, str]]:
    """The name of a content hash without its volatile fields, and these with their levels."""
    plain, _, rest = (version or "").partition("~")
    return plain, dict(one.split(":") for one in rest.split(",")) if rest else {}


def _changed(one: Revised | UnchangedEntry) -> Iterable[str]:
    if any(key.type == GUID for key in one.new_keys):
        yield GUID
    if isinstance(one, Revised) and not one.restored:
        yield from (name for name in one.changed if name != "unknown")


def _follow(
    before: VolatileField | None, name: str, changed: list[int], again: int, now: datetime
) -> VolatileField | None:
    level, since = (0, None) if before is None else (before.level, before.since)
    if since is not None and now - since >= _FORGOTTEN_AFTER:
        level, since = 0, None
    followed = changed if before is None or not before.entries else _both(before.entries, changed)
    row = 1 if before is None or not followed or not before.entries else before.row + 1
    followed = followed or changed
    is_most = 2 * len(changed) >= again
    if level < IGNORED and row >= (_OF_MOST if is_most else _OF_SOME):
        if level == 0:
            return VolatileField(name=name, level=MASKED, since=now)
        if is_most and again >= _LEAST:
            return VolatileField(name=name, level=IGNORED, since=since)
    if not followed and not level:
        return None
    entries = tuple(sorted(followed)[:_REMEMBERED])
    return VolatileField(
        name=name, level=level, since=since, row=row if entries else 0, entries=entries
    )


def _both(before: tuple[int, ...], changed: list[int]) -> list[int]:
    return sorted({*before} & {*changed})


def _masked(word: re.Match[str]) -> str:
    text = word[0]
    return "#" if any(map(str.isdigit, text)) else text


def _words(one: VolatileField) -> str:
    field = one.name.replace("_", " ")
    if one.name == GUID:
        effect = "entries are recognised by their links"
    elif one.level == IGNORED or one.name in DATES:
        effect = "a change of it is stored but not announced"
    else:
        effect = "a change of its numbers and ids alone is stored but not announced"
    return f"The publisher changes the {field} of entries with every request: {effect}."
