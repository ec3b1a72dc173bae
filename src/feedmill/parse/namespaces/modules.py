"""The small modules: content:, slash:, wfw:, thr:, fh:, at:, feedburner:, admin:, cc:."""

from typing import Final

from lxml import etree

from feedmill.model.parsed import Content, InReplyTo, Link, Tombstone
from feedmill.parse.formats.atom import Handler, read_person
from feedmill.parse.xml.elements import Draft, ElementScope, integer, markup_of, text_of
from feedmill.parse.xml.names import name_of


def _encoded(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    value = markup_of(element)
    if value is not None:
        scope = scope.enter(element)
        draft.add("contents", Content(value=value, base=scope.base, lang=scope.lang), scope)


def _comment_count(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft.put("comments_count", integer(text_of(element)))


def _comment_feed(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    draft.put("comments_feed", scope.enter(element).link(text_of(element)))


def _in_reply_to(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    scope = scope.enter(element)
    reply = InReplyTo(
        ref=element.get("ref"),
        href=scope.link(element.get("href")),
        source=scope.link(element.get("source")),
        type=element.get("type"),
    )
    draft.add("in_reply_to", reply, scope)


def _original_link(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    """feedburner:origLink is the publisher's own address behind a counting redirect."""
    draft.offer("external_url", scope.link(text_of(element)))


def _complete(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft.put("complete", True)  # noqa: FBT003


def _archive(draft: Draft, element: etree._Element, scope: ElementScope) -> None:  # noqa: ARG001
    draft.put("archive", True)  # noqa: FBT003


def _deleted(draft: Draft, element: etree._Element, scope: ElementScope) -> None:
    ref = (element.get("ref") or "").strip()
    if not ref:
        return
    by, comment = None, None
    for child in element:
        name = name_of(child)
        if name == "at:by":
            by = read_person(child, scope)
        elif name == "at:comment":
            comment = text_of(child)
    tombstone = Tombstone(ref=ref, when=element.get("when"), by=by, comment=comment)
    draft.add("tombstones", tombstone, scope)


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
    "slash:comments": _comment_count,
    "thr:total": _comment_count,
    "thr:in-reply-to": _in_reply_to,
    "wfw:commentrss": _comment_feed,
    "feedburner:origlink": _original_link,
    "cc:license": _license,
}
FEED: Final[dict[str, Handler]] = {
    "fh:complete": _complete,
    "fh:archive": _archive,
    "at:deleted-entry": _deleted,
    "admin:generatoragent": _generator_agent,
    "cc:license": _license,
}
