"""Lists of feeds: OPML 2.0, feeds.json, or one address per line; and OPML out again.

OPML is XML from strangers, so it goes through the same hardened reader as a feed. Outlines that
include other lists are not followed.
"""

from typing import Any

import msgspec
from lxml import etree

from feedmill.model.base import Value
from feedmill.parse.prolog import read_prolog, without_doctype
from feedmill.parse.xml import read_tree

_MAX_BYTES = 20 * 1024 * 1024


class Outline(Value):
    """One feed of a list; folders have become tags."""

    url: str
    title: str | None = None
    site: str | None = None
    tags: tuple[str, ...] = ()


def read_list(data: bytes) -> list[Outline]:
    """Every feed of a list in any of the three shapes, in order, each address once."""
    if len(data) > _MAX_BYTES:
        message = f"a list of {len(data):,} bytes is too large"
        raise ValueError(message)
    head = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if head == b"<":
        found = _opml(data)
    elif head in (b"{", b"["):
        found = _json(data)
    else:
        found = _lines(data)
    if not found:
        message = "no feed address is in it"
        raise ValueError(message)
    return list({outline.url: outline for outline in reversed(found)}.values())[::-1]


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


def _opml(data: bytes) -> list[Outline]:
    prolog = read_prolog(data, 0)
    tree = read_tree(without_doctype(data.decode("utf-8", "replace").encode(), prolog))
    if tree is None:
        message = "it is neither OPML nor anything else that can be read"
        raise ValueError(message)
    found: list[Outline] = []
    _walk(tree.root, (), found)
    return found


def _walk(element: Any, folders: tuple[str, ...], found: list[Outline]) -> None:  # noqa: ANN401
    for child in element:
        facts = {str(key).lower(): str(value).strip() for key, value in child.attrib.items()}
        url = facts.get("xmlurl")
        name = facts.get("title") or facts.get("text")
        if url:
            tags = [*folders, *(facts.get("category") or "").split(",")]
            clean = tuple(dict.fromkeys(tag.strip(" /") for tag in tags if tag.strip(" /")))
            found.append(Outline(url=url, title=name, site=facts.get("htmlurl"), tags=clean))
        deeper = (*folders, name) if name and not url and len(folders) < 8 else folders
        _walk(child, deeper, found)


def _json(data: bytes) -> list[Outline]:
    try:
        value = msgspec.json.decode(data)
    except msgspec.DecodeError as problem:
        message = f"it begins like JSON but is not ({problem})"
        raise ValueError(message) from None
    if isinstance(value, dict):
        value = value.get("seeds") or value.get("feeds") or value.get("items") or []
    found: list[Outline] = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str) and item.strip():
            found.append(Outline(url=item.strip()))
        elif isinstance(item, dict):
            url = item.get("url") or item.get("feed_url") or item.get("xmlUrl")
            if isinstance(url, str) and url.strip():
                tags = [str(tag) for tag in item.get("tags") or [] if str(tag).strip()]
                title = item.get("title")
                found.append(
                    Outline(url=url.strip(), title=str(title) if title else None, tags=tuple(tags))
                )
    return found


def _lines(data: bytes) -> list[Outline]:
    lines = (line.strip() for line in data.decode("utf-8-sig", "replace").splitlines())
    return [Outline(url=line.split()[0]) for line in lines if line and not line.startswith("#")]


def _xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(
        c for c in text if c >= " " and not 0xD800 <= ord(c) <= 0xDFFF and c not in "\ufffe\uffff"
    )
