"""From a page on a real server to its feeds, with robots.txt in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.waiting import hang_guard

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.app.services import open_services
from feedmill.canonicalise.discovery.search import FindOptions
from feedmill.config import Config, FetchConfig, HostConfig, StoreConfig
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.canonicalise import Prober
from feedmill.engine.subscribe.discover import discover
from feedmill.engine.subscribe.host_queue import HostQueue, RobotsGate
from feedmill.model.canonical import Found, Seen
from feedmill.model.fetch import RawResponse
from feedmill_demo.server.script import Answer, document
from feedmill_demo.server.server import Publisher

FEED = document(
    b"<?xml version='1.0'?><rss version='2.0'><channel><title>T</title><link>http://e.example/</link>"
    b"<description>d</description><item><title>one</title><guid>1</guid></item></channel></rss>"
)
DECLARED = (
    b'<html><head><link rel="alternate" type="application/rss+xml" href="/hidden.rss"></head>'
)
BARE = b"<html><body><p>Nothing to see.</p></body></html>"


class Scene:
    """A publisher, the world, and one search per page."""

    def __init__(self, publisher: Publisher, services: Services) -> None:
        self.publisher, self.services = publisher, services
        self.manners = HostQueue(services.clock, services.config.host)
        self.gate = RobotsGate(
            services.fetcher, services.clock, services.config.fetch, self.manners
        )

    def page(self, target: str, body: bytes, *headers: tuple[str, str], status: int = 200) -> None:
        fields = (("Content-Type", "text/html; charset=utf-8"), *headers)
        self.publisher.script(target, Answer(status=status, headers=fields, body=body))

    def forbid(self, *paths: str) -> None:
        lines = "".join(f"Disallow: {path}\n" for path in paths)
        self.publisher.script(
            "/robots.txt", document(f"User-agent: *\n{lines}".encode(), "text/plain")
        )

    async def search(self, target: str = "/", budget: int = 5) -> Found:
        url = self.publisher.url(target)
        prober = Prober(
            self.services.fetcher, self.services.clock, self.services.config, self.manners
        )
        await prober.probe(url)
        response = prober.results[url].response
        assert response is not None
        return await discover(
            response,
            gate=self.gate,
            ask=prober.probe,
            thread_bytes=self.services.config.run.parse_in_thread_bytes,
            options=FindOptions(budget=budget),
        )

    def asked(self) -> list[str]:
        return [request.target for request in self.publisher.requests]

    def paths(self, found: Found) -> list[str]:
        return [feed.url.removeprefix(self.publisher.url("")) for feed in found.feeds]


@asynccontextmanager
async def scene(home: Path) -> AsyncIterator[Scene]:
    config = Config(
        fetch=FetchConfig(allow_cidrs=("127.0.0.0/8",), connection_attempts=1, timeout_ms=10_000),
        host=HostConfig(rps=0, min_gap_ms=0),
        store=StoreConfig(home=str(home)),
    )
    async with (
        hang_guard(),
        Publisher() as publisher,
        open_services(config, clock=SystemClock()) as services,
    ):
        yield Scene(publisher, services)


class NoNames:
    """A resolver in a world without names."""

    async def resolve(self, host: str) -> tuple[str, ...]:
        """No address, whatever the host."""
        assert host
        return ()

    async def close(self) -> None:
        """Nothing to close."""


Play = Callable[[Callable[[Scene], Awaitable[None]]], None]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    def run(story: Callable[[Scene], Awaitable[None]]) -> None:
        async def told() -> None:
            async with scene(tmp_path) as one:
                await story(one)

        asyncio.run(told())

    return run


def test_a_declared_feed_costs_the_page_its_robots_txt_and_itself(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/", DECLARED)
        scene.publisher.script("/hidden.rss", FEED)
        scene.forbid("/hidden.rss")  # an invitation is an invitation

        found = await scene.search()

        assert found.reason == "proven"
        assert scene.paths(found) == ["/hidden.rss"]
        assert scene.asked() == ["/", "/robots.txt", "/hidden.rss"]

    play(story)


def test_the_link_header_is_read(play: Play) -> None:
    async def story(scene: Scene) -> None:
        link = '</h.atom>; rel="alternate"; type="application/atom+xml"; title="H"'
        scene.page("/", BARE, ("Link", link))
        scene.publisher.script("/h.atom", FEED)

        found = await scene.search()

        assert [(feed.found_by, feed.title) for feed in found.feeds] == [("header", "H")]
        assert scene.paths(found) == ["/h.atom"]

    play(story)


def test_nothing_in_a_forbidden_page_is_used(play: Play) -> None:
    async def story(scene: Scene) -> None:
        link = '</h.atom>; rel="alternate"; type="application/atom+xml"'
        scene.page("/", DECLARED, ("Link", link))
        scene.forbid("/")

        found = await scene.search()

        assert (found.reason, found.feeds) == ("disallowed", ())
        assert scene.asked() == ["/", "/robots.txt"]

    play(story)


def test_a_forbidden_page_does_not_forbid_its_neighbours(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/page.html", DECLARED)
        scene.publisher.script("/feed", FEED)
        scene.forbid("/page")

        found = await scene.search("/page.html")

        assert (found.reason, scene.paths(found)) == ("proven", ["/feed"])
        assert "/hidden.rss" not in scene.asked()

    play(story)


@pytest.mark.parametrize("budget", [3, 50])
def test_a_forbidden_page_whose_neighbours_are_no_feeds_is_told_as_such(
    play: Play, budget: int
) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/page.html", BARE)
        scene.forbid("/page")

        found = await scene.search("/page.html", budget=budget)

        assert found.reason == "disallowed"
        assert {asked.verdict for asked in found.asked} == {"not-found"}

    play(story)


def test_what_we_thought_of_is_only_asked_for_where_robots_txt_allows_it(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/", BARE)
        scene.publisher.script("/feed", FEED)
        scene.publisher.script("/rss.xml", FEED)
        scene.forbid("/feed")

        found = await scene.search()

        assert scene.paths(found) == ["/rss.xml"]
        assert [asked.verdict for asked in found.asked] == ["robots-disallowed", "a feed"]
        assert scene.asked() == ["/", "/robots.txt", "/rss.xml"]

    play(story)


def test_anchors_are_requested_until_one_is_alive(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/", b'<a href="/gone.rss">x</a><a href="/news.rss">RSS</a>')
        scene.publisher.script("/news.rss", FEED)

        found = await scene.search()

        assert found.reason == "proven"
        assert scene.asked() == ["/", "/robots.txt", "/gone.rss", "/news.rss"]

    play(story)


def test_the_budget_holds_on_the_wire(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/", BARE)

        found = await scene.search(budget=3)

        assert found.reason == "budget-spent"
        assert scene.asked() == ["/", "/robots.txt", "/feed", "/rss.xml", "/atom.xml"]

    play(story)


def test_a_host_that_asks_for_patience_is_left_alone(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/", BARE)
        scene.publisher.script("/feed", Answer(status=429))

        found = await scene.search()

        assert found.reason == "rate-limited"
        assert scene.asked() == ["/", "/robots.txt", "/feed"]

    play(story)


def test_a_page_that_was_refused_for_its_pace_is_the_end(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/", DECLARED, status=429)

        found = await scene.search()

        assert (found.reason, found.feeds) == ("rate-limited", ())
        assert scene.asked() == ["/"]

    play(story)


def test_the_links_of_an_error_page_do_not_count(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/nowhere", DECLARED, status=404)

        found = await scene.search("/nowhere", budget=0)

        assert (found.reason, found.feeds) == ("budget-spent", ())

    play(story)


def test_a_platforms_own_word_does_not_need_robots_txt(play: Play) -> None:
    async def story(scene: Scene) -> None:
        # Nothing leads to the platform from here: its page and its feed are answered by hand, and
        # its robots.txt by nobody, which means that nothing is allowed.
        url = "https://www.youtube.com/playlist?list=PL0123456789abcdef"
        page = RawResponse(url=url, final_url=url, status=200, body=BARE)
        fetcher = CurlFetcher(scene.services.config.fetch, scene.services.clock, resolver=NoNames())
        gate = RobotsGate(fetcher, scene.services.clock, scene.services.config.fetch)
        asked: list[str] = []

        async def ask(url: str) -> Seen:
            asked.append(url)
            return Seen(url=url, final_url=url, status=200, is_feed=True)

        found = await discover(page, gate=gate, ask=ask, thread_bytes=0)
        await fetcher.close()

        assert found.reason == "proven"
        assert asked == ["https://www.youtube.com/feeds/videos.xml?playlist_id=PL0123456789abcdef"]

    play(story)


def test_a_large_page_is_read_all_the_same(play: Play) -> None:
    async def story(scene: Scene) -> None:
        scene.page("/", b"<p>" + b"x" * 600_000 + DECLARED)
        scene.publisher.script("/hidden.rss", FEED)

        found = await scene.search()

        assert scene.paths(found) == ["/hidden.rss"]

    play(story)
