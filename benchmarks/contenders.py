"""Who is measured, and what each of them is asked to do with one document."""

import warnings
from collections.abc import Callable
from typing import Final

import fastfeedparser
import feedparser
import msgspec
from benchmarks.documents import Document
from lxml import etree

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

_LIMITS: Final = ParseLimits()


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A document prepared for everybody: what has to be known before the clock starts."""

    document: Document
    raw: RawDocument
    known: dict[str, int]  # as the store knows them: digests and lengths
    every: dict[str, int]  # of all entries of the document as it is now


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """One program doing one job; the slow ones take part in a share of the repetitions."""

    name: str
    run: Callable[[Task], object]
    share: float = 1.0
    reads_json: bool = True


def prepare(document: Document) -> Task | None:
    """The task of a document; None when it is no feed with entries."""
    raw = RawDocument(body=document.body, url=document.url, content_type=document.content_type)
    earlier = (
        raw if document.earlier is None else msgspec.structs.replace(raw, body=document.earlier)
    )
    feed = parse_document(earlier)
    if not isinstance(feed, ParsedFeed) or not feed.entries:
        return None
    slices = _slices(feed)
    present = parse_document(raw)
    # A real document has no earlier state: its first entry stands for the new one.
    return Task(
        document=document,
        raw=raw,
        known=dict(slices if document.earlier is not None else slices[1:]),
        every=dict(_slices(present) if isinstance(present, ParsedFeed) else ()),
    )


def _slices(feed: ParsedFeed) -> list[tuple[str, int]]:
    places = [entry.slice for entry in feed.entries if entry.slice is not None]
    return [(place.digest, place.length) for place in places]


def _floor(task: Task) -> object:
    return etree.fromstring(task.raw.body)


def _parse(task: Task) -> object:
    return parse_document(task.raw)


def _parse_and_normalise(task: Task) -> object:
    feed = parse_document(task.raw)
    return normalise(feed) if isinstance(feed, ParsedFeed) else feed


def _steady(task: Task) -> object:
    feed = parse_document(task.raw, _LIMITS, task.known)
    return normalise(feed) if isinstance(feed, ParsedFeed) else feed


def _all_known(task: Task) -> object:
    feed = parse_document(task.raw, _LIMITS, task.every)
    return normalise(feed) if isinstance(feed, ParsedFeed) else feed


def _feedparser_bare(task: Task) -> object:
    return feedparser.parse(task.raw.body, sanitize_html=False, resolve_relative_uris=False)


def _feedparser(task: Task) -> object:
    return feedparser.parse(task.raw.body)


def _fastfeedparser(task: Task) -> object:
    return fastfeedparser.parse(task.raw.body)


FLOOR: Final = Contender(name="lxml.etree.fromstring", run=_floor, reads_json=False)
PARSE: Final = Contender(name="feedmill parse", run=_parse)
FULL: Final = Contender(name="feedmill parse + normalise + sanitise", run=_parse_and_normalise)
STEADY: Final = Contender(name="feedmill steady state, one new entry", run=_steady)
KNOWN: Final = Contender(name="feedmill steady state, all known", run=_all_known)
FAST: Final = Contender(name="fastfeedparser (Rust core)", run=_fastfeedparser)
BARE: Final = Contender(
    name="feedparser, no sanitising", run=_feedparser_bare, share=0.3, reads_json=False
)
DEFAULT: Final = Contender(name="feedparser, default", run=_feedparser, share=0.3, reads_json=False)
EVERYBODY: Final = (FLOOR, PARSE, FULL, STEADY, KNOWN, FAST, BARE, DEFAULT)

warnings.simplefilter("ignore", DeprecationWarning)  # other people's, on every call
