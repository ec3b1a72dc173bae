"""Finds the hubs and the topic of a feed in the order of WebSub §4: Link header, then the document."""

from collections.abc import Sequence

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.urls import http_url
from feedmill.model.base import Value
from feedmill.model.parsed import Link

MAX_HUBS = 8


class Announced(Value):
    """The hubs that a publisher announces, the preferred one first, and the topic to subscribe to."""

    hubs: tuple[str, ...]
    topic: str


def announced_push(
    links: Sequence[Link], *, hubs: Sequence[str], self_url: str | None, url: str
) -> Announced | None:
    """What an answer from `url` announces; None without a hub.

    `links` are those of the Link header, `hubs` and `self_url` those of the document. The header
    comes first; hubs that only the document names are further ones to fall back to.
    """
    found = [*_targets(links, "hub"), *hubs]
    usable = tuple(dict.fromkeys(href for hub in found if (href := http_url(hub)) is not None))
    if not usable:
        return None
    own = next(iter(_targets(links, "self")), None) or self_url
    topic = None if own is None else http_url(own)
    return Announced(hubs=usable[:MAX_HUBS], topic=topic or url)


def announced_on_page(body: bytes, content_type: str | None, url: str) -> Announced | None:
    """What the `link` elements of an HTML page announce."""
    page = read_page(body, url, content_type=content_type)
    links = [
        Link(href=href, rel=element.get("rel"))
        for element in page.links
        if (href := http_url(element.get("href"), page.base)) is not None
    ]
    return announced_push(links, hubs=(), self_url=None, url=url)


def _targets(links: Sequence[Link], rel: str) -> list[str]:
    return [link.href for link in links if rel in (link.rel or "").lower().split()]
