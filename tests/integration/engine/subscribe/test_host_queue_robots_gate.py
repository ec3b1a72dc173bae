"""robots.txt by RFC 9309, asked of a real server through the real fetcher."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.support.waiting import hang_guard

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.config import FetchConfig, HostConfig
from feedmill.engine.subscribe import host_queue
from feedmill.engine.subscribe.host_queue import RETRY_SEC, HostQueue, RobotsGate
from feedmill_demo.server.script import Answer, Answering, document, hang_up, redirect
from feedmill_demo.server.server import Publisher

CONFIG = FetchConfig(
    allow_cidrs=("127.0.0.0/8",), timeout_ms=10_000, connection_attempts=1, retry_wait_ms=1
)
CLOSED = b"User-agent: *\nDisallow: /private\nCrawl-delay: 7\n"


class HandClock(SystemClock):
    """Instants are moved by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.at = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at

    def move(self, **span: float) -> None:
        self.at += timedelta(**span)


class Bench:
    """A publisher, a gate in front of it, and a clock."""

    def __init__(self, publisher: Publisher, gate: RobotsGate, clock: HandClock) -> None:
        self.publisher, self.gate, self.clock = publisher, gate, clock

    def put_up(self, *answers: Answering) -> None:
        self.publisher.script("/robots.txt", *answers)

    async def allows(self, path: str, **span: float) -> bool:
        self.clock.move(**span)
        return await self.gate.allows(self.publisher.url(path))

    @property
    def requests(self) -> int:
        return len(self.publisher.requests_to("/robots.txt"))


@asynccontextmanager
async def bench(config: FetchConfig = CONFIG, *, mannered: bool = False) -> AsyncIterator[Bench]:
    clock = HandClock()
    fetcher = CurlFetcher(config, clock)
    manners = HostQueue(clock, HostConfig(rps=0, min_gap_ms=0)) if mannered else None
    try:
        async with hang_guard(), Publisher() as publisher:
            yield Bench(publisher, RobotsGate(fetcher, clock, config, manners), clock)
    finally:
        await fetcher.close()


def play(story: Callable[[Bench], Awaitable[None]], *, mannered: bool = False) -> None:
    async def told() -> None:
        async with bench(mannered=mannered) as one:
            await story(one)

    asyncio.run(told())


def robots_txt(body: bytes) -> Answer:
    return document(body, "text/plain")


@pytest.mark.parametrize("mannered", [False, True])
def test_the_rules_hold_for_the_origin_and_are_asked_for_once_a_day(mannered: bool) -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(robots_txt(CLOSED))

        assert not await bench.allows("/private/page")
        assert await bench.allows("/page?x=1", hours=23)
        assert bench.requests == 1
        assert await bench.allows("/page", hours=2)
        assert bench.requests == 2

    play(story, mannered=mannered)


def test_our_own_group_counts_before_that_of_everybody() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(
            robots_txt(b"User-agent: feedmill\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n")
        )

        assert (await bench.allows("/a"), await bench.allows("/b")) == (False, True)

    play(story)


def test_the_request_says_who_asks_and_carries_no_credentials() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(robots_txt(b""))
        secret = bench.publisher.url("/x").replace("//", "//me:secret@")

        assert await bench.gate.allows(secret)

        (request,) = bench.publisher.requests
        assert request.header("user-agent") == CONFIG.user_agent
        assert request.header("authorization") is None

    play(story)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429])
def test_an_origin_without_rules_allows_everything(status: int) -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(Answer(status=status))

        assert await bench.allows("/private")
        assert await bench.allows("/private", hours=1)
        assert bench.requests == 1

    play(story)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=500),
        Answer(status=503),
        hang_up(),
        Answer(body=b"User-agent: *\nAllow: /", content_length=500, fault="cut", fault_at=10),
        redirect("http://169.254.169.254/robots.txt"),
        Answer(headers=(("Content-Length", str(100 << 20)),), fault="stall", fault_at=0),
    ],
    ids=["500", "503", "reset", "cut", "private redirect", "absurdly large"],
)
@pytest.mark.parametrize("mannered", [False, True])
def test_an_origin_that_cannot_answer_allows_nothing(answer: Answer, mannered: bool) -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(answer)

        assert not await bench.allows("/page")

    play(story, mannered=mannered)


def test_an_origin_that_could_not_answer_is_asked_again_soon() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(Answer(status=500), robots_txt(CLOSED))

        assert not await bench.allows("/page")
        assert not await bench.allows("/page", seconds=RETRY_SEC - 1)
        assert bench.requests == 1
        assert await bench.allows("/page", seconds=2)
        assert not await bench.allows("/private")

    play(story)


def test_rules_that_were_read_hold_while_the_origin_cannot_answer() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(robots_txt(CLOSED), Answer(status=500))
        await bench.allows("/page")

        assert await bench.allows("/page", hours=25)
        assert not await bench.allows("/private")
        assert bench.requests == 2

    play(story)


def test_after_a_month_without_an_answer_there_are_no_rules() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(Answer(status=500))

        assert not await bench.allows("/page")
        assert not await bench.allows("/page", days=29)
        assert await bench.allows("/page", days=2)

    play(story)


def test_a_clock_that_is_put_back_does_not_keep_an_answer_for_ever() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(robots_txt(CLOSED), robots_txt(b""))
        assert not await bench.allows("/private")

        assert await bench.allows("/private", days=-1)

    play(story)


def test_redirects_are_followed_and_the_rules_hold_where_they_were_asked_for() -> None:
    async def story(bench: Bench) -> None:
        for number in range(1, 5):
            bench.publisher.script(f"/r{number}", redirect(f"/r{number + 1}", 302))
        bench.publisher.script("/r5", robots_txt(CLOSED))
        bench.put_up(redirect("/r1"))

        assert not await bench.allows("/private")

    play(story)


def test_a_chain_of_too_many_redirects_is_no_file() -> None:
    async def story(bench: Bench) -> None:
        for number in range(1, 8):
            bench.publisher.script(f"/r{number}", redirect(f"/r{number + 1}", 302))
        bench.put_up(redirect("/r1"))

        assert await bench.allows("/private")

    play(story)


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_of_a_very_large_file_the_beginning_counts(framing: str) -> None:
    async def story(bench: Bench) -> None:
        padding = b"# " + b"x" * 98 + b"\n"
        late = b"Disallow: /late\n"
        body = CLOSED + padding * 6_000 + late
        bench.put_up(replace(robots_txt(body), framing=framing))

        assert not await bench.allows("/private")
        assert await bench.allows("/late")

    play(story)


def test_many_who_ask_at_once_share_one_request() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(replace(robots_txt(CLOSED), delay_sec=0.05))

        answers = await asyncio.gather(*(bench.allows(f"/{number}") for number in range(50)))

        assert all(answers)
        assert bench.requests == 1

    play(story)


def test_another_port_is_another_origin() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(robots_txt(CLOSED))
        async with Publisher() as other:
            other.script("/robots.txt", robots_txt(b"User-agent: *\nDisallow: /\n"))

            assert await bench.allows("/page")
            assert not await bench.gate.allows(other.url("/page"))

    play(story)


def test_the_wished_spacing_is_told_and_limited() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(
            robots_txt(CLOSED),
            robots_txt(b"User-agent: *\nCrawl-delay: 3600\n"),
            Answer(status=404),
        )
        url = bench.publisher.url("/")

        assert await bench.gate.crawl_delay(url) == 7.0
        bench.clock.move(hours=25)
        assert await bench.gate.crawl_delay(url) == CONFIG.crawl_delay_max_sec
        bench.clock.move(hours=25)
        assert await bench.gate.crawl_delay(url) is None

    play(story)


def test_what_is_no_web_address_is_not_allowed() -> None:
    async def story(bench: Bench) -> None:
        assert not await bench.gate.allows("mailto:somebody@example.com")
        assert await bench.gate.crawl_delay("about:blank") is None
        assert bench.requests == 0

    play(story)


def test_a_host_that_wants_its_rest_is_not_asked_even_for_its_rules() -> None:
    async def story(bench: Bench) -> None:
        bench.put_up(Answer(status=503, headers=(("Retry-After", "3600"),)))
        assert not await bench.allows("/page")

        assert not await bench.allows("/page", seconds=RETRY_SEC + 1)

        assert bench.requests == 1

    play(story, mannered=True)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(bench: Bench) -> None:
        monkeypatch.setattr(host_queue, "MAX_ORIGINS", 1)
        bench.put_up(robots_txt(CLOSED))
        async with Publisher() as other:
            await bench.allows("/page")
            await bench.gate.allows(other.url("/page"))
            await bench.allows("/page")

        assert bench.requests == 2

    play(story)
