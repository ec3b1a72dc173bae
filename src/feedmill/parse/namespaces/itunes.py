"""itunes: and googleplay: — what podcast directories read."""

from itertools import islice
from typing import Final

from lxml import etree

from feedmill.model.parsed import Category, Image, Person
from feedmill.parse.formats.atom import read_person
from feedmill.parse.formats.rss import read_html
from feedmill.parse.xml.elements import (
    Draft,
    ElementScope,
    Handler,
    add_keywords,
    attributes_of,
    flag,
    inner_field,
    integer,
    seconds,
    split_keywords,
    text_of,
)
from feedmill.parse.xml.names import name_of


def _text(field: str, stand_in: str | None = None) -> Handler:
    def handle(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        draft.put_in("itunes", field, text_of(element))
        if stand_in is not None:
            draft.offer(stand_in, read_html(element, scope))

    return handle


def _author(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    name = text_of(element)
    draft.put_in("itunes", "author", name)
    if name is not None and not draft.other.get("authors"):
        draft.add_other("authors", Person(name=name), scope)


def _picture(draft: Draft, element: etree._Element, scope: ElementScope) -> str | None:
    said = attributes_of(element)
    url = scope.enter(element).link(said.get("href") or said.get("url") or text_of(element))
    draft.put_in("itunes", "image", url)
    return url


def _feed_image(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    url = _picture(draft, element, scope)
    if url is not None:
        draft.offer("image", Image(url=url))


def _entry_image(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    draft.offer("image", _picture(draft, element, scope))


def _old_image(handle: Handler) -> Handler:
    """itunes:link with rel="image" is how the first podcasts named their picture."""

    def handle_link(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
        if (element.get("rel") or "").strip().lower() == "image":
            handle(draft, element, scope)

    return handle_link


def _is_set(text: str | None) -> bool:
    return flag(text) or False


def _keywords(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    draft.put_in("itunes", "keywords", split_keywords(text_of(element), scope) or None)
    add_keywords(draft, text_of(element), _SCHEME, scope)


def _category(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    for one in islice(element.iter(), scope.limits.max_values):
        if name_of(one).endswith(":category"):
            # Only its own text: that of a category inside it is not its name.
            name = (one.get("text") or "").strip() or (one.text or "").strip()
            if name:
                _add_category(draft, name, scope)


def _add_category(draft: Draft, name: str, scope: ElementScope) -> None:
    facts = draft.part("itunes")
    known = facts.get("categories", ())
    if len(known) < scope.limits.max_values:
        facts["categories"] = (*known, name)
    draft.add("categories", Category(term=name, scheme=_SCHEME), scope)


def _owner(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    owner = read_person(element, scope)
    draft.put_in("itunes", "owner", owner)
    draft.offer("publisher", owner)


def _new_feed_url(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    draft.put("new_feed_url", scope.link(text_of(element)))


_SCHEME: Final = "http://www.itunes.com/"
_SHARED: Final[dict[str, Handler]] = {
    "itunes:title": _text("title", "title"),
    "itunes:author": _author,
    "itunes:explicit": inner_field("itunes", "explicit", flag),
    "itunes:block": inner_field("itunes", "block", _is_set),
    "itunes:keywords": _keywords,
    "itunes:category": _category,
    "googleplay:author": _author,
    "googleplay:explicit": inner_field("itunes", "explicit", flag),
    "googleplay:block": inner_field("itunes", "block", _is_set),
}
ENTRY: Final[dict[str, Handler]] = _SHARED | {
    "itunes:subtitle": _text("subtitle"),
    "itunes:summary": _text("summary", "summary"),
    "itunes:image": _entry_image,
    "itunes:link": _old_image(_entry_image),
    "itunes:duration": inner_field("itunes", "duration", seconds),
    "itunes:episode": inner_field("itunes", "episode", integer),
    "itunes:season": inner_field("itunes", "season", integer),
    "itunes:episodetype": _text("episode_type"),
    "googleplay:description": _text("summary", "summary"),
    "googleplay:image": _entry_image,
}
FEED: Final[dict[str, Handler]] = _SHARED | {
    "itunes:subtitle": _text("subtitle", "subtitle"),
    "itunes:summary": _text("summary", "subtitle"),
    "itunes:image": _feed_image,
    "itunes:link": _old_image(_feed_image),
    "itunes:type": _text("type"),
    "itunes:complete": inner_field("itunes", "complete", flag),
    "itunes:owner": _owner,
    "itunes:new-feed-url": _new_feed_url,
    "googleplay:description": _text("summary", "subtitle"),
    "googleplay:image": _feed_image,
    "googleplay:category": _category,
}
