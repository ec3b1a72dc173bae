"""JSON Feed 1.0 and 1.1.

msgspec reads the document and hands each item over as its own raw bytes, which are its slice. A
document that is not quite JSON (NaN, a cut end) goes through the standard library's decoder,
item by item, so that what is whole is kept.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from feedmill.canonicalise.urls import resolve
from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.document import RawDocument
from feedmill.model.parsed import (
    Category,
    Content,
    Enclosure,
    FeedFormat,
    Image,
    Link,
    ParsedEntry,
    ParsedFeed,
    Person,
    Repair,
    Slice,
    Text,
    Unreadable,
)
from feedmill.parse import slices
from feedmill.parse.elements import seconds
from feedmill.parse.encoding import Decoded

_VERSION: Final = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/(\d[\d.]*)")
_ITEMS: Final = re.compile(r'"items"\s*:\s*\[')
_SPACE: Final = re.compile(r"[\s,]*")


class _Feed(msgspec.Struct):
    """The envelope; every field may be anything, because publishers make mistakes."""

    version: Any = None
    title: Any = None
    items: list[msgspec.Raw] = []
    home_page_url: Any = None
    feed_url: Any = None
    description: Any = None
    user_comment: Any = None
    next_url: Any = None
    icon: Any = None
    favicon: Any = None
    author: Any = None
    authors: Any = None
    language: Any = None
    expired: Any = None
    hubs: Any = None


class _Read(Value):
    """The envelope's fields and the spans of the items, however they were won."""

    fields: dict[str, Any]
    spans: tuple[tuple[int, int], ...]
    repairs: tuple[Repair, ...] = ()
    cut: bool = False


def parse_json(
    document: RawDocument, decoded: Decoded, limits: ParseLimits, known: frozenset[str]
) -> ParsedFeed | Unreadable:
    """Read a JSON Feed, or say what the JSON is instead."""
    utf8 = decoded.utf8
    read = _read_strictly(utf8) or _read_leniently(utf8)
    if read is None:
        return Unreadable(reason="malformed", detail="it begins like JSON but cannot be read")
    form = _format(read)
    if form is None:
        return _name(read.fields)
    marks = slices.digests(utf8, read.spans, b"json")
    places = slices.raw_slices(read.spans, marks, decoded, document.body)
    fresh = [number for number, mark in enumerate(marks) if mark not in known]
    capped = len(fresh) > limits.max_items
    entries = [
        entry
        for number in fresh[: limits.max_items]
        if (entry := _entry(utf8, read.spans[number], places, number, document.url, limits))
    ]
    fields = _feed_fields(read.fields, document.url, limits)
    return ParsedFeed(
        **fields,
        format=form,
        encoding=decoded.encoding,
        encoding_source=decoded.source,
        entries=tuple(entries),
        touched=_touched(places, frozenset(fresh)),
        repairs=_repairs(decoded, read, limits, capped=capped),
        truncated=read.cut or capped,
    )


def _read_strictly(utf8: bytes) -> _Read | None:
    try:
        feed = msgspec.json.decode(utf8, type=_Feed)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    fields = {name: getattr(feed, name) for name in _Feed.__struct_fields__ if name != "items"}
    spans: list[tuple[int, int]] = []
    position = 0
    for item in feed.items:
        raw = bytes(item)
        position = utf8.find(raw, position)
        spans.append((position, position + len(raw)))
        position += len(raw)
    return _Read(fields=fields, spans=tuple(spans))


def _read_leniently(utf8: bytes) -> _Read | None:
    """Item by item with the standard decoder: NaN, control characters and cut ends are survived."""
    text = utf8.decode("utf-8", "replace")
    found = _ITEMS.search(text)
    envelope = _object(text)
    if found is None:
        return _Read(fields=envelope, spans=()) if envelope is not None else None
    spans: list[tuple[int, int]] = []
    position = found.end()
    offset, counted = len(text[:position].encode()), position
    while True:
        position = _SPACE.match(text, position).end()  # type: ignore[union-attr]  # matches nothing too
        if text.startswith("]", position):
            break
        end = _end_of_value(text, position)
        if end is None:
            break
        offset += len(text[counted:position].encode())
        length = len(text[position:end].encode())
        spans.append((offset, offset + length))
        offset, counted, position = offset + length, end, end
    if envelope is None:
        envelope = _object(text[: found.end()] + "]}") or {}
        envelope = envelope or _object("{" + text[found.end() :].lstrip("] ,\n\r\t")) or {}
    cut = not text.rstrip().endswith("}")
    detail = "read item by item, because it is not quite JSON"
    return _Read(
        fields=envelope,
        spans=tuple(spans),
        repairs=(Repair(code="json-repaired", detail=detail),),
        cut=cut,
    )


def _object(text: str) -> dict[str, Any] | None:
    value = _value(text)
    return value if isinstance(value, dict) else None


def _value(text: str | bytes) -> Any:
    try:
        return _decoder.decode(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        return None


def _end_of_value(text: str, position: int) -> int | None:
    try:
        return _decoder.raw_decode(text, position)[1]
    except (ValueError, RecursionError):
        return None


# parse_int=str: a number of a million digits is text, not arithmetic (CVE-2020-10735).
_decoder: Final = json.JSONDecoder(strict=False, parse_int=str, parse_constant=lambda _: None)


def _format(read: _Read) -> FeedFormat | None:
    found = _VERSION.match(str(read.fields.get("version")))
    if found is None:
        return None
    return "json10" if found[1].rstrip(".") in ("1", "1.0") else "json11"


def _name(fields: dict[str, Any]) -> Unreadable:
    if any(fields.get(key) for key in ("error", "errors", "message")):
        return Unreadable(reason="error-document", detail="a JSON error message")
    return Unreadable(reason="not-a-feed", detail="JSON without a JSON Feed version")


def _feed_fields(raw: dict[str, Any], url: str | None, limits: ParseLimits) -> dict[str, Any]:
    self_url = _link(raw.get("feed_url"), url)
    home = _link(raw.get("home_page_url"), url)
    links = [Link(href=home)] if home else []
    links += [Link(href=self_url, rel="self")] if self_url else []
    image = _link(raw.get("icon"), url)
    subtitle, title = _string(raw.get("description")), _string(raw.get("title"))
    return {
        "id": self_url,
        "title": Text(value=title) if title else None,
        "subtitle": Text(value=subtitle) if subtitle else None,
        "link": home,
        "links": tuple(links),
        "self_url": self_url,
        "next_url": _link(raw.get("next_url"), url),
        "hubs": _hubs(raw.get("hubs"), url, limits),
        "authors": _authors(raw, url, limits),
        "language": _string(raw.get("language")),
        "image": Image(url=image) if image else None,
        "icon": _link(raw.get("favicon"), url),
        "expired": raw.get("expired") is True,
        "base": url,
    }


def _entry(
    utf8: bytes,
    span: tuple[int, int],
    places: tuple[Slice, ...] | None,
    number: int,
    url: str | None,
    limits: ParseLimits,
) -> ParsedEntry | None:
    raw = _value(utf8[span[0] : span[1]])
    if not isinstance(raw, dict):
        return None
    title, summary = _string(raw.get("title")), _string(raw.get("summary"))
    language = _string(raw.get("language"))
    link = _link(raw.get("url"), url)
    return ParsedEntry(
        id=_string(raw.get("id")),
        link=link,
        links=(Link(href=link),) if link else (),
        title=Text(value=title, lang=language) if title else None,
        summary=Text(value=summary, lang=language) if summary else None,
        contents=_contents(raw, url, language),
        authors=_authors(raw, url, limits),
        categories=tuple(
            [Category(term=tag) for tag in map(_string, _list(raw.get("tags"), limits)) if tag]
        ),
        published=_string(raw.get("date_published")),
        updated=_string(raw.get("date_modified")),
        enclosures=_attachments(raw.get("attachments"), url, limits),
        image=_link(raw.get("image"), url) or _link(raw.get("banner_image"), url),
        external_url=_link(raw.get("external_url"), url),
        base=url,
        lang=language,
        slice=places[number] if places is not None else None,
    )


def _contents(raw: dict[str, Any], url: str | None, language: str | None) -> tuple[Content, ...]:
    found = (
        (_string(raw.get("content_html")), "text/html"),
        (_string(raw.get("content_text")), "text/plain"),
    )
    return tuple(
        [Content(value=text, type=mime, base=url, lang=language) for text, mime in found if text]
    )


def _attachments(raw: object, url: str | None, limits: ParseLimits) -> tuple[Enclosure, ...]:
    files: list[Enclosure] = []
    for one in _list(raw, limits):
        address = _link(one.get("url"), url) if isinstance(one, dict) else None
        if address is not None:
            files.append(
                Enclosure(
                    url=address,
                    type=_string(one.get("mime_type")),
                    length=_whole(one.get("size_in_bytes")),
                    title=_string(one.get("title")),
                    duration=seconds(_string(one.get("duration_in_seconds"))),
                )
            )
    return tuple(files)


def _authors(raw: dict[str, Any], url: str | None, limits: ParseLimits) -> tuple[Person, ...]:
    """`authors` of 1.1, else the one `author` of 1.0."""
    people: list[Person] = []
    for one in _list(raw.get("authors"), limits) or [raw.get("author")]:
        if isinstance(one, dict):
            person = Person(name=_string(one.get("name")), uri=_link(one.get("url"), url))
            if person.name or person.uri:
                people.append(person)
        elif isinstance(one, str) and one.strip():
            people.append(Person(name=one.strip()))
    return tuple(people)


def _hubs(raw: object, url: str | None, limits: ParseLimits) -> tuple[str, ...]:
    found = (
        _link(one.get("url"), url)
        for one in _list(raw, limits)
        if isinstance(one, dict) and str(one.get("type")).lower() == "websub"
    )
    return tuple([address for address in found if address])


def _list(value: object, limits: ParseLimits) -> list[Any]:
    return value[: limits.max_values] if isinstance(value, list) else []


def _string(value: object) -> str | None:
    """Text as it is, numbers as they were written; anything else is nothing (J02)."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)[:1000]
    return None


def _whole(value: object) -> int | None:
    text = _string(value) or ""
    text = text.removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _link(value: object, base: str | None) -> str | None:
    text = _string(value)
    return resolve(text, base) if text else None


def _touched(places: tuple[Slice, ...] | None, fresh: Iterable[int]) -> tuple[Slice, ...]:
    unknown = frozenset(fresh)
    return tuple([place for number, place in enumerate(places or ()) if number not in unknown])


def _repairs(
    decoded: Decoded, read: _Read, limits: ParseLimits, *, capped: bool
) -> tuple[Repair, ...]:
    repairs = [*decoded.repairs, *read.repairs]
    if read.cut:
        repairs.append(Repair(code="truncated", detail="the document ends in the middle"))
    if capped:
        repairs.append(Repair(code="items-capped", detail=f"only {limits.max_items:,} are read"))
    return tuple(repairs)
