"""Living feeds on many loopback addresses, whose every item and every version is written down."""

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from feedmill_demo.living_feed import LivingFeed
from feedmill_demo.server.script import Answer, Request
from feedmill_demo.server.server import Publisher
from feedmill_demo.server.site import Site

_TAG = re.compile(r'"(\d+)-(\d+)"')


class Press(Site):
    """Feed n is at /feed/n of address n modulo the number of hosts; each item has its own guid."""

    def __init__(self, feeds: int, hosts: int) -> None:
        self.hosts = hosts
        self.feeds: list[LivingFeed] = []
        self.items: list[list[str]] = [[] for _ in range(feeds)]  # guids in order of publication
        self.asked: dict[int, list[float]] = defaultdict(list)  # when, by feed
        self.on_request: Callable[[], None] = lambda: None
        self.answers: dict[int, Answer] = {}  # instead of the feed's own
        self.resting = False
        self._turn = 0
        self._bodies: dict[int, tuple[int, bytes]] = {}  # the last document of each feed

    def opened(self, origin: str) -> None:
        port = origin.rpartition(":")[2]
        for number in range(len(self.items)):
            home = f"http://127.0.1.{number % self.hosts + 1}:{port}/site/{number}/"
            feed = LivingFeed(seed=f"press {number}", home=home, window=10_000)
            feed.address = f"http://127.0.1.{number % self.hosts + 1}:{port}/feed/{number}"
            self.feeds.append(feed)
            self.publish(number, 2)

    @property
    def addresses(self) -> list[str]:
        return [feed.address for feed in self.feeds]

    def publish(self, number: int, count: int = 1) -> None:
        """New items in one feed."""
        feed = self.feeds[number]
        self.items[number] += [str(feed.guid(article)) for article in feed.publish(count)]

    def publish_next(self) -> None:
        """One new item in the feed whose turn it is."""
        self.publish(self._turn % len(self.feeds))
        self._turn += 7  # coprime to any number of feeds that is not a multiple of it

    @property
    def published(self) -> dict[str, list[str]]:
        """Every guid so far, by the address of its feed."""
        return {feed.address: list(self.items[n]) for n, feed in enumerate(self.feeds)}

    def vouched_by(self, etag: str) -> list[str]:
        """The items that stood in the document which had this validator."""
        match = _TAG.fullmatch(etag)
        assert match is not None
        return self.items[int(match[1])][: int(match[2])]

    def answer(self, request: Request) -> Answer | None:
        if not request.path.startswith("/feed/"):
            return None
        number = int(request.path.removeprefix("/feed/"))
        self.asked[number].append(asyncio.get_running_loop().time())
        self.on_request()
        if number in self.answers:
            return self.answers[number]
        feed, version = self.feeds[number], len(self.items[number])
        tag = f'"{number}-{version}"'
        if self._bodies.get(number, (0, b""))[0] != version:  # rendering takes most of the time
            self._bodies[number] = (version, feed.body())
        body = self._bodies[number][1]
        return Answer(headers=(("Content-Type", feed.content_type), ("ETag", tag)), body=body)


@asynccontextmanager
async def pressing(feeds: int, hosts: int, *, every_sec: float = 0.06) -> AsyncIterator[Press]:
    """A press that serves, and publishes an item now and then unless it is resting."""
    press = Press(feeds, hosts)
    async with Publisher(press, addresses=hosts, record=0):
        work = asyncio.create_task(_keep_publishing(press, every_sec))
        try:
            yield press
        finally:
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work


async def _keep_publishing(press: Press, every_sec: float) -> None:
    while press.feeds:
        await asyncio.sleep(every_sec)
        if not press.resting:
            press.publish_next()
