"""Searches the site of a lost feed for its new address, on the slow re-probe of a feed that is gone.

    lost      410, a 404 or a web page for a day and several polls, no DNS answer for a week
    pages     the feed's home page, then the root of its site; where they redirect to counts
    robots    the page is used only where its robots.txt allows it, and so is every guess
    search    what the page declares, its platform, its links and well-known paths: a few requests

What is found is weighed like every other address that a feed may have moved to (follow.py): adopted when it is
proven, else kept as a proposal. A site is searched once a week; a host that has to rest ends the search until then.
"""
# Tested in tests/integration/engine/moves/test_find_lost.py

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.discovery.search import FindOptions
from feedmill.canonicalise.urls import http_url, join_url, split_url
from feedmill.config import MovesConfig
from feedmill.engine.documents.fetch_document import Answer, describe_verdict
from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.moves.detect import is_gone
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.discover import discover
from feedmill.engine.subscribe.feed_facts import facts_of
from feedmill.engine.subscribe.robots_gate import allows_by_robots, robots_url
from feedmill.model.canonical import Seen
from feedmill.model.feed import Feed
from feedmill.model.fetch import Fresh, RawResponse
from feedmill.model.parsed import Unreadable
from feedmill.parse.document import parse_document

ProbeFunction = Callable[[str], Awaitable[Answer | None]]

_BUDGET: Final = 4  # feeds that are tried on one page
_MOST_PROPOSED: Final = 3  # of them weighed
_PAGES: Final = frozenset({"html-page", "login-page", "not-a-feed", "error-document"})
_NO_HOST: Final = timedelta(days=7)  # without a DNS answer


def is_lost(feed: Feed, now: datetime, config: MovesConfig) -> bool:
    """Whether the feed's address has been of no use for so long that its site is worth a look."""
    if is_gone(feed, now, config):
        return True
    if feed.last_success_at is None:
        return False
    silent = now - feed.last_success_at
    if feed.last_result == "dns-failure":
        return silent >= _NO_HOST
    is_steady = feed.schedule.consecutive_failures >= config.missing_after_failures
    return (
        feed.last_result in _PAGES
        and is_steady
        and silent >= timedelta(hours=config.missing_after_hours)
    )


async def find_on_site(feed: Feed, services: Services, ask: ProbeFunction) -> tuple[Answer, ...]:
    """Answers with feeds that the site of the feed leads to, best first; () when there are none."""
    for page in _pages(feed):
        found = await _SiteSearch(services, ask).run(page)
        feeds = [one for one in found if isinstance(one.verdict, Fresh) and one.url != feed.url]
        if feeds:
            return tuple(feeds[:_MOST_PROPOSED])
    return ()


def _pages(feed: Feed) -> tuple[str, ...]:
    """The pages to search: the home page that the feed named last, the root of its site."""
    root = join_url(replace(split_url(feed.url), userinfo="", path="/", query=None, fragment=None))
    site = http_url(feed.site_url) if feed.site_url else None
    has_host = feed.last_result != "dns-failure"
    urls = (*((site,) if site else ()), *((root,) if has_host else ()))
    return tuple(dict.fromkeys(urls))


class _SiteSearch:
    """One page of a site, with the answers that it led to."""

    def __init__(self, services: Services, ask: ProbeFunction) -> None:
        self._services, self._ask = services, ask
        self._page_url = ""
        self._robots: RawResponse | None = None
        self._answers: dict[str, Answer] = {}

    async def run(self, url: str) -> list[Answer]:
        """The feeds that the page leads to, best first; none when it is no page, or may not be read."""
        answer = await self._ask(url)
        if answer is None or answer.response.status != 200:
            return []
        self._page_url = answer.response.final_url
        address = robots_url(self._page_url)
        robots = None if address is None else await self._ask(address)
        self._robots = None if robots is None else robots.response
        if not await self.allows(self._page_url):
            return []
        if isinstance(answer.verdict, Fresh):  # the home page is the feed
            return [answer]
        config = self._services.config
        found = await discover(
            answer.response,
            gate=self,
            ask=self._probe,
            thread_bytes=config.run.parse_in_thread_bytes,
            options=FindOptions(budget=_BUDGET, rules=self._services.rules),
        )
        return [self._answers[one.url] for one in found.feeds if one.url in self._answers]

    async def allows(self, url: str) -> bool:
        """Whether it may be requested unasked: on the page's own site only, where robots.txt allows it."""
        if self._robots is None or robots_url(url) != robots_url(self._page_url):
            return False
        return allows_by_robots(self._robots, url, self._services.config.fetch)

    async def _probe(self, url: str) -> Seen:
        answer = await self._ask(url)
        if answer is None:
            return Seen(url=url, final_url=url, spent=False, reason="rate-limited")
        self._answers[url] = answer
        return await PARSE_THREADS.run(lambda: self._seen(url, answer))

    def _seen(self, url: str, answer: Answer) -> Seen:
        response = answer.response
        seen = Seen(url=url, final_url=response.final_url, status=response.status)
        if not isinstance(answer.verdict, Fresh):
            return replace(seen, reason=describe_verdict(answer.verdict)[0])
        parsed = parse_document(answer.verdict.document, self._services.config.parse)
        if isinstance(parsed, Unreadable):
            return replace(seen, reason=parsed.reason)
        return replace(seen, is_feed=True, facts=facts_of(parsed))
