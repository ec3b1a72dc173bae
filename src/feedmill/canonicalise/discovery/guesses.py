"""Where a feed often is when nothing leads to it: the last resort, one request per guess.

The order is that of how often each path is met; a page's own folder and the root of the site take
turns. A page close to the root is more likely a site of its own (`/blog/`, `/~name/`) than one deep
below it, which is an article.
"""

from typing import Final

from feedmill.canonicalise.discovery.html_page import plain_url
from feedmill.canonicalise.urls import split_url
from feedmill.model.canonical import FoundFeed

WELL_KNOWN: Final = (
    "feed",
    "rss.xml",
    "atom.xml",
    "feed.xml",
    "index.xml",
    "rss",
    "feed.json",
    "feeds/posts/default",
    "?feed=rss2",
    "feed.atom",
    "rss/feed.xml",
)


def guess_feeds(url: str) -> tuple[FoundFeed, ...]:
    """The well-known addresses beside a page, likeliest first; () for what is no web page."""
    page = plain_url(url)
    if page is None:
        return ()
    parts = split_url(page)
    origin = page[: -len(parts.path + ("" if parts.query is None else f"?{parts.query}"))]
    urls = (f"{origin}{folder}{name}" for name in WELL_KNOWN for folder in _folders(parts.path))
    return tuple(FoundFeed(url=one, found_by="guess") for one in urls if one != page)


def _folders(path: str) -> tuple[str, ...]:
    """The folders to look into; a last segment without a dot is a folder."""
    segments = [segment for segment in path.split("/") if segment]
    if segments and not path.endswith("/") and "." in segments[-1]:
        segments.pop()
    own = "".join(f"/{segment}" for segment in segments) + "/"
    if own == "/":
        return ("/",)
    return (own, "/") if len(segments) == 1 else ("/", own)
