"""Atom 1.0 (RFC 4287) and 0.3, also where its elements stand inside RSS."""

from base64 import b64decode
from typing import Final, Literal

from lxml import etree

from feedmill.model.parsed import Category, Content, Enclosure, Image, Link, Person, Source, Text
from feedmill.parse.xml.elements import (
    Draft,
    ElementScope,
    Handler,
    attributes_of,
    field,
    inner_markup,
    inner_xhtml,
    integer,
    many_field,
    read_address,
    resolve_inner_addresses,
    text_field,
    text_of,
)
from feedmill.parse.xml.names import is_guess, name_of

_ATOM_03: Final = "{http://purl.org/atom/ns#}"
_COUNT: Final = "{http://purl.org/syndication/thread/1.0}count"
_DIVS: Final = frozenset({"xhtml:div", "rss:div", "atom:div"})
_IANA: Final = "http://www.iana.org/assignments/relation/"
_RELATIONS: Final = frozenset({"alternate", "self", "enclosure", "replies", "edit", "related"})
_HTML: Final = frozenset({"html", "text/html"})
_XHTML: Final = frozenset({"xhtml", "application/xhtml+xml"})
_PLAIN: Final = frozenset({"", "text", "text/plain"})


def read_text(element: etree._Element, scope: ElementScope) -> Text | None:
    """A text construct (RFC 4287 §3.1, Atom 0.3 §3.1): its value and what kind it is."""
    scope = scope.enter(element)
    value = _value(element, scope)
    if value is None:
        return None
    return Text(value=value, kind=_kind(element), base=scope.base, lang=scope.lang)


def read_content(element: etree._Element, scope: ElementScope) -> Content | None:
    """An atom:content: inline text or markup, or a reference by src (never fetched here)."""
    scope = scope.enter(element)
    src = scope.link(element.get("src"))
    value = _value(element, scope) or ""
    if not value and src is None:
        return None
    return Content(value=value, type=_mime(element), src=src, base=scope.base, lang=scope.lang)


def read_person(element: etree._Element, scope: ElementScope) -> Person | None:
    """A person construct; a bare name is taken as the name."""
    scope = scope.enter(element)
    parts: dict[str, str] = {}
    for child in element:
        value = text_of(child)
        part = _PERSON.get(name_of(child).partition(":")[2])
        if part is not None and value is not None:
            parts.setdefault(part, value)
    if not parts:
        return read_name(element, scope)
    return Person(
        name=parts.get("name"), email=parts.get("email"), uri=scope.link(parts.get("uri"))
    )


def read_name(element: etree._Element, scope: ElementScope) -> Person | None:  # noqa: ARG001
    """A person who is named by the text of an element."""
    name = text_of(element)
    return None if name is None else Person(name=name)


def read_link(element: etree._Element, scope: ElementScope) -> Link | None:
    """An atom:link with its relation spelled short, its address also as RSS writes it.

    None without an address.
    """
    said = attributes_of(element)
    href = scope.enter(element).link(said.get("href") or text_of(element))
    if href is None:
        return None
    return Link(
        href=href,
        rel=_relation(said.get("rel")),
        type=said.get("type"),
        hreflang=said.get("hreflang"),
        title=said.get("title"),
        length=integer(said["length"]) if "length" in said else None,
    )


def _relation(text: str | None) -> str:
    """A relation in its short spelling; none at all is alternate (RFC 4287 §4.2.7.2)."""
    if text in _RELATIONS:
        return text
    rel = (text or "").strip() or "alternate"
    return rel.removeprefix(_IANA) if rel.startswith(_IANA) else rel.lower()


def best_alternate(links: tuple[Link, ...]) -> str | None:
    """The address a person would open: an HTML alternate first, then any (RFC 4287 §4.2.7.2)."""
    alternates = [link for link in links if link.rel == "alternate"]
    for link in alternates:
        if link.type is None or link.type.strip().lower() in ("text/html", "application/xhtml+xml"):
            return link.href
    return alternates[0].href if alternates else None


def _kind(element: etree._Element) -> Literal["text", "html", "xhtml"]:
    declared = (element.get("type") or "").strip().lower()
    if declared in _HTML:
        return "html"
    return "xhtml" if declared in _XHTML or len(element) else "text"


def _mime(element: etree._Element) -> str:
    declared = (element.get("type") or "").strip().lower()
    if declared in _HTML:
        return "text/html"
    if declared in _XHTML or (len(element) and declared in _PLAIN):
        return "application/xhtml+xml"
    return "text/plain" if declared in _PLAIN else declared[:100]


def _value(element: etree._Element, scope: ElementScope) -> str | None:
    if len(element) == 0:
        text = element.text
        if not text:
            return None
        return _from_base64(text) if _is_base64(element) else (text.strip() or None)
    inside = _wrapper(element)
    if len(inside) == 0 and (element.get("type") or "").strip().lower() in _HTML:
        return text_of(inside)  # TypePad put its escaped HTML into a div
    resolve_inner_addresses(element, scope)
    written = inner_xhtml if _mime(element) == "application/xhtml+xml" else inner_markup
    return written(inside).strip() or None


def _wrapper(element: etree._Element) -> etree._Element:
    """What stands around the markup: Atom 1.0's div is no part of it (§3.1.1.3), Atom 0.3's is."""
    only = element[0]
    if len(element) > 1 or name_of(only) not in _DIVS or element.tag.startswith(_ATOM_03):
        return element
    alone = not (element.text or "").strip() and not (only.tail or "").strip()
    return only if alone else element


def _is_base64(element: etree._Element) -> bool:
    """Atom 0.3 says so by mode; Atom 1.0 by a type that is neither text nor XML (§4.1.3.3)."""
    if (element.get("mode") or "").strip().lower() == "base64":
        return True
    declared = (element.get("type") or "").strip().lower()
    if declared in _PLAIN or declared in _HTML or declared in _XHTML or element.get("mode"):
        return False
    return not declared.startswith("text/") and not declared.endswith(("+xml", "/xml"))


def _from_base64(text: str) -> str | None:
    try:
        return b64decode("".join(text.split()), validate=True).decode("utf-8").strip() or None
    except ValueError:  # no base64, or no text inside it
        return text.strip() or None


def _entry_link(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    link = read_link(element, scope)
    if link is None:
        return
    draft.add("links", link, scope)
    if link.rel == "enclosure":
        enclosure = Enclosure(url=link.href, type=link.type, length=link.length, title=link.title)
        draft.add("enclosures", enclosure, scope)
    elif link.rel == "replies":
        replies = "comments_feed" if link.type and "xml" in link.type else "comments"
        draft.offer(replies, link.href)
        draft.offer("comments_count", integer(element.get(_COUNT)))


def _feed_link(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    link = read_link(element, scope)
    if link is None:
        return
    draft.add("links", link, scope)
    if link.rel in ("hub", "self") and is_guess(element):
        return
    if link.rel == "hub":
        draft.add("hubs", link.href, scope)
    elif link.rel in _FEED_RELATIONS:
        draft.put(_FEED_RELATIONS[link.rel], link.href)


def _category(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    term = (element.get("term") or "").strip() or text_of(element)
    label = (element.get("label") or "").strip() or None
    if term or label:
        category = Category(term=term or label or "", scheme=element.get("scheme"), label=label)
        draft.add("categories", category, scope)


def _source(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    scope = scope.enter(element)
    inside = Draft()
    for child in element:
        handler = _SOURCE.get(name_of(child))
        if handler is not None:
            handler(inside, child, scope)
    fields = inside
    draft.put(
        "source",
        Source(
            id=fields.get("id"),
            title=fields.get("title"),
            link=best_alternate(fields.get("links", ())),
            updated=fields.get("updated"),
            authors=fields.get("authors", ()),
        ),
    )


def _generator(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft.put("generator", text_of(element) or element.get("uri") or element.get("url"))


def _logo(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    url = scope.enter(element).link(text_of(element))
    if url is not None:
        draft.put("image", Image(url=url))


_PERSON: Final = {
    "name": "name",
    "email": "email",
    "uri": "uri",
    "url": "uri",
    "homepage": "uri",
}
_FEED_RELATIONS: Final = {
    "self": "self_url",
    "next": "next_url",
    "prev-archive": "prev_archive_url",
    "next-archive": "next_archive_url",
    "current": "current_url",
}
_SHARED: Final[dict[str, Handler]] = {
    "atom:id": text_field("id"),
    "atom:title": field("title", read_text),
    "atom:updated": text_field("updated"),
    "atom:modified": text_field("updated"),
    "atom:published": text_field("published"),
    "atom:issued": text_field("published"),
    "atom:author": many_field("authors", read_person),
    "atom:contributor": many_field("contributors", read_person),
    "atom:category": _category,
    "atom:rights": field("rights", read_text),
    "atom:copyright": field("rights", read_text),
}
ENTRY: Final[dict[str, Handler]] = _SHARED | {
    "atom:link": _entry_link,
    "atom:summary": field("summary", read_text),
    "atom:content": many_field("contents", read_content),
    "atom:created": text_field("created"),
    "atom:source": _source,
}
FEED: Final[dict[str, Handler]] = _SHARED | {
    "atom:link": _feed_link,
    "atom:subtitle": field("subtitle", read_text),
    "atom:tagline": field("subtitle", read_text),
    "atom:generator": _generator,
    "atom:logo": _logo,
    "atom:icon": field("icon", read_address),
}
_SOURCE: Final[dict[str, Handler]] = _SHARED | {"atom:link": _entry_link}
