"""The search for the feeds of a page: what to ask, in which order, and when to stop.

It has no I/O: it yields `Ask` and is sent `Seen`. What the page declares is returned without a
request, because whoever subscribes proves the chosen one anyway. Otherwise the platform's rules,
the anchors that look like feeds and the well-known paths are asked for one by one, until the first
feed, until the host asks for patience, or until the budget is spent.
"""

from collections.abc import Generator
from typing import Final

from feedmill.canonicalise.discovery.guesses import guess_feeds
from feedmill.canonicalise.discovery.html_page import HtmlPage
from feedmill.canonicalise.discovery.page_links import (
    anchored_feeds,
    declared_feeds,
    distinct_feeds,
    feed_rank,
)
from feedmill.canonicalise.discovery.platform_pages import page_platform_feeds
from feedmill.canonicalise.discovery.platforms import platform_feeds
from feedmill.canonicalise.urls import split_url
from feedmill.model.base import Value
from feedmill.model.canonical import Ask, Asked, Found, FoundFeed, FoundReason, Seen

DISALLOWED: Final = "robots-disallowed"  # what `Seen.reason` says when robots.txt forbids it
_COMMENTS: Final = 2


class FindOptions(Value):
    """How far a search may go."""

    budget: int = 5  # requests
    anchors: bool = True
    guesses: bool = True


DiscoverySteps = Generator[Ask, Seen, Found]


def find_feeds(page: HtmlPage, options: FindOptions | None = None) -> DiscoverySteps:
    """Search a page; the generator's value is what was found and what it took."""
    options = options or FindOptions()
    declared = declared_feeds(page)
    if any(not feed.is_comments for feed in declared):
        return Found(feeds=declared, reason="declared")
    # Feeds of comments alone are not what somebody meant who gave a page.
    found = yield from _Search(options.budget).run(_candidates(page, options))
    if found.feeds or not declared:
        return _with_more(found, declared)
    return Found(feeds=declared, reason="declared", asked=found.asked, untried=found.untried)


def _candidates(page: HtmlPage, options: FindOptions) -> tuple[FoundFeed, ...]:
    """What is worth a request, likeliest first."""
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
    """One walk through the candidates."""

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._asked: list[Asked] = []
        self._silent: set[tuple[str, str, str]] = set()  # origins that do not answer at all

    def run(self, candidates: tuple[FoundFeed, ...]) -> DiscoverySteps:
        """Ask until something is a feed or there is a reason to stop."""
        was_forbidden = False
        for position, feed in enumerate(candidates):
            if _origin(feed.url) in self._silent:
                continue
            if self._left <= 0:
                return self._end("budget-spent", candidates[position:])
            seen = yield Ask(url=feed.url, role="platform" if feed.is_published else "guess")
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
        self._asked.append(
            Asked(
                url=feed.url,
                role="platform" if feed.is_published else "guess",
                final_url=seen.final_url,
                status=seen.status,
                verdict="a feed" if seen.is_feed else seen.reason or "no feed",
                detail=seen.detail,
            )
        )

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


def _origin(url: str) -> tuple[str, str, str]:
    parts = split_url(url)
    return parts.scheme, parts.host, parts.port
