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

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.discovery.search import DISALLOWED, FindOptions, find_feeds
from feedmill.canonicalise.urls import http_url, join_url, split_url
from feedmill.config import MovesConfig
from feedmill.engine.documents.fetch_document import Answer, describe_verdict
from feedmill.engine.moves.detect import is_gone
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.feed_facts import facts_of
from feedmill.engine.subscribe.robots_gate import allows_by_robots, robots_url
from feedmill.fetch.headers import header_value
from feedmill.fetch.link_headers import link_headers
from feedmill.model.canonical import Ask, Found, Seen
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
        search = _SiteSearch(services, ask)
        found = await search.run(page)
        answers = [search.answers[one.url] for one in found if one.url in search.answers]
        feeds = [one for one in answers if isinstance(one.verdict, Fresh) and one.url != feed.url]
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
        self._robots: RawResponse | None = None
        self.answers: dict[str, Answer] = {}

    async def run(self, url: str) -> tuple[Seen, ...]:
        """The feeds that the page leads to; () when it is none, or may not be read."""
        answer = await self._ask(url)
        if answer is None or answer.response.status != 200 or not await self._may_read(answer):
            return ()
        if isinstance(answer.verdict, Fresh):  # the home page is the feed
            self.answers[url] = answer
            return (self._seen(url, answer),)
        response = answer.response
        links = link_headers(response.headers, response.final_url)
        kind = header_value(response.headers, "content-type")
        page = read_page(response.body, response.final_url, links, content_type=kind)
        options = FindOptions(budget=_BUDGET, rules=self._services.rules)
        search = find_feeds(page, options)
        seen: Seen | None = None
        found: list[Seen] = []
        while True:
            try:
                step = next(search) if seen is None else search.send(seen)
            except StopIteration as end:
                result: Found = end.value
                urls = [feed.url for feed in result.feeds]
                return tuple(sorted(found, key=lambda one: urls.index(one.url)))
            seen = await self._answer(step, response.final_url)
            if seen.is_feed:
                found.append(seen)

    async def _may_read(self, page: Answer) -> bool:
        address = robots_url(page.response.final_url)
        answer = None if address is None else await self._ask(address)
        self._robots = None if answer is None else answer.response
        return self._allows(page.response.final_url)

    def _allows(self, url: str) -> bool:
        config = self._services.config.fetch
        return self._robots is not None and allows_by_robots(self._robots, url, config)

    async def _answer(self, step: Ask, page_url: str) -> Seen:
        """The answer to a step; a guess is made on the page's own site only, where robots.txt allows it."""
        url = step.url
        if step.role == "guess":
            is_own = robots_url(url) == robots_url(page_url)
            if not is_own or not self._allows(url):
                return Seen(url=url, final_url=url, spent=False, reason=DISALLOWED)
        answer = await self._ask(url)
        if answer is None:
            return Seen(url=url, final_url=url, spent=False, reason="rate-limited")
        self.answers[url] = answer
        return self._seen(url, answer)

    def _seen(self, url: str, answer: Answer) -> Seen:
        response = answer.response
        seen = Seen(url=url, final_url=response.final_url, status=response.status)
        if not isinstance(answer.verdict, Fresh):
            return replace(seen, reason=describe_verdict(answer.verdict)[0])
        parsed = parse_document(answer.verdict.document, self._services.config.parse)
        if isinstance(parsed, Unreadable):
            return replace(seen, reason=parsed.reason)
        return replace(seen, is_feed=True, facts=facts_of(parsed))
