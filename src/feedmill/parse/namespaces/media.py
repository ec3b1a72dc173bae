"""media: — Media RSS: the files of an entry and what is said about them."""

from itertools import islice
from typing import Final, Literal

from lxml import etree
from msgspec.structs import replace

from feedmill.model.parsed import Category, MediaContent, MediaThumbnail, Text
from feedmill.parse.xml.elements import (
    Draft,
    ElementScope,
    Handler,
    add_keywords,
    attributes_of,
    integer,
    markup_of,
    seconds,
    text_of,
)
from feedmill.parse.xml.names import name_of

_MAX_CHILDREN: Final = 20_000  # of one group or content


def _content(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    draft.add("media", read_media(element, scope), scope)
    _own_keywords(draft, element, scope)


def _group(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """Every content of the group, each with what the group says of all of them."""
    scope = scope.enter(element)
    about = _about(element, scope)
    children = list(islice(element, _MAX_CHILDREN))
    contents = [child for child in children if name_of(child) == "media:content"]
    for child in contents[: scope.limits.max_values + 1]:
        own = read_media(child, scope)
        draft.add("media", _inherited(own, about), scope)
        _own_keywords(draft, child, scope)
    if not contents:
        draft.add("media", about, scope)
    if about.thumbnails:
        draft.offer("image", about.thumbnails[0].url)
    for child in children:
        handler = _ABOUT_ENTRY.get(name_of(child))
        if handler is not None:
            handler(draft, child, scope)


def read_media(element: etree._Element, scope: ElementScope) -> MediaContent:
    """One media:content with its own title, description, credits and thumbnails."""
    scope = scope.enter(element)
    said = attributes_of(element)
    return replace(
        _about(element, scope),
        url=scope.link(said.get("url")),
        type=said.get("type"),
        medium=said.get("medium"),
        length=integer(said.get("filesize")),
        duration=seconds(said.get("duration")),
        width=integer(said.get("width")),
        height=integer(said.get("height")),
        lang=said.get("lang"),
    )


def _about(element: etree._Element, scope: ElementScope) -> MediaContent:
    title = description = None
    names: list[str] = []
    thumbnails: list[MediaThumbnail] = []
    for child in islice(element, _MAX_CHILDREN):
        name = name_of(child)
        if name == "media:title":
            title = title or text_of(child)
        elif name == "media:description":
            description = description or markup_of(child)
        elif name == "media:credit" and (credit := text_of(child)):
            names.append(credit)
        elif name == "media:thumbnail" and (thumbnail := _read_thumbnail(child, scope)):
            thumbnails.append(thumbnail)
    limit = scope.limits.max_values
    return MediaContent(
        title=title,
        description=description,
        credits=tuple(names[:limit]),
        thumbnails=tuple(thumbnails[:limit]),
    )


def _inherited(own: MediaContent, group: MediaContent) -> MediaContent:
    return replace(
        own,
        title=own.title or group.title,
        description=own.description or group.description,
        credits=own.credits or group.credits,
        thumbnails=own.thumbnails or group.thumbnails,
    )


def _read_thumbnail(element: etree._Element, scope: ElementScope) -> MediaThumbnail | None:
    said = attributes_of(element)
    url = scope.link(said.get("url") or text_of(element))
    if url is None:
        return None
    return MediaThumbnail(
        url=url, width=integer(said.get("width")), height=integer(said.get("height"))
    )


def _thumbnail(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    thumbnail = _read_thumbnail(element, scope)
    if thumbnail is not None:
        draft.add("media", MediaContent(thumbnails=(thumbnail,)), scope)
        draft.offer("image", thumbnail.url)


def _stand_in(field: str) -> Handler:
    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        scope = scope.enter(element)
        value = markup_of(element)
        if value is not None:
            plain = (element.get("type") or "").strip().lower() == "plain"
            kind: Literal["text", "html"] = "text" if plain else "html"
            draft.offer(field, Text(value=value, kind=kind, base=scope.base, lang=scope.lang))

    return handle


def _category(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    term = text_of(element)
    if term is not None:
        scheme = element.get("scheme") or _SCHEME
        category = Category(term=term, scheme=scheme, label=element.get("label"))
        draft.add("categories", category, scope)


def _keywords(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    add_keywords(draft, text_of(element), _SCHEME, scope)


def _own_keywords(draft: Draft, content: etree._Element, scope: ElementScope) -> None:
    """The keywords of one file are those of its entry."""
    for child in islice(content, _MAX_CHILDREN):
        if name_of(child) == "media:keywords":
            _keywords(draft, child, scope)


_SCHEME: Final = "http://search.yahoo.com/mrss/category_schema"  # what none means
_ABOUT_ENTRY: Final[dict[str, Handler]] = {
    "media:title": _stand_in("title"),
    "media:description": _stand_in("summary"),
    "media:category": _category,
    "media:keywords": _keywords,
}
ENTRY: Final[dict[str, Handler]] = _ABOUT_ENTRY | {
    "media:content": _content,
    "media:group": _group,
    "media:thumbnail": _thumbnail,
}
