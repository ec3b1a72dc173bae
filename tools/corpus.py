"""What feedmill reads from a folder of real documents, beside feedparser, as one table.

Counted are unreadable documents, entries and fields, and every field that feedparser has and we do
not: with the reason where there is one (`REASONS`), else it is a defect and the exit status is 1.
"""

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import feedparser
import msgspec
from tools.feedparser_values import Anything

from feedmill.model.entry import Entry, NormalisedFeed
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Unreadable
from feedmill.normalise.entry import normalise
from feedmill.normalise.text import clean_text
from feedmill.parse.document import parse_document

REASONS: Final = {
    "not-a-feed": "the document is none by its root element; feedparser calls anything a feed",
    "cut-off": "the document ends inside the entry, so that half of it is all there is",
    "no-visible-text": "nothing is left without comments, scripts and invisible characters",
    "same-text": "the text stands in the summary or in another content, and is not kept twice",
    "second-description": "a second description that is no longer than the first",
    "other-media": "content that is neither HTML nor text is not shown",
    "published": "dc:date and its like are the date of publication, not of a revision",
    "bad-date": "the date cannot be read for certain; it is reported as a finding",
    "bad-link": "the address is not http or https; it is reported as a finding",
    "cdf": "CDF is no format of ours",
    "another-element": "feedparser takes the value from an element that means something else",
}
_CDF: Final = re.compile(rb"<channel[\s>]", re.IGNORECASE)
_RSS: Final = re.compile(rb"<rss|<rdf|<channel\s[^>]*xmlns", re.IGNORECASE)
_SOURCE_CODE: Final = (".py", ".md")
_URL: Final = "https://document.example/feed"  # where relative addresses lead

Field = tuple[str, Anything, Anything]


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """A value that feedparser has and feedmill has not."""

    document: str
    field: str
    theirs: str
    reason: str | None


class Report(msgspec.Struct, kw_only=True):
    """The counts of a corpus."""

    documents: int = 0
    unreadable: Counter[str] = msgspec.field(default_factory=Counter)
    ours: Counter[str] = msgspec.field(default_factory=Counter)
    theirs: Counter[str] = msgspec.field(default_factory=Counter)
    losses: list[Loss] = msgspec.field(default_factory=list)

    @property
    def unexplained(self) -> list[Loss]:
        """The losses without a reason."""
        return [loss for loss in self.losses if loss.reason is None]


def compare_corpus(folder: Path) -> Report:
    """Read every file of the folder with both parsers."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of feedparser, on every call
    report = Report()
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in _SOURCE_CODE and path.name[0] != "."
    )
    for number, path in enumerate(files, start=1):
        _compare(path.relative_to(folder).as_posix(), path.read_bytes(), report)
        if sys.stderr.isatty():
            print(f"\r{number} of {len(files)} documents", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return report


def print_report(report: Report) -> None:
    """The table, the reasons, and what is lost without one."""
    print(f"{report.documents} documents\n")
    print(f"{'':<22}{'feedmill':>10}{'feedparser':>12}{'lost':>8}{'explained':>11}")
    lost, known = Counter[str](), Counter[str]()
    for loss in report.losses:
        lost[loss.field] += 1
        known[loss.field] += loss.reason is not None
    theirs, ours = report.unreadable["feedparser"], report.unreadable["feedmill"]
    print(f"{'unreadable':<22}{ours:>10}{theirs:>12}{'':>8}{'':>11}")
    for name in sorted(report.ours | report.theirs, key=lambda name: ("." in name, name)):
        counts = f"{report.ours[name]:>10}{report.theirs[name]:>12}"
        print(f"{name:<22}{counts}{lost[name]:>8}{known[name]:>11}")
    reasons = Counter(loss.reason for loss in report.losses if loss.reason is not None)
    print("\nLost with a reason:")
    for reason, count in reasons.most_common():
        print(f"{count:>8}  {reason:<16} {REASONS[reason]}")
    print(f"\nLost without a reason: {len(report.unexplained)}")
    for loss in report.unexplained[:40]:
        print(f"  {loss.document}: {loss.field} {loss.theirs[:120]}")


def _compare(name: str, body: bytes, report: Report) -> None:
    parsed = parse_document(RawDocument(body=body, url=_URL))
    try:
        theirs = feedparser.parse(body, sanitize_html=False, resolve_relative_uris=False)
    except Exception:  # noqa: BLE001  # a document on which feedparser fails is its own loss
        theirs = feedparser.FeedParserDict(entries=[], feed=feedparser.FeedParserDict(), version="")
    report.documents += 1
    report.unreadable["feedparser"] += not theirs.get("version") and not theirs["entries"]
    report.theirs["entries"] += len(theirs["entries"])
    if isinstance(parsed, Unreadable):
        report.unreadable["feedmill"] += 1
        reason = parsed.reason if parsed.reason in REASONS else None
        for entry in theirs["entries"]:
            _lose(report, name, "entries", entry.get("title", ""), reason)
        return
    clean = normalise(parsed)
    fixed = "cdf" if _CDF.search(body) and not _RSS.search(body) else None
    report.ours["entries"] += len(clean.entries)
    for field, ours, value in _feed_fields(clean, parsed, theirs["feed"]):
        why = fixed or _why_not_in_feed(field, value, parsed)
        _count(report, name, f"feed.{field}", ours, value, why)
    for theirs_entry, pair in _pairs(clean, parsed, theirs["entries"]):
        if pair is None:
            why = "cut-off" if parsed.truncated else fixed
            _lose(report, name, "entries", theirs_entry.get("title", ""), why)
            continue
        for field, ours, value in _entry_fields(*pair, theirs_entry):
            why = (fixed or _why_not(field, value, *pair)) if value and not ours else None
            _count(report, name, f"entry.{field}", ours, value, why)


def _count(
    report: Report, name: str, field: str, ours: Anything, value: Anything, reason: str | None
) -> None:
    report.ours[field] += bool(ours)
    report.theirs[field] += bool(value)
    if value and not ours:
        _lose(report, name, field, value, reason)


def _lose(report: Report, name: str, field: str, value: Anything, reason: str | None) -> None:
    report.losses.append(Loss(document=name, field=field, theirs=str(value), reason=reason))


def _pairs(
    clean: NormalisedFeed, parsed: ParsedFeed, theirs: list[Anything]
) -> Iterator[tuple[Anything, tuple[Entry, ParsedEntry] | None]]:
    """Their entries with ours: by position, or by id, link and title where the numbers differ."""
    ours = list(zip(clean.entries, parsed.entries, strict=True))
    if len(ours) == len(theirs):
        yield from zip(theirs, ours, strict=True)
        return
    known = {
        key: pair for pair in reversed(ours) for key in (pair[0].title, pair[0].link, pair[0].guid)
    }
    for entry in theirs:
        keys = (entry.get("id"), entry.get("link"), clean_text(entry.get("title", "")))
        yield entry, next((known[key] for key in keys if key and key in known), None)


def _feed_fields(clean: NormalisedFeed, parsed: ParsedFeed, feed: Anything) -> Iterator[Field]:
    yield "title", clean.title, feed.get("title")
    yield "subtitle", clean.subtitle, feed.get("subtitle")
    yield "link", clean.link, feed.get("link")
    yield "author", clean.authors, _people(feed)
    yield "language", clean.language, feed.get("language")
    yield "updated", clean.updated, dict.get(feed, "updated_parsed")
    yield "image", clean.image, (feed.get("image") or {}).get("href")
    yield "tags", clean.categories, _terms(feed)
    yield "rights", parsed.rights, feed.get("rights")
    yield "generator", parsed.generator, feed.get("generator")
    yield "id", parsed.id, feed.get("id")


def _entry_fields(entry: Entry, parsed: ParsedEntry, theirs: Anything) -> Iterator[Field]:
    yield "title", entry.title, theirs.get("title")
    yield "link", entry.link, theirs.get("link")
    yield "id", entry.guid, theirs.get("id")
    yield "published", entry.published, dict.get(theirs, "published_parsed")
    yield "updated", entry.updated, dict.get(theirs, "updated_parsed")
    yield "author", entry.authors, _people(theirs)
    yield "summary", entry.summary or entry.content, theirs.get("summary")
    contents = [one.value for one in theirs.get("content", ()) if one.get("value", "").strip()]
    yield "content", parsed.contents and (entry.content or entry.enclosures), contents
    yield "tags", entry.categories, _terms(theirs)
    yield (
        "enclosures",
        entry.enclosures,
        [one for one in theirs.get("enclosures", ()) if one.get("href")],
    )
    yield "image", entry.image, (theirs.get("image") or {}).get("href")
    yield "comments", entry.comments_url, theirs.get("comments")
    yield "rights", parsed.rights, theirs.get("rights")


def _why_not(field: str, value: Anything, entry: Entry, parsed: ParsedEntry) -> str | None:
    """The reason why a value of feedparser is missing in our entry."""
    codes = {finding.code for finding in entry.findings}
    if field == "updated" and parsed.updated is None and (parsed.published or parsed.created):
        return "published"
    if field in ("published", "updated") and "bad-date" in codes:
        return "bad-date"
    if field == "link" and not parsed.link and not parsed.links:
        return "another-element"
    if field in ("link", "enclosures", "image", "comments"):
        return "bad-link" if "bad-link" in codes else None
    if field == "content" and parsed.contents and clean_text(str(value[0])):
        return "other-media"
    if field == "title" and any(value in one.term for one in parsed.categories):
        return "another-element"
    return _why_no_text(value, entry)


def _why_not_in_feed(field: str, value: Anything, parsed: ParsedFeed) -> str | None:
    owner = parsed.publisher.name if parsed.publisher else None
    if value and (value == parsed.id or (field == "author" and owner in value)):
        return "another-element"
    if field in ("link", "image"):
        return "bad-link" if not str(value).startswith(("http", "/")) else None
    if field == "updated":
        return "published" if parsed.published else "bad-date" if parsed.updated else None
    return _why_no_text(value)


def _why_no_text(value: Anything, entry: Entry | None = None) -> str | None:
    texts = [clean_text(str(one)) for one in (value if isinstance(value, list) else [value])]
    if not any(texts):
        return "no-visible-text"
    said = f"{entry.summary or ''} {clean_text(entry.content or '')}" if entry else ""
    if all(text[:200] in said for text in texts):
        return "same-text"
    return "second-description" if max(map(len, texts)) <= len(said) else None


def _people(value: Anything) -> list[str]:
    """Names and addresses, of which feedparser also has empty ones."""
    people = [one.get("name") or one.get("email") for one in value.get("authors", ()) if one]
    return [str(one) for one in (*people, value.get("author")) if one]


def _terms(value: Anything) -> list[str]:
    return [one["term"] for one in value.get("tags", ()) if (one.get("term") or "").strip()]
