"""content:, yandex:, feedburner:, admin:, cc:, slash:, thr: and wfw: — full text, original link, licence, comments."""
# Tested in tests/unit/parse/namespaces/test_namespaces.py

from typing import Final

from lxml import etree

from feedmill.model.parsed import InReplyTo, Link
from feedmill.parse.formats.rss import read_body
from feedmill.parse.xml.elements import (
    Draft,
    ElementScope,
    Handler,
    field,
    integer,
    many_field,
    read_address,
    text_of,
)

_RESOURCE: Final = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"


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


def _comment_count(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft.put("comments_count", integer(text_of(element)))


def _in_reply_to(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    scope = scope.enter(element)
    reply = InReplyTo(
        ref=element.get("ref"),
        href=scope.link(element.get("href")),
        source=scope.link(element.get("source")),
        type=element.get("type"),
    )
    draft.add("in_reply_to", reply, scope)


ENTRY: Final[dict[str, Handler]] = {
    "content:encoded": many_field("contents", read_body),
    "yandex:full-text": many_field("contents", read_body),  # and mailru:full-text
    "yandex:content": many_field("contents", read_body),  # turbo:content
    "feedburner:origlink": _original_link,
    "cc:license": _license,
    "slash:comments": _comment_count,
    "thr:total": _comment_count,
    "thr:in-reply-to": _in_reply_to,
    "wfw:commentrss": field("comments_feed", read_address),
}
FEED: Final[dict[str, Handler]] = {
    "admin:generatoragent": _generator_agent,
    "cc:license": _license,
}
