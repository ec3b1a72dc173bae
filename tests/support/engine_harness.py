"""A stage for whole stories: a scripted publisher, the real adapters, and a clock moved by hand.

async with opened(home) as stage:
    feed = await stage.add("/feed", document(body, etag='"1"'))
    await stage.poll(feed)
    await stage.later(hours=2)
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.support.servers.databases import problems_of

from feedmill.adapters.clock import SystemClock
from feedmill.app.services import open_services
from feedmill.config import Config, FetchConfig, HostConfig, RunConfig, ScheduleConfig, StoreConfig
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.ports.io import Clock
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.model.event import Event, StoredEntry
from feedmill.model.feed import Feed, FeedOverrides, FetchRecord
from feedmill.model.page import EntryFilter
from feedmill.model.refresh import Committed, Refresh
from feedmill.model.schedule import Decision
from feedmill_demo.server.script import Answering, Request
from feedmill_demo.server.server import Publisher

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)  # a Tuesday

# Politeness without waiting: the tests about gaps ask for gaps.
HASTY = HostConfig(rps=0, min_gap_ms=0)
PLAIN = Config(
    fetch=FetchConfig(allow_cidrs=("127.0.0.0/8",), retry_wait_ms=1, timeout_ms=10_000),
    schedule=ScheduleConfig(policy="seed", jitter_ratio=0.0),  # intervals that a test can foretell
    host=HASTY,
    run=RunConfig(lease_sec=60.0, idle_sec=0.05, drain_sec=5.0),
)


class SteppedClock(SystemClock):
    """Instants stand still until the test moves them; waits and ids are the system's."""

    def __init__(self, at: datetime = NOON) -> None:
        super().__init__()
        self.at = at

    def now(self) -> datetime:
        """Where the test put the hands."""
        return self.at

    def move(self, by: timedelta) -> None:
        """Move the hands, forward or back."""
        self.at += by


class Stage:
    """One publisher and one world that can be closed and opened again on the same folder."""

    def __init__(self, publisher: Publisher, clock: Clock, config: Config) -> None:
        self.publisher = publisher
        self.clock = clock
        self.config = config
        self.done: list[Refresh] = []
        self.surprises: list[Exception] = []
        self._stack = AsyncExitStack()
        self.services: Services

    async def open(self, **parts: Any) -> None:
        """Open the world, with these parts of the settings changed."""
        self.config = replace(self.config, **parts)
        self.services = await self._stack.enter_async_context(
            open_services(self.config, clock=self.clock)
        )

    async def close(self) -> None:
        """Close the world; the folder stays."""
        await self._stack.aclose()

    async def reopen(self, **parts: Any) -> None:
        """A restart, with other settings if you like."""
        await self.close()
        await self.open(**parts)

    def watch(self) -> Lifecycle:
        """A watch that remembers every refresh and every surprise."""
        return Lifecycle("the test", (self._noted,), (self._crashed,))

    async def add(
        self, target: str, *answers: Answering, host: str = "127.0.0.1", **overrides: Any
    ) -> Feed:
        """Put a script up and subscribe to it."""
        if answers:
            self.publisher.script(target, *answers, host=host)
        own = FeedOverrides(**overrides)
        url = self.publisher.url(target, host=host)
        return (await subscribe_unchecked(url, self.services, overrides=own)).feed

    def publish(self, feed: Feed, *answers: Answering) -> None:
        """Let the feed's address answer otherwise from now on."""
        target = feed.url.removeprefix(self.publisher.url(""))
        self.publisher.script(target, *answers, host="127.0.0.1")

    async def poll(self, *feeds: Feed, times: int = 1) -> Feed:
        """Make feeds due and let the loop pass once, a second after the last time."""
        for _ in range(times):
            self.later(seconds=1)
            await self.services.store.make_due([feed.id for feed in feeds], self.clock.now())
            await self.pass_once()
        return await self.feed(feeds[0])

    async def pass_once(self) -> int:
        """One pass over what is due; how many refreshes it took. A fault of our own is raised."""
        before = len(self.done)
        await run_once(self.services, self.watch())
        if self.surprises:
            raise self.surprises[0]
        return len(self.done) - before

    def later(self, **span: float) -> None:
        """Move the clock."""
        assert isinstance(self.clock, SteppedClock)
        self.clock.move(timedelta(**span))

    def requests(self, target: str = "/feed") -> tuple[Request, ...]:
        """What the publisher was asked at a path."""
        return self.publisher.requests_to(target)

    async def feed(self, feed: Feed) -> Feed:
        """The feed as it is now."""
        found = await self.services.store.feed(feed.id)
        assert found is not None
        return found

    async def entries(self, feed: Feed | None = None, **where: Any) -> list[StoredEntry]:
        """Entries in the order in which they came in."""
        chosen = EntryFilter(feed_id=feed.id if feed else None, **where)
        page = await self.services.store.entries(chosen, limit=20_000)
        return list(page.items[::-1])

    async def events(self, *types: str) -> list[Event]:
        """The whole log, or these types of it."""
        found = await self.services.store.events(after=0, limit=100_000)
        return [event for event in found if not types or event.type in types]

    async def fetches(self, feed: Feed) -> list[FetchRecord]:
        """Fetches, the oldest first."""
        return list((await self.services.store.fetches(feed.id, limit=1000)).items[::-1])

    async def outcome(self, feed: Feed) -> str:
        """How the last fetch ended."""
        return (await self.fetches(feed))[-1].outcome

    async def decision(self, feed: Feed) -> Decision:
        """The last decision."""
        return (await self.services.store.decisions(feed.id))[0]

    async def wait_until_due(self, feed: Feed) -> timedelta:
        """How long the schedule lets the feed rest from now on."""
        return (await self.feed(feed)).next_poll_at - self.clock.now()

    async def counts(self) -> dict[str, int]:
        """Rows in the store."""
        return await self.services.store.counts()

    def _noted(self, _: Feed, result: Refresh, __: Committed) -> None:
        self.done.append(result)

    def _crashed(self, _: str, __: str | None, problem: Exception) -> None:
        self.surprises.append(problem)


@asynccontextmanager
async def opened(
    home: Path,
    *,
    clock: Clock | None = None,
    addresses: int = 0,
    store_url: str | None = None,
    **parts: Any,
) -> AsyncIterator[Stage]:
    """A stage on that folder; what it did has to leave the store sound.

    With `store_url` only the raw documents lie in the folder.
    """
    config = replace(PLAIN, store=StoreConfig(home=str(home), url=store_url))
    async with Publisher(addresses=addresses) as publisher:
        stage = Stage(publisher, clock or SteppedClock(), config)
        await stage.open(**parts)
        try:
            yield stage
            assert await problems_of(stage.services.store, store_url) == ()
        finally:
            await stage.close()


Story = Callable[[Stage], Awaitable[None]]
Play = Callable[..., None]


def titles(entries: Sequence[StoredEntry]) -> list[str | None]:
    """What the entries are called, in alphabetical order."""
    return sorted((entry.title for entry in entries), key=str)
