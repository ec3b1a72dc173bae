"""slash:, thr: and wfw: — comments on an entry: how many, where, and what it replies to."""

from typing import Final

from lxml import etree

from feedmill.model.parsed import InReplyTo
from feedmill.parse.formats.atom import Handler
from feedmill.parse.xml.elements import Draft, ElementScope, integer, text_of


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


ENTRY: Final[dict[str, Handler]] = {
    "slash:comments": _comment_count,
    "thr:total": _comment_count,
    "thr:in-reply-to": _in_reply_to,
    "wfw:commentrss": _comment_feed,
}
