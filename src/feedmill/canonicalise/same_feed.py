"""Whether two documents are one feed: by a signature of its bytes or content, or as formats of one blog.

Of formats of one blog (RSS, Atom, JSON) it says too which of them to take.

One feed in several formats has one title, one home page, and the same newest entries without a gap: a
category has entries of the whole too, but not all of a time, and a feed of comments has others. A podcast in
two qualities has the same entries with other files.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from feedmill.canonicalise.urls import http_url, split_url
from feedmill.model.canonical import FeedFacts, Proof, Seen
from feedmill.model.parsed import ParsedEntry, ParsedFeed

# The host runs up to a slash or a quote (an escaped one, inside JSON, too). Possessive, so that a
# megabyte without either is read once.
_ABSOLUTE = re.compile(r'https?://([^\s"\'<>\\/?#}@]++)(?:/|(?=\\?"))', re.IGNORECASE)
_TRAILING_SLASH = re.compile(r'("(?:https?://|/)[^"]+)/([?"])')

# Stamped anew by many servers on every answer, or saying only where the copy was fetched from (D4).
_VOLATILE = frozenset(
    (
        *("encoding", "encoding_source", "self_url", "link", "links", "published", "updated"),
        *("generator", "hubs", "base", "hints", "cloud", "repairs", "touched", "truncated", "ext"),
        *("current_url", "next_url", "prev_archive_url", "next_archive_url", "docs", "entries"),
    )
)
_LASTING = tuple(name for name in ParsedFeed.__struct_fields__ if name not in _VOLATILE)
_OF_ENTRIES = tuple(
    name for name in ParsedEntry.__struct_fields__ if name not in ("slice", "base", "ext")
)

# Their ids are `feed_url` and `rdf:about`.
_ADDRESS_AS_ID = frozenset({"json10", "json11", "rss090", "rss10", "rss11"})
_MAX_BYTES = 2_000_000  # then only the bytes themselves prove that two copies are one feed
# Where a text was fetched from stands beside it; inside a string its quotes would be escaped.
_BASE = re.compile(r',"base":(?:null|"(?:[^"\\]|\\.)*+")')
# All feeds without entries look alike, so their signature counts only on one and the same host.
_EMPTY = "empty: "
# Words by which a title only names its format.
FORMAT_WORDS: Final = re.compile(
    r"\b(?:rss|atom|rdf|json|xml|feed|0\.9\d?|1\.[01]|2\.0|0\.3)\b|[^\w]+", re.IGNORECASE
)
MAX_ITEMS: Final = 20  # entries of each that are compared
_MOST_BEHIND: Final = 3  # entries that a cached copy may lack
_FULL_SHARE: Final = 0.7  # of the longest texts: what has that much has full texts
_RANKS: Final = ("atom10", "rss20", "json11", "json10", "rss10", "rss11", "atom03")
_FORMAT_NAMES: Final = {"atom": "Atom", "json": "JSON Feed", "rss": "RSS"}


def feed_signature(feed: ParsedFeed) -> str:
    """The feed as JSON text without what changes from one answer to the next.

    Its own addresses still stand in it: two signatures are compared by `same_feed`, which knows
    where both came from. What is too long to be compared in a moment has none.
    """
    shape = [
        [_lasting(feed, name) for name in _LASTING],
        [[getattr(entry, name) for name in _OF_ENTRIES] for entry in feed.entries],
    ]
    encoded = msgspec.json.encode(shape)
    if len(encoded) > _MAX_BYTES:
        return ""
    text = _BASE.sub("", encoded.decode())
    return text if feed.entries else f"{_EMPTY}{text}"


def _lasting(feed: ParsedFeed, name: str) -> object:
    """A field of the feed; no id where that is only the address it was asked by."""
    if name == "id" and (feed.format in _ADDRESS_AS_ID or feed.id == feed.self_url):
        return None
    return getattr(feed, name)


def same_feed(one: Seen, other: Seen) -> Proof | None:
    """How two answers prove to be one feed: by the same bytes, by the same content, or not at all."""
    if not (one.is_feed and other.is_feed):
        return None
    if one.digest is not None and one.digest == other.digest:
        return "content"
    if not one.signature or not other.signature:
        return None
    if one.signature.startswith(_EMPTY) and _own_host(one.final_url) != _own_host(other.final_url):
        return None
    urls = (one.url, one.final_url, other.url, other.final_url)
    is_same = neutralise_urls(one.signature, urls) == neutralise_urls(other.signature, urls)
    return "signature" if is_same else None


def body_digest(body: bytes) -> str:
    """The hash that bodies are compared by unless the caller brings one (`hashFn` of seed 004)."""
    return sha256(body).hexdigest()


def neutralise_urls(text: str, urls: Iterable[str]) -> str:
    """The JSON text of a feed with the feed's own URLs made root-relative.

    A feed fetched by http, without www or with a slash more often links to itself in that same
    spelling; that makes it no other feed. Hosts are compared without `www.`, ports count; one
    trailing slash is dropped from every quoted URL.
    """
    hosts = {host for url in urls if (host := _own_host(url)) is not None}
    if hosts:
        text = _ABSOLUTE.sub(lambda match: "/" if _is_own(match, hosts) else match[0], text)
    return _TRAILING_SLASH.sub(r"\1\2", text)


def _own_host(url: str) -> str | None:
    href = http_url(url)
    if href is None:
        return None
    parts = split_url(href)
    host = parts.host.removeprefix("www.")
    return f"{host}:{parts.port}" if parts.port else host


def _is_own(match: re.Match[str], hosts: set[str]) -> bool:
    host = match[1].lower().removeprefix("www.")
    if host in hosts:
        return True
    if host.isascii() and ":" not in host:
        return False
    return _own_host(match[0]) in hosts  # punycode or a default port spelt out


def same_blog(one: FeedFacts, other: FeedFacts) -> bool:
    """Whether two documents are one feed in two formats, or in two states of its cache."""
    if title_words(one.title) != title_words(other.title):
        return False
    if one.site and other.site and one.site != other.site:
        return False
    ours, theirs = dict(reversed(one.items)), dict(reversed(other.items))
    common = ours.keys() & theirs.keys()
    if not common or not _stand_together(one, common) or not _stand_together(other, common):
        return False
    if not (_reaches_end(one, common) or _reaches_end(other, common)):
        return False
    equal = sum(_has_same_title(ours[key], theirs[key]) for key in common)
    return equal * 2 >= len(common) and _have_same_files(one, other)


def best_format(formats: Sequence[FeedFacts]) -> tuple[int, str]:
    """Which of several formats of one feed to take, and why: the first rule that tells them apart."""
    if len(formats) == 1:
        return 0, ""
    longest = max(_text_per_entry(one) for one in formats)
    rated = [_merits(one, longest) for one in formats]
    best = max(range(len(formats)), key=lambda number: (rated[number], -number))
    others = [merits for number, merits in enumerate(rated) if number != best]
    rules = ("full texts", "dates", "ids", "a hub that reports new entries", "the richer format")
    for position, words in enumerate(rules):
        if any(merits[position] < rated[best][position] for merits in others):
            return best, words
    return best, "the first one that the page names"


def format_name(format_: str) -> str:
    """What people call a format."""
    return next((name for start, name in _FORMAT_NAMES.items() if format_.startswith(start)), "RSS")


def title_words(title: str) -> str:
    """A title without the words for formats."""
    return " ".join(FORMAT_WORDS.sub(" ", title).lower().split())


def _merits(one: FeedFacts, longest: float) -> tuple[bool, bool, bool, bool, int]:
    rank = _RANKS.index(one.format) if one.format in _RANKS else len(_RANKS)
    return (
        _text_per_entry(one) >= longest * _FULL_SHARE,
        one.dated == one.entries,
        one.named == one.entries,
        one.has_hub,
        -rank,
    )


def _text_per_entry(one: FeedFacts) -> float:
    return one.text_chars / max(one.entries, 1)


def _stand_together(one: FeedFacts, common: set[str]) -> bool:
    """Whether the common entries are among the newest, with none between them that only one has."""
    places = [place for place, (key, _) in enumerate(one.items) if key in common]
    return places[0] <= _MOST_BEHIND and places[-1] - places[0] < len(places)


def _reaches_end(one: FeedFacts, common: set[str]) -> bool:
    return one.items[-1][0] in common


def _have_same_files(one: FeedFacts, other: FeedFacts) -> bool:
    """Whether the common entries mostly carry the same file: a podcast as MP3 and as video is two feeds."""
    ours, theirs = dict(one.files), dict(other.files)
    common = ours.keys() & theirs.keys()
    return sum(ours[key] == theirs[key] for key in common) * 2 >= len(common)


def _has_same_title(one: str, other: str) -> bool:
    return not one or not other or one == other
