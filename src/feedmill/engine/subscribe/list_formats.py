"""Reads lists of feeds (OPML 2.0, feeds.json, one address per line) and writes OPML.

OPML is untrusted XML, so it goes through the same hardened reader as a feed. Outlines that
include other lists are not followed.
"""

from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any, Final

import msgspec
from lxml import etree
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.parse.document import count_attributes
from feedmill.parse.input.encoding import decode
from feedmill.parse.xml.names import read_prolog, without_doctype
from feedmill.parse.xml.tree import read_tree

_LIMITS: Final = ParseLimits(max_bytes=20 * 1024 * 1024)
_LIST_KEYS: Final = ("feeds", "seeds", "items", "subscriptions")
_MOST_FOLDERS: Final = 8  # of one feed; deeper ones add nothing that a person would look for
_MOST_TAGS: Final = 50  # of one feed
_TAG_CHARS: Final = 100  # as REST accepts them. A folder's name is stored with each feed in it:
_TITLE_CHARS: Final = 1_000  # 2 MB of name over 20,000 feeds would be 40 GB of database
_SITE_CHARS: Final = 4_096
_MOST_OUTLINES: Final = 200_000
# What a tree of it costs is counted in the bytes first: 20 MB of `<` took 1.8 GB, 20 MB of attributes 0.9 GB.
_MOST_TAGS_IN_FILE: Final = 500_000
_MOST_ATTRIBUTES: Final = 1_000_000
_MOST_VALUES: Final = 2_000_000  # of JSON
# Attributes are asked for by name, in the spellings that programs write: to go through all of an element's is
# quadratic in their number.
_SPELLINGS: Final = {
    name: (name, name.lower(), name.upper(), name.capitalize(), name.replace("Url", "URL"))
    for name in ("xmlUrl", "htmlUrl", "title", "text", "category")
}


class Outline(Value):
    """One feed of a list; folders have become tags."""

    url: str
    title: str | None = None
    site: str | None = None
    tags: tuple[str, ...] = ()


def read_list(data: bytes) -> list[Outline]:
    """Every feed of a list in any of the three shapes, in order, each address once."""
    if len(data) > _LIMITS.max_bytes:
        message = f"a list of {len(data):,} bytes is too large"
        raise ValueError(message)
    utf8 = decode(data, None, _LIMITS).utf8.lstrip()
    if utf8.startswith(b"<"):
        _refuse_above(utf8.count(b"<"), _MOST_TAGS_IN_FILE, "tags")
        _refuse_above(count_attributes(utf8, _MOST_ATTRIBUTES), _MOST_ATTRIBUTES, "attributes")
        found = _opml(utf8)
    elif utf8.startswith((b"{", b"[")):
        _refuse_above(sum(map(utf8.count, (b",", b"{", b"["))), _MOST_VALUES, "values")
        found = _json(utf8)
    else:
        found = _lines(utf8)
    if not found:
        message = "no feed address is in it"
        raise ValueError(message)
    _refuse_above(len(found), _MOST_OUTLINES, "feeds")
    return _merged(found)


def _refuse_above(count: int, most: int, what: str) -> None:
    if count > most:
        # Counting stops soon after the limit.
        message = f"it has more than {most:,} {what}; split it"
        raise ValueError(message)


def write_opml(outlines: list[Outline]) -> bytes:
    """OPML 2.0 with one folder per first tag."""
    root = etree.Element("opml", version="2.0")
    head = etree.SubElement(root, "head")
    etree.SubElement(head, "title").text = "feedmill subscriptions"
    body = etree.SubElement(root, "body")
    folders: dict[str, Any] = {}
    for outline in outlines:
        place = body
        if outline.tags:
            name = outline.tags[0]
            if name not in folders:
                folders[name] = etree.SubElement(body, "outline", text=_xml(name), title=_xml(name))
            place = folders[name]
        title = _xml(outline.title or outline.url)
        attributes = {"type": "rss", "text": title, "title": title, "xmlUrl": _xml(outline.url)}
        if outline.site:
            attributes["htmlUrl"] = _xml(outline.site)
        if len(outline.tags) > 1:
            attributes["category"] = _xml(",".join(outline.tags))
        etree.SubElement(place, "outline", attributes)
    return etree.tostring(root, xml_declaration=True, encoding="utf-8", pretty_print=True)


def _merged(found: list[Outline]) -> list[Outline]:
    """Each address once, at its first place; a feed in two folders has the tags of both."""
    merged: dict[str, Outline] = {}
    for outline in map(_shortened, found):
        first = merged.setdefault(outline.url, outline)
        tags = tuple(dict.fromkeys((*first.tags, *outline.tags)))[:_MOST_TAGS]
        merged[outline.url] = replace(first, title=first.title or outline.title, tags=tags)
    return list(merged.values())


def _shortened(outline: Outline) -> Outline:
    title, site = outline.title, outline.site
    cut = (tag[:_TAG_CHARS].strip() for tag in outline.tags[:_MOST_TAGS])
    return replace(
        outline,
        title=title[:_TITLE_CHARS].strip() if title else title,
        site=site if site and len(site) <= _SITE_CHARS else None,
        tags=tuple(dict.fromkeys(tag for tag in cut if tag)),
    )


def _opml(utf8: bytes) -> list[Outline]:
    tree = read_tree(without_doctype(utf8, read_prolog(utf8, 0)))
    if tree is None:
        message = "it begins like XML but is not"
        raise ValueError(message)
    name = etree.QName(tree.root).localname
    if name.lower() != "opml":
        message = f"it is <{name[:40]}> and no OPML; `feedmill add` takes the address of a feed"
        raise ValueError(message)
    found: list[Outline] = []
    _walk(tree.root, (), found)
    return found


def _walk(element: Any, folders: tuple[str, ...], found: list[Outline]) -> None:  # noqa: ANN401
    for child in element:
        url = _attribute(child, "xmlUrl")
        name = _attribute(child, "title") or _attribute(child, "text")
        if url:
            category = _attribute(child, "category") or ""
            tags = [*folders, *category.split(",", _MOST_TAGS)[:_MOST_TAGS]]
            clean = tuple(dict.fromkeys(tag.strip(" /") for tag in tags if tag.strip(" /")))
            site = _attribute(child, "htmlUrl")
            title = name if name != url else None  # OPML has no feed without a text
            found.append(Outline(url=url, title=title, site=site, tags=clean))
        deeper = (*folders, name) if name and not url and len(folders) < _MOST_FOLDERS else folders
        _walk(child, deeper, found)


def _attribute(element: Any, name: str) -> str | None:  # noqa: ANN401  # lxml's
    for spelling in _SPELLINGS[name]:
        if (value := element.get(spelling)) is not None:
            return str(value).strip()
    return None


def _json(utf8: bytes) -> list[Outline]:
    try:
        value = msgspec.json.decode(utf8)
    except (msgspec.DecodeError, RecursionError) as problem:
        message = f"it begins like JSON but is not ({problem})"
        raise ValueError(message) from None
    if isinstance(value, dict):
        value = next((value[key] for key in _LIST_KEYS if key in value), value)
    if isinstance(value, dict):  # names and addresses
        value = [{"title": title, "url": url} for title, url in value.items()]
    found = (_outline(item) for item in value) if isinstance(value, list) else ()
    return [outline for outline in found if outline is not None]


def _outline(item: object) -> Outline | None:
    if isinstance(item, str):
        item = {"url": item}
    if not isinstance(item, dict):
        return None
    url = item.get("url") or item.get("feed_url") or item.get("xmlUrl")
    if not isinstance(url, str) or not url.strip():
        return None
    tags, title = item.get("tags") or (), item.get("title") or item.get("name")
    names = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else ()
    return Outline(
        url=url.strip(),
        title=str(title) if title else None,
        tags=tuple(dict.fromkeys(str(tag).strip() for tag in names if str(tag).strip())),
    )


def _lines(utf8: bytes) -> list[Outline]:
    found = (
        Outline(url=line.split()[0])
        for line in _stripped_lines(utf8)
        if line and not line.startswith("#")
    )
    return list(islice(found, _MOST_OUTLINES + 1))


def _stripped_lines(utf8: bytes) -> Iterator[str]:
    """The lines one after another: a list of the lines of a large file takes 30 times its size."""
    for text in StringIO(utf8.decode("utf-8", "replace")):
        for line in text.splitlines():
            yield line.strip()


def _xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(
        c for c in text if c >= " " and not 0xD800 <= ord(c) <= 0xDFFF and c not in "\ufffe\uffff"
    )
