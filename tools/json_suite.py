"""Outside suites whose expectations are JSON files beside the documents.

Parsers differ in how they name and nest the same facts, so an expectation is compared by meaning:
every key that is known (`_FEED`, `_ENTRY`) names the values of ours that may answer it, and it
holds when one of them does. Keys that nothing of ours answers are counted as not modelled.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from tools.feedparser_suite import Verdict
from tools.feedparser_values import Anything

from feedmill.canonicalise.urls import http_url
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedEntry, ParsedFeed, Text
from feedmill.normalise.dates import parse_date
from feedmill.normalise.text import clean_text
from feedmill.parse.document import parse_document
from feedmill.parse.xml.elements import seconds

_DOCUMENTS: Final = (".xml", ".rss", ".atom", ".rdf", ".json", ".feed", ".txt")
_ENTRY_LISTS: Final = ("items", "entries", "episodes", "item", "entry")
_INNER: Final = ("feed", "channel")  # some put the feed's own facts one level down


class JsonCase(msgspec.Struct, frozen=True, kw_only=True):
    """A document, and the JSON file that says what is in it."""

    path: str
    body: bytes
    expected: dict[str, Anything]

    @property
    def folder(self) -> str:
        """Where in the suite the case stands."""
        return self.path.rpartition("/")[0]


def read_json_cases(tests: Path) -> list[JsonCase]:
    """Every document with `NAME.json`, `NAME.expected.json` or `NAME.SUFFIX.json` beside it."""
    found = []
    for path in sorted(tests.rglob("*")):
        if path.suffix not in _DOCUMENTS or not path.is_file():
            continue
        expected = _expectation(path)
        if expected is not None:
            name = path.relative_to(tests).as_posix()
            found.append(JsonCase(path=name, body=path.read_bytes(), expected=expected))
    return found


def judge_json(case: JsonCase) -> list[Verdict]:
    """One verdict per fact that the expectation states."""
    parsed = parse_document(RawDocument(body=case.body, url=None))
    if not isinstance(parsed, ParsedFeed):
        reason = f"gap: unreadable, {parsed.reason}"
        return [Verdict(path=case.path, assertion="a feed", outcome="fails", reason=reason)]
    return list(_judge_feed(case.path, case.expected, parsed))


def _expectation(path: Path) -> dict[str, Anything] | None:
    names = [path.with_suffix(".expected.json"), path.with_name(path.name + ".json")]
    if path.suffix != ".json":
        names.append(path.with_suffix(".json"))
    for name in names:
        if name.is_file():
            try:
                stated = json.loads(name.read_bytes())
            except ValueError:
                continue
            return stated if isinstance(stated, dict) else None
    return None


def _judge_feed(path: str, expected: dict[str, Anything], feed: ParsedFeed) -> Iterator[Verdict]:
    for key, stated in expected.items():
        if key in _INNER and isinstance(stated, dict):
            yield from _judge_feed(path, stated, feed)
        elif key in _ENTRY_LISTS and isinstance(stated, list):
            yield from _judge_entries(path, stated, feed)
        else:
            yield _judge(path, key, stated, _FEED.get(key), feed)


def _judge_entries(path: str, stated: list[Anything], feed: ParsedFeed) -> Iterator[Verdict]:
    assertion = f"{len(stated)} entries"
    if len(stated) != len(feed.entries):
        ours = f"{len(feed.entries)} entries"
        yield Verdict(path=path, assertion=assertion, outcome="fails", reason="gap", ours=ours)
        return
    yield Verdict(path=path, assertion=assertion, outcome="holds")
    for number, (one, entry) in enumerate(zip(stated, feed.entries, strict=True)):
        for key, value in one.items() if isinstance(one, dict) else ():
            yield _judge(path, f"entries[{number}].{key}", value, _ENTRY.get(key), entry)


def _judge(
    path: str, name: str, stated: Anything, lookup: "_Lookup | None", value: Anything
) -> Verdict:
    assertion = f"{name} == {stated!r}"
    if stated in ("", None, [], {}, 0, False):
        reason = "states that something is missing"
        return Verdict(path=path, assertion=assertion, outcome="no-assertion", reason=reason)
    if lookup is None:
        reason = f"{name.rpartition('.')[2]}: feedmill has no such field"
        return Verdict(path=path, assertion=assertion, outcome="not-modelled", reason=reason)
    ours = [one for one in lookup(value) if one is not None and one != ""]
    if _holds(stated, ours):
        return Verdict(path=path, assertion=assertion, outcome="holds")
    return Verdict(path=path, assertion=assertion, outcome="fails", reason="gap", ours=repr(ours))


def _holds(stated: Anything, ours: list[Anything]) -> bool:
    if stated in ("", None, [], {}, 0):
        return True
    if isinstance(stated, list):
        return all(_holds(one, ours) for one in stated)
    if isinstance(stated, dict):
        return any(_same_facts(stated, one) for one in ours)
    flat = [part for one in ours for part in (one.values() if isinstance(one, dict) else [one])]
    return any(_same(stated, one) for one in flat if one is not None)


def _same_facts(stated: dict[str, Anything], ours: Anything) -> bool:
    """Every fact that both know is the same, and at least one is."""
    known = ours if isinstance(ours, dict) else {"value": ours}
    pairs = [(value, known[_KEYS[key]]) for key, value in stated.items() if _KEYS.get(key) in known]
    pairs = [(one, other) for one, other in pairs if one not in ("", None, 0)]
    return bool(pairs) and all(_same(one, other) for one, other in pairs)


def _same(stated: Anything, ours: Anything) -> bool:
    if isinstance(stated, bool) or isinstance(ours, bool):
        return str(stated).lower() in (str(ours).lower(), {True: "yes", False: "no"}.get(ours))
    if ours is None:
        return False
    left, right = str(stated), str(ours)
    if left.split() == right.split() or clean_text(left) == clean_text(right):
        return True
    moment = parse_date(right)
    if isinstance(stated, int):
        return seconds(right) == stated or (moment is not None and moment.timestamp() == stated)
    return (moment is not None and parse_date(left) == moment) or (
        http_url(left) is not None and http_url(left) == http_url(right)
    )


def _written(*texts: Text | None) -> list[str]:
    return [text.value for text in texts if text is not None]


def _people(value: ParsedFeed | ParsedEntry) -> list[Anything]:
    persons = [*value.authors, *([value.publisher] if value.publisher else [])]
    found: list[Anything] = [{"name": p.name, "email": p.email, "url": p.uri} for p in persons]
    joined = [f"{p.name} <{p.email}>" for p in persons if p.name and p.email]
    return found + joined + [f"{p.email} ({p.name})" for p in persons if p.name and p.email]


def _contributors(value: ParsedFeed | ParsedEntry) -> list[Anything]:
    return [{"name": p.name, "email": p.email, "url": p.uri} for p in value.contributors]


def _categories(value: ParsedFeed | ParsedEntry) -> list[Anything]:
    terms: list[Anything] = [
        {"value": c.term, "label": c.label, "scheme": c.scheme} for c in value.categories
    ]
    terms += [{"value": word} for word in (value.itunes.keywords if value.itunes else ())]
    return terms


def _links(value: ParsedFeed | ParsedEntry) -> list[Anything]:
    return [value.link] + [
        {"url": one.href, "rel": one.rel, "type": one.type, "title": one.title, "value": one.href}
        for one in value.links
    ]


def _files(entry: ParsedEntry) -> list[Anything]:
    files: list[Anything] = [
        {"url": one.url, "type": one.type, "length": one.length} for one in entry.enclosures
    ]
    return files + [
        {"url": one.url, "type": one.type, "length": one.length} for one in entry.media if one.url
    ]


def _entry_texts(entry: ParsedEntry) -> list[Anything]:
    said = entry.itunes
    return [
        *_written(entry.summary),
        *[content.value for content in entry.contents],
        *([said.summary, said.subtitle] if said else []),
    ]


def _feed_texts(feed: ParsedFeed) -> list[Anything]:
    said = feed.itunes
    return [*_written(feed.subtitle), *([said.summary, said.subtitle] if said else [])]


def _feed_images(feed: ParsedFeed) -> list[Anything]:
    image = feed.image
    found: list[Anything] = (
        [{"url": image.url, "title": image.title, "link": image.link}] if image else []
    )
    return [*found, feed.icon, feed.itunes.image if feed.itunes else None]


def _entry_images(entry: ParsedEntry) -> list[Anything]:
    thumbnails = [one.url for media in entry.media for one in media.thumbnails]
    return [{"url": url} for url in (entry.image, *thumbnails) if url] + (
        [{"url": entry.itunes.image}] if entry.itunes else []
    )


_Lookup = Callable[[Anything], list[Anything]]


def _named(table: dict[str, _Lookup]) -> dict[str, _Lookup]:
    """One row per name, from rows with several names."""
    return {name: lookup for names, lookup in table.items() for name in names.split()}


# The names that other parsers use inside a value, and ours.
_KEYS: Final = {
    "url": "url", "href": "url", "uri": "url", "type": "type", "mime_type": "type",
    "length": "length", "file_size": "length", "size_in_bytes": "length", "name": "name",
    "email": "email", "value": "value", "term": "value", "text": "value", "label": "label",
    "scheme": "scheme", "domain": "scheme", "rel": "rel", "title": "title", "link": "link",
}  # fmt: skip
_BOTH: Final[dict[str, _Lookup]] = {
    "title": lambda one: _written(one.title),
    "id guid": lambda one: [{"value": one.id}],
    "link url home_page_url": lambda one: [*_links(one), one.id],
    "links": _links,
    "author authors creator managingEditor itunes_author": _people,
    "contributors contributor": _contributors,
    "copyright rights": lambda one: _written(one.rights),
    "categories category tags keywords itunes_keywords": _categories,
    "published publishedParsed published_parsed pubDate pubDateParsed date_published issued":
        lambda one: [one.published, one.updated],
    "updated updatedParsed updated_parsed lastBuildDate lastBuildDateParsed modified"
    " modifiedParsed date_modified": lambda one: [one.updated, one.published],
}  # fmt: skip
_FEED: Final = _named(
    _BOTH
    | {
        "description subtitle tagline summary itunes_summary": _feed_texts,
        "feedLink feed_url self": lambda feed: [feed.self_url],
        "language": lambda feed: [feed.language],
        "generator": lambda feed: [{"value": feed.generator}],
        "docs": lambda feed: [feed.docs],
        "image logo icon cover_url": _feed_images,
        "ttl": lambda feed: [feed.hints.ttl_minutes],
        "new_location new_feed_url": lambda feed: [feed.new_feed_url],
    }
)
_ENTRY: Final = _named(
    _BOTH
    | {
        "description summary subtitle content content_html content_text contentEncoded"
        " description_html": _entry_texts,
        "enclosures enclosure attachments": _files,
        "image episode_art_url": _entry_images,
        "comments": lambda entry: [entry.comments],
        "created": lambda entry: [entry.created, entry.published],
        "total_time duration": lambda entry: [entry.itunes.duration if entry.itunes else None],
        "explicit": lambda entry: [entry.itunes.explicit if entry.itunes else None],
    }
)
