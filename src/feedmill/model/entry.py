"""Normalised entries and feeds: the values that are stored and published.

Field names are those of seed 002 §5.2 wherever it gives one.
"""
# Tested in tests/unit/identify/test_hashes.py

from datetime import datetime
from typing import Final, Literal

from feedmill.model.base import Value
from feedmill.model.parsed import Slice

PublishedSource = Literal["published", "updated", "feed", "first_seen"]

FindingCode = Literal[
    "script",  # a script element or a javascript: address
    "event-handler",  # an on… attribute
    "embedded-frame",  # iframe, object, embed, applet
    "form",  # a form or an input
    "data-url",  # data: or blob: in a place that loads
    "css-trick",  # expression(), -moz-binding, url(javascript:)
    "meta-refresh",
    "hidden-text",  # zero-width or bidirectional control characters used to deceive
    "oversized",  # a field over its limit was cut before sanitising
    "too-deep",  # markup nested beyond the limit was flattened
    "future-date",  # published lies ahead of the clock
    "bad-date",  # a date string that no grammar reads
    "bad-link",  # a link that is not http or https
]


# Findings that may be an attack on readers; the others are about unusable fields.
SUSPICIOUS: Final[frozenset[FindingCode]] = frozenset(
    (
        "script",
        "event-handler",
        "embedded-frame",
        "form",
        "data-url",
        "css-trick",
        "meta-refresh",
        "hidden-text",
    )
)


class Author(Value):
    name: str | None = None
    email: str | None = None
    uri: str | None = None


class EntryEnclosure(Value):
    url: str
    type: str | None = None
    length: int | None = None
    title: str | None = None
    duration: int | None = None  # seconds
    alternate: bool = False  # another version of the first one (podcast:alternateEnclosure)
    integrity: str | None = None  # its digest, in the form of W3C Subresource Integrity


class Finding(Value):
    """Something suspicious or unusable that was seen while cleaning; nothing is deleted for it."""

    code: FindingCode
    field: str
    detail: str = ""  # at most 200 characters of what was seen


class Entry(Value):
    """One entry, clean: text is text, HTML is sanitised, times are aware, links are canonical."""

    guid: str | None = None
    guid_is_permalink: bool = False
    link: str | None = None  # absolute, otherwise as published
    canonical_link: str | None = None  # policy identity-v1
    article_link: str | None = None  # policy article-v1
    title: str | None = None
    summary: str | None = None  # text, at most NormaliseConfig.summary_max_chars
    content: str | None = None  # HTML through the allow-list
    content_from: Literal["content", "summary"] | None = None
    authors: tuple[Author, ...] = ()
    categories: tuple[str, ...] = ()
    enclosures: tuple[EntryEnclosure, ...] = ()
    published: datetime | None = None
    updated: datetime | None = None
    published_effective: datetime | None = None
    published_source: PublishedSource | None = None
    image: str | None = None
    comments_url: str | None = None
    language: str | None = None
    slice: Slice | None = None
    findings: tuple[Finding, ...] = ()
    modified: tuple[str, ...] = ()  # fields that cleaning changed (003: normalized_modified_count)


class NormalisedFeed(Value):
    """The feed's own facts, clean, and its entries in document order."""

    title: str | None = None
    subtitle: str | None = None
    link: str | None = None
    self_url: str | None = None
    authors: tuple[Author, ...] = ()
    categories: tuple[str, ...] = ()
    language: str | None = None
    image: str | None = None
    updated: datetime | None = None
    entries: tuple[Entry, ...] = ()
    findings: tuple[Finding, ...] = ()
