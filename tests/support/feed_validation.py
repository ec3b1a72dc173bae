"""What a feed validator would complain about, from RFC 4287, RFC 5005, RSS 2.0 and JSON Feed 1.1.

`complaints(document, kind)` is empty for a valid feed. Nothing here is shared with what writes the
feeds: another pair of eyes.
"""

import json
import re
from typing import Any

from lxml import etree

A = "{http://www.w3.org/2005/Atom}"
DC = "{http://purl.org/dc/elements/1.1/}"
CONTENT = "{http://purl.org/rss/1.0/modules/content/}"
HISTORY = "{http://purl.org/syndication/history/1.0}"
MEDIA = "{http://search.yahoo.com/mrss/}"

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_RFC822 = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d "
    r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d (GMT|[+-]\d{4})"
)
_ABSOLUTE = re.compile(r"https?://[^/\s<>\"]+(?:/[^\s<>\"]*)?")
_URI = re.compile(r"[a-z][a-z0-9+.-]*:[^\s<>\"]+")
_MIME = re.compile(r"[^\s/]+/[^\s/]+")
_ATOM_FEED = {"id", "title", "subtitle", "updated", "author", "generator", "link", "entry"}
_ATOM_ENTRY = {
    "id", "title", "published", "updated", "author", "link", "category", "summary", "content",
    "source",
}  # fmt: skip
_RSS_CHANNEL = {"title", "link", "description", "language", "lastBuildDate", "generator", "item"}
_RSS_ITEM = {
    "title", "link", "description", "guid", "pubDate", "category", "comments", "enclosure",
    "source",
}  # fmt: skip
_MODULES = {
    f"{A}link", f"{A}updated", f"{DC}creator", f"{DC}language", f"{CONTENT}encoded",
    f"{MEDIA}content", f"{MEDIA}thumbnail", f"{HISTORY}archive",
}  # fmt: skip


def complaints(document: bytes, kind: str) -> list[str]:
    """Everything that is wrong with the document, in words."""
    return {"atom": _atom, "rss": _rss, "json": _json}[kind](document)


def strict_tree(document: bytes) -> etree._Element:
    """The document read by a parser that forgives nothing."""
    parser = etree.XMLParser(recover=False, resolve_entities=False, no_network=True)
    return etree.fromstring(document, parser)


def _atom(document: bytes) -> list[str]:
    feed = strict_tree(document)
    said = [] if feed.tag == f"{A}feed" else [f"root is {feed.tag}"]
    said += _known(feed, {f"{HISTORY}archive", *(f"{A}{name}" for name in _ATOM_FEED)})
    said += _once(feed, ("id", "title", "updated"), A) + _dates(feed, ("updated",))
    said += _hrefs(feed) + _people(feed)
    said += [] if _text(feed, f"{A}title").strip() else ["no title"]
    rels = [link.get("rel") for link in feed.findall(f"{A}link")]
    said += [f"{rel} twice" for rel in set(rels) if rels.count(rel) > 1]
    said += [] if "self" in rels else ["no self link"]
    entries = feed.findall(f"{A}entry")
    said += _unique([_text(entry, f"{A}id") for entry in [*entries, feed]])
    for entry in entries:
        said += _known(entry, {*(f"{A}{name}" for name in _ATOM_ENTRY), f"{MEDIA}thumbnail"})
        said += _once(entry, ("id", "title", "updated", "published"), A)
        said += _dates(entry, ("updated", "published")) + _hrefs(entry) + _people(entry)
        alternates = [one for one in entry.findall(f"{A}link") if one.get("rel") == "alternate"]
        said += ["two alternates"] if len(alternates) > 1 else []
        if not alternates and entry.find(f"{A}content") is None:
            said.append("neither a link nor content")
        said += (
            [] if entry.find(f"{A}author") is not None or _source_author(entry) else ["no author"]
        )
        said += [
            f"category {one.attrib}" for one in entry.findall(f"{A}category") if not one.get("term")
        ]
        for text in (*entry.findall(f"{A}title"), *entry.findall(f"{A}summary")):
            said += (
                [] if text.get("type") == "text" and len(text) == 0 else [f"{text.tag} is no text"]
            )
        for source in entry.findall(f"{A}source"):
            said += _once(source, ("id", "title", "updated"), A) + _hrefs(source)
    return said


def _source_author(entry: etree._Element) -> bool:
    return entry.find(f"{A}source/{A}author/{A}name") is not None or True in [
        parent.find(f"{A}author") is not None for parent in entry.iterancestors()
    ]


def _rss(document: bytes) -> list[str]:
    root = strict_tree(document)
    said = [] if (root.tag, root.get("version")) == ("rss", "2.0") else [f"root is {root.tag}"]
    (channel,) = root
    said += _known(channel, _RSS_CHANNEL | _MODULES)
    said += _once(channel, ("title", "link", "description")) + _hrefs(channel)
    said += _rfc822(channel, "lastBuildDate")
    said += [f"no {name}" for name in ("title", "description") if not _text(channel, name).strip()]
    said += [] if _ABSOLUTE.fullmatch(_text(channel, "link")) else ["channel link"]
    links = [link.get("rel") for link in channel.findall(f"{A}link")]
    said += [] if "self" in links else ["no atom:link rel=self"]
    items = channel.findall("item")
    said += _unique([_text(item, "guid") for item in items])
    for item in items:
        said += _known(item, _RSS_ITEM | _MODULES) + _rfc822(item, "pubDate")
        if item.find("title") is None and item.find("description") is None:
            said.append("neither title nor description")
        for name in ("title", "link", "description", "guid", "pubDate", "comments", "source"):
            said += [f"{name} twice"] if len(item.findall(name)) > 1 else []
        guid = item.find("guid")
        said += [] if guid is not None and guid.get("isPermaLink") == "false" else ["guid"]
        for name in ("link", "comments"):
            said += [
                f"{name} {one.text}" for one in item.findall(name) if not _is_absolute(one.text)
            ]
        for one in item.findall("source"):
            said += [] if _is_absolute(one.get("url")) else ["source url"]
        said += ["two enclosures"] if len(item.findall("enclosure")) > 1 else []
        for one in item.findall("enclosure"):
            right = one.get("length", "").isdigit() and _MIME.fullmatch(one.get("type", ""))
            said += [] if right and _is_absolute(one.get("url")) else [f"enclosure {one.attrib}"]
        for one in item.findall(f"{A}updated"):
            said += [] if _RFC3339.fullmatch(one.text or "") else ["atom:updated"]
    return said


def _json(document: bytes) -> list[str]:
    feed = json.loads(document)
    said = [] if feed["version"] == "https://jsonfeed.org/version/1.1" else ["version"]
    said += [] if isinstance(feed["title"], str) and feed["title"] else ["title"]
    said += _unique([item["id"] for item in feed["items"]])
    said += _addresses(feed, ("home_page_url", "feed_url", "next_url"))
    said += [] if all(_is_absolute(hub["url"]) for hub in feed.get("hubs", [])) else ["hubs"]
    for item in feed["items"]:
        said += [] if isinstance(item["id"], str) and item["id"] else ["id"]
        said += [] if "content_html" in item or "content_text" in item else ["no content"]
        said += _addresses(item, ("url", "image"))
        said += [
            f"{n}" for n in ("date_published", "date_modified") if not _date_or_none(item.get(n))
        ]
        said += [] if "date_published" in item else ["no date"]
        for author in item.get("authors", []):
            said += [] if author.get("name") or author.get("url") else ["author"]
            said += (
                []
                if re.match(r"https?://|mailto:", author.get("url", "https://"))
                else ["author url"]
            )
        for one in item.get("attachments", []):
            said += _addresses(one, ("url",))
            said += [] if _MIME.fullmatch(one["mime_type"]) else ["mime_type"]
    return said


def _known(element: etree._Element, allowed: set[str]) -> list[str]:
    return [f"{child.tag} in {element.tag}" for child in element if child.tag not in allowed]


def _once(element: etree._Element, names: tuple[str, ...], space: str = "") -> list[str]:
    return [
        f"{name} not once in {element.tag}"
        for name in names
        if len(element.findall(f"{space}{name}")) != 1
    ]


def _dates(element: etree._Element, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not _RFC3339.fullmatch(_text(element, f"{A}{name}"))]


def _rfc822(element: etree._Element, name: str) -> list[str]:
    return [] if _RFC822.fullmatch(_text(element, name)) else [f"{name} {_text(element, name)}"]


def _hrefs(element: etree._Element) -> list[str]:
    links = [link.get("href") for link in element.findall(f"{A}link")]
    return [f"href {href}" for href in links if not _is_absolute(href)]


def _people(element: etree._Element) -> list[str]:
    people = element.findall(f"{A}author")
    said = ["author without name" for person in people if not _text(person, f"{A}name").strip()]
    said += [
        "author's uri"
        for one in element.iterfind(f"{A}author/{A}uri")
        if not _is_absolute(one.text)
    ]
    return said + [
        "email" for one in element.iterfind(f"{A}author/{A}email") if "@" not in str(one.text)
    ]


def _addresses(found: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in found and not _is_absolute(found[name])]


def _unique(ids: list[str]) -> list[str]:
    said = [f"{one} is no URI" for one in ids if not _URI.fullmatch(one)]
    return said + [f"{one} twice" for one in set(ids) if ids.count(one) > 1]


def _is_absolute(address: str | None) -> bool:
    return address is not None and _ABSOLUTE.fullmatch(address) is not None


def _date_or_none(text: str | None) -> bool:
    return text is None or _RFC3339.fullmatch(text) is not None


def _text(element: etree._Element, name: str) -> str:
    return element.findtext(name) or ""
