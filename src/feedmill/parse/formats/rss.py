"""RSS 0.90 to 2.0 and RSS 1.0/RDF: the elements that have no namespace of their own."""

from itertools import islice
from typing import Final

from lxml import etree

from feedmill.model.parsed import (
    Category,
    Cloud,
    Content,
    Enclosure,
    Image,
    Link,
    Source,
    Text,
)
from feedmill.parse.formats import atom
from feedmill.parse.formats.atom import read_link, read_name, read_person, read_text
from feedmill.parse.namespaces.syndication import days_of, hours_of, put_hint
from feedmill.parse.xml.elements import (
    Draft,
    ElementScope,
    Handler,
    add_keywords,
    attributes_of,
    field,
    inner_markup,
    integer,
    many_field,
    markup_of,
    read_address,
    stand_in,
    text_field,
    text_of,
)
from feedmill.parse.xml.names import name_of


def read_html(element: etree._Element, scope: ElementScope) -> Text | None:
    """An RSS text: the specification does not say whether it is markup, so it may be."""
    if element.get("type") is not None and _is_in_atom(element):
        return read_text(element, scope)
    value = markup_of(element)
    if value is None:
        return None
    scope = scope.enter(element)
    return Text(value=value, kind="html", base=scope.text_base, lang=scope.lang)


def read_body(element: etree._Element, scope: ElementScope) -> Content | None:
    """The content of an element as HTML."""
    value = markup_of(element)
    scope = scope.enter(element)
    return None if value is None else Content(value=value, base=scope.text_base, lang=scope.lang)


def _is_in_atom(element: etree._Element) -> bool:
    """Whether it stands in an Atom document that forgot its namespace."""
    parent = element.getparent()
    return parent is not None and parent.tag in ("entry", "feed")


def _link(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """RSS spells it as text; some as an attribute; an HTML parser's output as the tail."""
    address = text_of(element)
    if address is None and attributes_of(element).get("href"):
        _link_without_namespace(draft, element, scope)
        return
    if address is None and (tail := (element.tail or "").strip()).startswith(("http:", "https:")):
        address = tail.split(None, 1)[0]
    href = scope.enter(element).link(address)
    if href is not None:
        draft.put("link", href)
        draft.add("links", Link(href=href), scope)


def _link_without_namespace(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """Atom's way of writing it; a hub or a self link it is only in Atom's namespace (R12)."""
    link = read_link(element, scope)
    if link is not None:
        draft.add("links", link, scope)
        if link.rel == "alternate":
            draft.put("link", link.href)
        elif link.rel == "enclosure":
            enclosure = Enclosure(
                url=link.href, type=link.type, length=link.length, title=link.title
            )
            draft.add("enclosures", enclosure, scope)


def _guid(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    guid = text_of(element)
    if guid is not None and "id" not in draft:
        draft["id"] = guid
        stated = attributes_of(element).get("ispermalink") or "true"
        draft["id_is_permalink"] = stated.strip().lower() != "false"


def _category(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    term = text_of(element) or (element.get("term") or "").strip()
    if term:
        draft.add("categories", Category(term=term, scheme=element.get("domain")), scope)


def _categories(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """No element of RSS: some programs wrap their categories into it."""
    for child in islice(element, scope.limits.max_values):
        _category(draft, child, scope)
    if len(element) == 0:
        add_keywords(draft, text_of(element), None, scope)


def _enclosure(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    said = attributes_of(element)
    url = scope.enter(element).link(said.get("url") or said.get("href"))
    if url is not None:
        length = integer(said.get("length"))
        draft.add("enclosures", Enclosure(url=url, type=said.get("type"), length=length), scope)


def _source(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    link = scope.enter(element).link(attributes_of(element).get("url"))
    title = text_of(element)
    if link or title:
        draft.put("source", Source(title=Text(value=title) if title else None, link=link))


def _content(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """No element of RSS: Atom's where it says its type, else a body."""
    handle = _body if element.get("type") is None else atom.ENTRY["atom:content"]
    handle(draft, element, scope)


def _xhtml_body(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """xhtml:body is markup by its namespace, so its text is text."""
    value = inner_markup(element).strip()
    if value:
        scope = scope.enter(element)
        content = Content(
            value=value, type="application/xhtml+xml", base=scope.text_base, lang=scope.lang
        )
        draft.add("contents", content, scope)


def _image(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    scope = scope.enter(element)
    parts = {name_of(child): text_of(child) for child in element}
    url = scope.link(parts.get("rss:url") or element.get("href") or text_of(element))
    if url is not None:
        image = Image(
            url=url,
            title=parts.get("rss:title"),
            link=scope.link(parts.get("rss:link")),
            width=integer(parts.get("rss:width")),
            height=integer(parts.get("rss:height")),
        )
        draft.put("image", image)


def _entry_image(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """No element of RSS either, but a picture for the entry where some programs write one."""
    scope = scope.enter(element)
    parts = {name_of(child): text_of(child) for child in element}
    written = text_of(element) if len(element) == 0 else None
    draft.offer("image", scope.link(parts.get("rss:url") or element.get("href") or written))


def _redirect(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """Userland's way of telling that a feed has moved; believed like itunes:new-feed-url (D6)."""
    for child in element:
        if name_of(child) == "rss:newlocation":
            draft.put("new_feed_url", scope.enter(child).link(text_of(child)))


def _cloud(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    cloud = Cloud(
        domain=element.get("domain"),
        port=element.get("port"),
        path=element.get("path"),
        register_procedure=element.get("registerProcedure"),
        protocol=element.get("protocol"),
    )
    draft.put("cloud", cloud)


def _ttl(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    minutes = integer(text_of(element))
    if minutes is not None:
        put_hint(draft, ttl_minutes=minutes)


def _skip_hours(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    put_hint(draft, skip_hours=hours_of(text_of(child) for child in element))


def _skip_days(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    put_hint(draft, skip_days=days_of(text_of(child) for child in element))


def _nothing(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """An element that is read elsewhere, or that says nothing a program needs."""


def _without_namespace(handlers: dict[str, Handler]) -> dict[str, Handler]:
    """Atom's elements for documents that forgot its namespace; RSS's own names come first."""
    return {name.replace("atom:", "rss:"): handler for name, handler in handlers.items()}


_body: Final = many_field("contents", read_body)
_SHARED: Final[dict[str, Handler]] = {
    "rss:title": field("title", read_html),
    "rss:link": _link,
    "rss:category": _category,
    "rss:categories": _categories,
    "rss:pubdate": text_field("published"),
    "rss:lastbuilddate": text_field("updated"),
    "rss:copyright": field("rights", read_html),
    "rss:author": many_field("authors", read_person),
}
ENTRY: Final[dict[str, Handler]] = (
    _without_namespace(atom.ENTRY)
    | _SHARED
    | {
        "rss:description": field("summary", read_html),
        "rss:guid": _guid,
        "rss:enclosure": _enclosure,
        "rss:comments": field("comments", read_address),
        "rss:source": _source,
        "rss:body": _body,
        "rss:summary": stand_in("summary", read_html),  # no element of RSS
        "rss:image": _entry_image,
        "xhtml:body": _xhtml_body,
        "rss:fullitem": _body,
        "rss:content": _content,
        "rss:expirationdate": text_field("expired"),
    }
)
FEED: Final[dict[str, Handler]] = (
    _without_namespace(atom.FEED)
    | _SHARED
    | {
        "rss:description": field("subtitle", read_html),
        "rss:language": text_field("language"),
        "rss:managingeditor": many_field("authors", read_person),
        "rss:webmaster": field("publisher", read_name),
        "rss:generator": text_field("generator"),
        "rss:docs": field("docs", read_address),
        "rss:image": _image,
        "rss:cloud": _cloud,
        "rss:ttl": _ttl,
        "rss:skiphours": _skip_hours,
        "rss:skipdays": _skip_days,
        "rss:redirect": _redirect,
        "rss:textinput": _nothing,
        "rss:items": _nothing,
    }
)
