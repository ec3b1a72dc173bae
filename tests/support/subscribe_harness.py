"""A desk with the real adapters behind it, in front of a scripted publisher with many hosts.

Names end in `.example` and lead to the publisher; addresses on 127.x are hosts of their own.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.support.engine_harness import PLAIN
from tests.support.feed_documents import numbered
from tests.support.loopback_fetcher import TableResolver

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.fetcher import CurlFetcher
from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import Subscribed
from feedmill.engine.subscribe.subscriber import FeedChoices, Subscriber
from feedmill.model.feed import Feed
from feedmill_demo.server.script import Answer, Answering, Request, document
from feedmill_demo.server.server import Publisher

NAMES = ("paper.example", "www.paper.example", "other.example")
FEED = "application/rss+xml"


class Counter:
    """The desk, its publisher, and what a test wants to know of both."""

    def __init__(self, publisher: Publisher, services: Services) -> None:
        self.publisher = publisher
        self.services = services
        self.desk = Subscriber(services)

    def url(self, target: str = "/feed", host: str = "127.0.0.1") -> str:
        """The address of a path, on this host."""
        return self.publisher.url(target, host=host)

    def put(self, target: str, *answers: Answering, host: str | None = None) -> str:
        """Let a path answer so; its address."""
        self.publisher.script(target, *answers, host=host)
        return self.url(target, host or "127.0.0.1")

    async def join(
        self, address: str, *, at: Subscriber | None = None, **wishes: Any
    ) -> Subscribed:
        """Subscribe; at another desk each time, which remembers nothing, unless one is given."""
        done = await (at or Subscriber(self.services)).subscribe(address, **wishes)
        assert isinstance(done, Subscribed), done
        return done

    async def choices(self, address: str) -> FeedChoices:
        """The feeds to choose among."""
        found = await Subscriber(self.services).subscribe(address)
        assert isinstance(found, FeedChoices), found
        return found

    async def sync(self) -> None:
        """Poll everything that is due."""
        await run_once(self.services, Lifecycle("the test", (), (_raised,)))

    async def feeds(self) -> tuple[Feed, ...]:
        """Every subscription."""
        return (await self.services.store.feeds(limit=1000)).items

    async def aliases(self, feed: Feed) -> set[str]:
        """Every address of the feed, without the publisher's own beginning."""
        return set(await self.services.store.aliases(feed.id))

    def asked(self) -> list[str]:
        """What the publisher was asked for since the last time, in order."""
        targets = [request.target for request in self.publisher.requests]
        self.publisher.clear()
        return targets


def _raised(_: str, __: str | None, problem: Exception) -> None:
    raise problem


Story = Callable[[Counter], Awaitable[None]]


@asynccontextmanager
async def opened(home: Path, *, addresses: int = 4, **parts: Any) -> AsyncIterator[Counter]:
    """A counter on that folder; what was done at it has to leave the store sound."""
    config: Config = replace(PLAIN, store=StoreConfig(home=str(home)), **parts)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        publisher = await stack.enter_async_context(Publisher(addresses=addresses))
        services = await stack.enter_async_context(open_services(config, clock=clock))
        table = {name: [("127.0.0.1",)] for name in NAMES}
        fetcher = CurlFetcher(config.fetch, clock, resolver=TableResolver(table))
        stack.push_async_callback(fetcher.close)
        yield Counter(publisher, services._replace(fetcher=fetcher))
        assert await services.store.problems() == ()


def feed_document(*numbers: int, self_url: str = "", title: str = "Paper") -> Answer:
    """A feed of these entries that calls itself so."""
    link = f'<atom:link rel="self" href="{self_url}"/>' if self_url else ""
    body = numbered(*(numbers or (1, 2, 3)), extra=link)
    return document(body.replace(b"<title>Paper</title>", f"<title>{title}</title>".encode(), 1))


def page(*links: Mapping[str, str], status: int = 200) -> Answer:
    """A page that declares these feeds."""
    heads = "".join(
        '<link rel="alternate" '
        + " ".join(f'{key}="{value}"' for key, value in ({"type": FEED} | dict(link)).items())
        + ">"
        for link in links
    )
    body = f"<!doctype html><html><head><title>Home</title>{heads}</head><body>Hello</body></html>"
    headers = (("Content-Type", "text/html; charset=utf-8"),)
    return Answer(status=status, headers=headers, body=body.encode())


def credentials_of(request: Request) -> str | None:
    """What the request said about who asks."""
    return request.header("authorization")
