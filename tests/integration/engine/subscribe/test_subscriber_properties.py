"""The names of a feed in any order subscribe to it once: a law, with the store for real."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.engine_harness import PLAIN
from tests.support.feed_documents import numbered
from tests.support.scripted_fetcher import ScriptedFetcher, said

from feedmill.app.services import open_services
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import Subscribed, subscribe_unchecked
from feedmill.engine.subscribe.subscriber import Subscriber
from feedmill.model.fetch import FetchPlan, Hop, RawResponse

XML = (("Content-Type", "application/rss+xml"),)
HTML = (("Content-Type", "text/html"),)
SITES = {"paper.example": (1, 2, 3), "gazette.example": (4, 5, 6)}
# {0} is the site; all of these lead to https://{0}/feed.
NAMES = (
    "https://{0}/feed",
    "http://{0}/feed",
    "{0}/feed",
    "feed://{0}/feed",
    "https://www.{0}/feed",
    "https://{0}/feed/",
    "https://{0}/feed?utm_source=mail",
    "https://www.{0}/feed/?utm_campaign=x",
    "https://old-{0}/rss",
    "https://mirror-{0}/rss",
    "https://{0}/",
)
EVERYTHING = [name.format(site) for site in SITES for name in NAMES]


@settings(max_examples=25)
@given(order=st.permutations(NAMES), polled_after=st.integers(min_value=0, max_value=len(NAMES)))
def test_the_names_of_a_feed_subscribe_to_it_once_in_any_order(
    order: Sequence[str], polled_after: int
) -> None:
    async def story(services: Services) -> None:
        for count, name in enumerate(order):
            await Subscriber(services).subscribe(name.format("paper.example"))
            if count == polled_after:
                await _poll(services)

        feeds = (await services.store.feeds(limit=100)).items
        assert [feed.url for feed in feeds] == ["https://paper.example/feed"]
        for name in order:
            again = await Subscriber(services).subscribe(name.format("paper.example"))
            assert isinstance(again, Subscribed)
            assert (again.created, again.requests) == (False, 0)

    _told(story)


@settings(max_examples=12)
@given(order=st.permutations(EVERYTHING))
def test_two_feeds_stay_two_under_all_their_names_at_one_desk(order: Sequence[str]) -> None:
    async def story(services: Services) -> None:
        desk = Subscriber(services)
        for name in order:
            await desk.subscribe(name)

        feeds = (await services.store.feeds(limit=100)).items
        assert {feed.url for feed in feeds} == {f"https://{site}/feed" for site in SITES}
        assert len(feeds) == len(SITES)

    _told(story)


@settings(max_examples=12)
@given(names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=6))
def test_visitors_with_different_names_at_the_same_time_get_one_feed(names: list[str]) -> None:
    async def story(services: Services) -> None:
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(Subscriber(services).subscribe(name.format("paper.example")))

        assert len((await services.store.feeds(limit=100)).items) == 1

    _told(story)


def test_a_feed_that_is_known_by_https_is_known_by_http_while_https_is_out_of_order() -> None:
    async def story(services: Services) -> None:
        known = await subscribe_unchecked("https://paper.example/feed", services)
        await _poll(services)
        fetcher = services.fetcher
        assert isinstance(fetcher, ScriptedFetcher)
        fetcher.script("https://paper.example/feed", said("https://paper.example/feed", 500))
        plain = "http://paper.example/feed?utm_source=z"
        fetcher.script(plain, said(plain, body=numbered(1, 2, 3), headers=XML))

        again = await Subscriber(services).subscribe(plain)

        assert isinstance(again, Subscribed)
        assert (again.created, again.feed.id) == (False, known.feed.id)

    _told(story)


def test_the_address_of_a_repository_leads_to_its_feed_without_a_look_at_the_page() -> None:
    async def story(services: Services) -> None:
        fetcher = services.fetcher
        assert isinstance(fetcher, ScriptedFetcher)
        feed = "https://github.com/lemon24/reader/releases.atom"
        fetcher.script(feed, said(feed, body=numbered(1, 2), headers=XML))

        done = await Subscriber(services).subscribe("https://github.com/lemon24/reader/releases")
        again = await Subscriber(services).subscribe("https://github.com/lemon24/reader/releases")

        assert isinstance(done, Subscribed)
        assert isinstance(again, Subscribed)
        assert done.feed.url == feed
        assert [plan.url for plan in fetcher.asked] == [feed]
        assert (again.feed.id, again.requests) == (done.feed.id, 0)

    _told(story)


def _told(story: Callable[[Services], Awaitable[None]]) -> None:
    async def told() -> None:
        async with open_services(PLAIN, memory=True) as services:
            await story(services._replace(fetcher=_web()))
            assert await services.store.problems() == ()

    asyncio.run(told())


async def _poll(services: Services) -> None:
    await run_once(services, Lifecycle("the test", (), (_raised,)))


def _raised(_: str, __: str | None, problem: Exception) -> None:
    raise problem


def _web() -> ScriptedFetcher:
    """Sites whose servers stamp every answer, redirect from here, and mirror there."""
    web = ScriptedFetcher()
    for site, numbers in SITES.items():
        home = f"https://{site}/feed"
        served = (
            home,
            f"https://www.{site}/feed",
            f"https://www.{site}/feed/",
            f"https://{site}/feed/",
            f"https://{site}/feed?utm_source=mail",
            f"https://www.{site}/feed/?utm_campaign=x",
            f"https://mirror-{site}/rss",
        )
        for url in served:
            web.script(url, _stamped(url, home, numbers))
        for url in (f"http://{site}/feed", f"https://old-{site}/rss"):
            web.script(url, _leading(url, home, numbers))
        robots = f"https://{site}/robots.txt"
        web.script(robots, said(robots, 404))
        page = f'<html><head><link rel="alternate" type="application/rss+xml" href="{home}"></html>'
        web.script(f"https://{site}/", said(f"https://{site}/", body=page.encode(), headers=HTML))
    return web


def _stamped(url: str, home: str, numbers: tuple[int, ...]) -> Callable[[FetchPlan], RawResponse]:
    count = 0

    def answer(_: FetchPlan) -> RawResponse:
        nonlocal count
        count += 1
        extra = (
            f'<atom:link rel="self" href="{home}"/>'
            f"<lastBuildDate>Mon, 13 Oct 2025 08:00:{count % 60:02d} GMT</lastBuildDate>"
        )
        return said(url, body=numbered(*numbers, extra=extra), headers=XML)

    return answer


def _leading(url: str, home: str, numbers: tuple[int, ...]) -> Callable[[FetchPlan], RawResponse]:
    there = _stamped(home, home, numbers)

    def answer(plan: FetchPlan) -> RawResponse:
        last = there(plan)
        hops = (Hop(url=url, status=301, location=home),)
        return RawResponse(
            url=url,
            final_url=home,
            status=last.status,
            headers=last.headers,
            body=last.body,
            wire_length=last.wire_length,
            hops=hops,
        )

    return answer
