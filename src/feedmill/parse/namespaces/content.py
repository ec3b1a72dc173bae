"""content:, feedburner:, admin: and cc: — full text, original link, generator and licence."""

from typing import Final

from lxml import etree

from feedmill.model.parsed import Content, Link
from feedmill.parse.formats.atom import Handler
from feedmill.parse.xml.elements import Draft, ElementScope, markup_of, text_of


def _encoded(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    value = markup_of(element)
    if value is not None:
        scope = scope.enter(element)
        draft.add("contents", Content(value=value, base=scope.base, lang=scope.lang), scope)


def _original_link(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """feedburner:origLink is the publisher's own address behind a counting redirect."""
    draft.offer("external_url", scope.link(text_of(element)))


def _generator_agent(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    draft.offer("generator", scope.link(element.get(_RESOURCE)))


def _license(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """Creative Commons in RDF and in RSS, as the link that Atom has for it (RFC 4946)."""
    href = scope.enter(element).link(element.get(_RESOURCE) or text_of(element))
    if href is not None:
        draft.add("links", Link(href=href, rel="license"), scope)


_RESOURCE: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"

ENTRY: Final[dict[str, Handler]] = {
    "content:encoded": _encoded,
    "feedburner:origlink": _original_link,
    "cc:license": _license,
}
FEED: Final[dict[str, Handler]] = {
    "admin:generatoragent": _generator_agent,
    "cc:license": _license,
}
