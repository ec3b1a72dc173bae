"""All feeds of a page that discovery would look at, for tests of how pages link to them."""

from collections.abc import Sequence

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.page_links import (
    anchored_feeds,
    declared_feeds,
    distinct_feeds,
)
from feedmill.model.canonical import FoundFeed
from feedmill.model.parsed import Link


def feeds_of_page(
    html: str | bytes, url: str, link_header_links: Sequence[Link] = ()
) -> tuple[FoundFeed, ...]:
    """Every feed that a page links to, best first: declared ones before anchors."""
    page = read_page(html, url, link_header_links)
    return distinct_feeds((*declared_feeds(page), *anchored_feeds(page)))
