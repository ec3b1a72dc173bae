"""JSON Feed 1.0 and 1.1: the envelope and the items as values."""

import re
from typing import Any, Final

from msgspec.structs import replace

from feedmill.canonicalise.urls import resolve, with_forgotten_scheme
from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    Category,
    Content,
    Enclosure,
    FeedFormat,
    Image,
    KnownSlices,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    Repair,
    Slice,
    Text,
    Unreadable,
)
from feedmill.parse.formats.json_spans import (
    JsonText,
    has_c1_controls,
    parse_lenient_json,
    read_json_spans,
    stored_text,
)
from feedmill.parse.input.encoding import Decoded
from feedmill.parse.xml import slices
from feedmill.parse.xml.elements import integer, seconds
from feedmill.parse.xml.source import raw_slices

_VERSION: Final = re.compile(
    r"\s*https?://(?:www\.)?jsonfeed\.org/version/(\d[\d.]*)", re.IGNORECASE
)
# What services say instead of a feed; RFC 9457 has title, status and detail.
_ERROR_KEYS: Final = ("error", "errors", "message", "detail", "exception", "fault")
_ERROR_STATUS: Final = re.compile(r"[45]\d\d|error|fail(?:ed|ure)?", re.IGNORECASE)


def parse_json(
    document: RawDocument, decoded: Decoded, limits: ParseLimits, known: KnownSlices
) -> ParsedFeed | Unreadable:
    """Read a JSON Feed, or say what the JSON is instead."""
    utf8 = decoded.utf8
    read = read_json_spans(utf8, limits.max_items)
    form = _format(read.fields) if read is not None else None
    if read is None or form is None:
        return _name(utf8, read)
    spans = read.spans[: limits.max_items]
    marks = slices.digests(utf8, spans, b"json")
    places = raw_slices(spans, marks, decoded, document.body)
    fresh = [number for number, mark in enumerate(marks) if places is None or mark not in known]
    capped = len(read.spans) > limits.max_items
    reader = _Reader(url=document.url, limits=limits)
    entries = [
        reader.entry(raw, places[number] if places is not None else None)
        for number in fresh
        if isinstance(raw := parse_lenient_json(utf8[slice(*spans[number])]), dict)
    ]
    fields = reader.feed(read.fields)
    return ParsedFeed(
        **fields,
        format=form,
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        entries=tuple([_with_authors(entry, fields["authors"]) for entry in entries]),
        touched=_touched(places or (), frozenset(fresh)),
        repairs=_repairs(decoded, read, reader, capped=capped),
        truncated=read.cut or capped,
    )


def _with_authors(entry: ParsedEntry, authors: tuple[Person, ...]) -> ParsedEntry:
    """An item without authors has the feed's (JSON Feed 1.1, `authors`)."""
    return replace(entry, authors=authors) if authors and not entry.authors else entry


def _format(fields: dict[str, Any]) -> FeedFormat | None:
    found = _VERSION.match(str(fields.get("version")))
    if found is None:
        return None
    return "json10" if found[1].rstrip(".") in ("1", "1.0") else "json11"


def _name(utf8: bytes, read: JsonText | None) -> Unreadable:
    """Say what JSON without a JSON Feed version is."""
    value = read.fields if read is not None and read.repaired else parse_lenient_json(utf8)
    if isinstance(value, dict) and _is_error(value):
        return Unreadable(reason="error-document", detail="a JSON error message")
    if isinstance(value, dict | list):
        return Unreadable(reason="not-a-feed", detail="JSON without a JSON Feed version")
    return Unreadable(reason="malformed", detail="it begins like JSON but cannot be read")


def _is_error(value: dict[str, Any]) -> bool:
    status = value.get("status") or value.get("code")
    return any(value.get(key) for key in _ERROR_KEYS) or bool(_ERROR_STATUS.fullmatch(str(status)))


class _Reader:
    """Reads untrusted fields into values, against one base and within one set of limits."""

    __slots__ = ("capped", "limits", "url")

    def __init__(self, *, url: str | None, limits: ParseLimits) -> None:
        self.url = url
        self.limits = limits
        self.capped = False

    def feed(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The envelope's fields under our names."""
        self_url, home = self.link(raw.get("feed_url")), self.link(raw.get("home_page_url"))
        links = [Link(href=home)] if home else []
        links += [Link(href=self_url, rel="self")] if self_url else []
        image = self.link(raw.get("icon"))
        subtitle, title = _string(raw.get("description")), _string(raw.get("title"))
        return {
            "id": self_url,
            "title": Text(value=title) if title else None,
            "subtitle": Text(value=subtitle) if subtitle else None,
            "link": home,
            "links": tuple(links),
            "self_url": self_url,
            "next_url": self.link(raw.get("next_url")),
            "hubs": self.hubs(raw.get("hubs")),
            "authors": self.authors(raw),
            "language": _string(raw.get("language")),
            "image": Image(url=image) if image else None,
            "icon": self.link(raw.get("favicon")),
            "expired": raw.get("expired") is True,
            "base": self.url,
        }

    def entry(self, raw: dict[str, Any], place: Slice | None) -> ParsedEntry:
        """One item in the publisher's words."""
        title, summary = _string(raw.get("title")), _string(raw.get("summary"))
        language = _string(raw.get("language"))
        link = self.link(raw.get("url"))
        tags = [_string(tag) for tag in self.many(raw.get("tags"))]
        return ParsedEntry(
            id=_string(raw.get("id")),
            link=link,
            links=(Link(href=link),) if link else (),
            title=Text(value=title, lang=language) if title else None,
            summary=Text(value=summary, lang=language) if summary else None,
            contents=self.contents(raw, language),
            authors=self.authors(raw),
            categories=tuple([Category(term=tag) for tag in tags if tag]),
            published=_string(raw.get("date_published")),
            updated=_string(raw.get("date_modified")),
            enclosures=self.attachments(raw.get("attachments")),
            image=self.link(raw.get("image")) or self.link(raw.get("banner_image")),
            external_url=self.link(raw.get("external_url")),
            base=self.url,
            lang=language,
            slice=place,
        )

    def contents(self, raw: dict[str, Any], language: str | None) -> tuple[Content, ...]:
        """The HTML and the plain text, whichever there are (J03)."""
        found = (
            (_string(raw.get("content_html")), "text/html"),
            (_string(raw.get("content_text")), "text/plain"),
        )
        return tuple(
            [
                Content(value=text, type=mime, base=self.url, lang=language)
                for text, mime in found
                if text
            ]
        )

    def attachments(self, raw: object) -> tuple[Enclosure, ...]:
        """The files with an address; sizes and durations may be strings (J09)."""
        files: list[Enclosure] = []
        for one in self.many(raw):
            address = self.link(one.get("url")) if isinstance(one, dict) else None
            if address is not None:
                size = _string(one.get("size_in_bytes")) or ""
                files.append(
                    Enclosure(
                        url=address,
                        type=_string(one.get("mime_type")),
                        length=integer(size.removesuffix(".0")),
                        title=_string(one.get("title")),
                        duration=seconds(_string(one.get("duration_in_seconds"))),
                    )
                )
        return tuple(files)

    def authors(self, raw: dict[str, Any]) -> tuple[Person, ...]:
        """`authors` of 1.1, else the one `author` of 1.0 (J04)."""
        people: list[Person] = []
        for one in self.many(raw.get("authors")) or self.many(raw.get("author")):
            person = Person(name=_string(one))
            if isinstance(one, dict):
                person = Person(name=_string(one.get("name")), uri=self.link(one.get("url")))
            if person.name or person.uri:
                people.append(person)
        return tuple(people)

    def hubs(self, raw: object) -> tuple[str, ...]:
        """The WebSub hubs (J08)."""
        found = [
            self.link(one.get("url"))
            for one in self.many(raw)
            if isinstance(one, dict) and str(one.get("type")).lower() == "websub"
        ]
        return tuple([address for address in found if address])

    def many(self, value: object) -> list[Any]:
        """The values of a list up to the limit; what should have been a list is one of one."""
        if not isinstance(value, list):
            return [] if value is None else [value]
        self.capped = self.capped or len(value) > self.limits.max_values
        return value[: self.limits.max_values]

    def link(self, value: object) -> str | None:
        """An address resolved against the document's."""
        text = _string(value)
        return resolve(with_forgotten_scheme(text), self.url) if text else None


def _string(value: object) -> str | None:
    """Text as it is, numbers as they were written; anything else is nothing (J02)."""
    if isinstance(value, str):
        return stored_text(value).strip() or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def _touched(places: tuple[Slice, ...], fresh: frozenset[int]) -> tuple[Slice, ...]:
    return tuple([place for number, place in enumerate(places) if number not in fresh])


def _repairs(
    decoded: Decoded, read: JsonText, reader: _Reader, *, capped: bool
) -> tuple[Repair, ...]:
    repairs = [*decoded.repairs]
    if has_c1_controls(decoded.utf8):
        detail = "C1 controls, read as windows-1252"
        repairs.append(Repair(code="characters-restored", detail=detail))
    if read.repaired:
        detail = "read item by item, because it is not quite JSON"
        repairs.append(Repair(code="json-repaired", detail=detail))
    if read.cut:
        repairs.append(Repair(code="truncated", detail="the document ends in the middle"))
    if reader.capped:
        repairs.append(Repair(code="values-capped", detail="a list is longer than the limit"))
    if capped:
        detail = f"only {reader.limits.max_items:,} are read"
        repairs.append(Repair(code="items-capped", detail=detail))
    return tuple(repairs)
