"""Search for the feeds of a page: which URLs to request, in which order, and when to stop.

It has no I/O: it yields `Ask` and is sent `Seen`. What the page declares is returned without a
request, because a subscription fetches the chosen one anyway. Otherwise the platform's rules, the
anchors that look like feeds and the well-known paths are requested one by one, until the first
feed, until the host is rate limiting, or until the budget is spent.
"""

from collections.abc import Generator
from typing import Final

from feedmill.canonicalise.discovery.html_page import HtmlPage, plain_url
from feedmill.canonicalise.discovery.page_links import (
    anchored_feeds,
    declared_feeds,
    distinct_feeds,
    feed_rank,
)
from feedmill.canonicalise.discovery.platform_pages import page_platform_feeds
from feedmill.canonicalise.discovery.platforms import platform_feeds
from feedmill.canonicalise.search_log import asked
from feedmill.canonicalise.urls import split_url
from feedmill.model.base import Value
from feedmill.model.canonical import Ask, Asked, Found, FoundFeed, FoundReason, RequestRole, Seen

DISALLOWED: Final = "robots-disallowed"  # what `Seen.reason` says when robots.txt forbids it
_COMMENTS: Final = 2
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


class FindOptions(Value):
    """Limits of a search: the number of requests, and which kinds of candidates."""

    budget: int = 5  # requests
    anchors: bool = True
    guesses: bool = True


DiscoverySteps = Generator[Ask, Seen, Found]


def find_feeds(page: HtmlPage, options: FindOptions | None = None) -> DiscoverySteps:
    """Search a page for feeds; the generator returns what was found and which requests were made."""
    options = options or FindOptions()
    declared = declared_feeds(page)
    if any(not feed.is_comments for feed in declared):
        return Found(feeds=declared, reason="declared")
    # A page was given, so comment feeds alone are not what is wanted.
    found = yield from _Search(options.budget).run(_candidates(page, options))
    if found.feeds or not declared:
        return _with_more(found, declared)
    return Found(feeds=declared, reason="declared", asked=found.asked, untried=found.untried)


def guess_feeds(url: str) -> tuple[FoundFeed, ...]:
    """The well-known feed paths beside a page, likeliest first; () for what is no web page.

    The last resort, one request per guess, in the order of how often each path is met; a page's own
    folder and the root of the site take turns. A page close to the root is more likely a site of
    its own (`/blog/`, `/~name/`) than one deep below it, which is an article.
    """
    page = plain_url(url)
    if page is None:
        return ()
    parts = split_url(page)
    origin = page[: -len(parts.path + ("" if parts.query is None else f"?{parts.query}"))]
    urls = (f"{origin}{folder}{name}" for name in WELL_KNOWN for folder in _folders(parts.path))
    return tuple(FoundFeed(url=one, found_by="guess") for one in urls if one != page)


def _candidates(page: HtmlPage, options: FindOptions) -> tuple[FoundFeed, ...]:
    """The URLs that are worth a request, likeliest first."""
    platform = (*platform_feeds(page.url), *page_platform_feeds(page, page.url))
    anchors = anchored_feeds(page) if options.anchors else ()
    paths = guess_feeds(page.url) if options.guesses else ()
    thought_of = distinct_feeds((*platform, *anchors, *paths))
    return tuple(sorted(thought_of, key=lambda feed: feed_rank(feed) == _COMMENTS))


def _with_more(found: Found, declared: tuple[FoundFeed, ...]) -> Found:
    return Found(
        feeds=distinct_feeds((*found.feeds, *declared)),
        reason=found.reason,
        proven=found.proven,
        asked=found.asked,
        untried=found.untried,
    )


class _Search:
    """One pass through the candidate URLs."""

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._asked: list[Asked] = []
        self._silent: set[tuple[str, str, str]] = set()  # origins that do not answer at all

    def run(self, candidates: tuple[FoundFeed, ...]) -> DiscoverySteps:
        """Request candidates until one is a feed or there is a reason to stop."""
        was_forbidden = False
        for position, feed in enumerate(candidates):
            if _origin(feed.url) in self._silent:
                continue
            if self._left <= 0:
                return self._end("budget-spent", candidates[position:])
            seen = yield Ask(url=feed.url, role=_role(feed))
            self._note(feed, seen)
            if seen.is_feed:
                return self._proven(feed, seen, candidates[position + 1 :])
            if seen.status == 429 or seen.reason == "rate-limited":
                return self._end("rate-limited", candidates[position + 1 :])
            was_forbidden = was_forbidden or seen.reason == DISALLOWED
        return self._end("disallowed" if was_forbidden else "nothing-found", ())

    def _note(self, feed: FoundFeed, seen: Seen) -> None:
        self._left -= int(seen.spent)
        if seen.spent and seen.status is None:
            self._silent.add(_origin(feed.url))
        self._asked.append(asked(feed.url, _role(feed), seen))

    def _proven(self, feed: FoundFeed, seen: Seen, rest: tuple[FoundFeed, ...]) -> Found:
        """The feed that was proven, and what else the page leads to. Guesses are no leads."""
        leads = (feed, *(one for one in rest if one.found_by != "guess"))
        return Found(
            feeds=tuple(leads),
            reason="proven",
            proven=seen,
            asked=tuple(self._asked),
            untried=tuple(one for one in rest if one.found_by == "guess"),
        )

    def _end(self, reason: FoundReason, untried: tuple[FoundFeed, ...]) -> Found:
        return Found(feeds=(), reason=reason, asked=tuple(self._asked), untried=untried)


def _role(feed: FoundFeed) -> RequestRole:
    return "platform" if feed.is_published else "guess"


def _origin(url: str) -> tuple[str, str, str]:
    parts = split_url(url)
    return parts.scheme, parts.host, parts.port


def _folders(path: str) -> tuple[str, ...]:
    """The folders to look into; a last segment without a dot is a folder."""
    segments = [segment for segment in path.split("/") if segment]
    if segments and not path.endswith("/") and "." in segments[-1]:
        segments.pop()
    own = "".join(f"/{segment}" for segment in segments) + "/"
    if own == "/":
        return ("/",)
    return (own, "/") if len(segments) == 1 else ("/", own)
