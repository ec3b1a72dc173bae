"""A simulation of many feeds over weeks of virtual time, with seeded faults and crashes: the same seed, the same log.

Nothing waits and nothing is random: the clock jumps to the next due feed, publishers live in this process, and their
items, faults and the crashes of the engine follow from the seed. `simulate` returns what the run did and checks the
promises on the way (`check` has the list).
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random  # noqa: TID251  # seeded
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec.structs import replace
from tests.support.feed_documents import item, rss
from tests.support.scripted_fetcher import ScriptedFetcher

from feedmill.adapters.clock import SystemClock
from feedmill.app.services import open_services
from feedmill.config import Config, HostConfig, RunConfig, StoreConfig
from feedmill.engine.poll.scheduler import run_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import subscribe_unchecked
from feedmill.errors import StoreError
from feedmill.model.fetch import FetchPlan, RawResponse
from feedmill.model.page import EntryFilter

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
WINDOW = 8  # items of a document
RETRY_AFTER_SEC = 7_200
_STEP = timedelta(seconds=1)
FAULTS = (500, 503, 404, 429, "timeout", "connection-failed", "cut")


class VirtualClock(SystemClock):
    """Time that jumps, and ids that follow from the seed."""

    def __init__(self, seed: str) -> None:
        super().__init__()
        self.at, self._chance = BEGIN, Random(f"ids {seed}")

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - BEGIN).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def new_id(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))


class VirtualLifecycle(Lifecycle):
    """Waits by moving the clock."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__("simulation")
        self._clock = clock

    async def sleep_unless_stopping(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


class SimulatedPublisher:
    """A feed that gains, edits and loses items, and sometimes fails."""

    def __init__(self, number: int, seed: str, clock: VirtualClock) -> None:
        self.url = f"http://127.0.{number // 200}.{number % 200 + 1}/feed"
        self._number, self._clock, self._chance = number, clock, Random(f"feed {number} {seed}")
        self._every = timedelta(minutes=self._chance.choice([20, 120, 600, 3_000, 20_000]))
        self._next_at, self._fails_until = BEGIN, BEGIN
        self._fault: int | str = 500
        self._items: dict[int, str] = {}
        self._version = 0
        self.offered: set[str] = set()  # titles of the document that the last answer brought whole
        self.owed: set[str] = set()  # titles of whole documents whose poll was committed
        self.asked: list[datetime] = []
        self.limited_until = BEGIN

    def answer(self, plan: FetchPlan) -> RawResponse:
        """What the feed says now."""
        now = self._clock.now()
        assert now >= self.limited_until, f"{self.url} was asked inside its Retry-After"
        self.asked.append(now)
        self.offered = set()  # a failure owes nothing of a poll that died before its commit
        self._live(now)
        if now < self._fails_until:
            return self._fail(now)
        etag = f'"{self._number}-{self._version}"'
        if ("If-None-Match", etag) in plan.headers:
            return self._said(304, ("ETag", etag))
        self.offered = {self._title(number) for number in self._items}
        return self._said(200, ("ETag", etag), body=self._document())

    def _live(self, now: datetime) -> None:
        while self._next_at <= now:
            self._version += 1
            newest = self._version
            self._items[newest] = f"Text of {newest}."
            if self._chance.random() < 0.2:
                self._items[self._chance.choice(list(self._items))] += " Edited."
            for old in sorted(self._items)[:-WINDOW]:
                del self._items[old]
            self._next_at += self._every * self._chance.expovariate(1)
        if now >= self._fails_until and self._chance.random() < 0.02:
            self._fault = self._chance.choice(FAULTS)
            self._fails_until = now + timedelta(hours=self._chance.choice([1, 6, 48]))

    def _fail(self, now: datetime) -> RawResponse:
        if self._fault == "cut":
            body = self._document()
            whole = self._said(200, body=body[: len(body) // 2])
            return replace(whole, truncated=True)
        if not isinstance(self._fault, int):
            return msgspec.convert(
                {"url": self.url, "final_url": self.url, "error": self._fault}, RawResponse
            )
        if self._fault != 429:
            return self._said(self._fault)
        self.limited_until = now + timedelta(seconds=RETRY_AFTER_SEC)
        return self._said(429, ("Retry-After", str(RETRY_AFTER_SEC)))

    def _document(self) -> bytes:
        items = [
            item(number, title=self._title(number), text=text, guid=f"urn:{self._title(number)}",
                 link=f"https://paper.example/{self._number}/{number}")
            for number, text in self._items.items()
        ]  # fmt: skip
        return rss(*items)

    def _title(self, number: int) -> str:
        return f"Item {self._number}-{number}"

    def _said(self, status: int, *headers: tuple[str, str], body: bytes = b"") -> RawResponse:
        kind = ("Content-Type", "application/rss+xml")
        return RawResponse(
            url=self.url, final_url=self.url, status=status, headers=(kind, *headers), body=body,
            wire_length=len(body),
        )  # fmt: skip


class CrashingStore:
    """The real store; sometimes the process dies before a commit, or after it.

    What only a poll brought that died before its commit is in the raw archive alone, so no entry is owed for it.
    """

    def __init__(
        self, store: Any, chance: Random, publishers: Sequence[SimulatedPublisher]
    ) -> None:
        self._store, self._chance = store, chance
        self._publishers = {one.url: one for one in publishers}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, refresh: Any) -> Any:
        dice, death = self._chance.random(), StoreError("the process died", reason="closed")
        if dice < 0.004:
            raise death
        done = await self._store.commit(refresh)
        publisher = self._publishers[refresh.fetch.url]
        publisher.owed |= publisher.offered
        if dice > 0.996:
            raise death
        return done


class Simulated(NamedTuple):
    """What a run did."""

    polls: int
    crashes: int
    entries: int
    events: int
    digest: str  # of the log


async def simulate(home: Path, *, seed: str, feeds: int, days: int) -> Simulated:
    """Poll that many feeds for so many virtual days; the promises are checked at the end."""
    clock, crashes = VirtualClock(seed), 0
    publishers = [SimulatedPublisher(number, seed, clock) for number in range(feeds)]
    config = Config(
        store=StoreConfig(home=str(home)),
        host=HostConfig(rps=0, min_gap_ms=0),
        run=RunConfig(concurrency=1),
    )
    config = replace(config, fetch=replace(config.fetch, allow_cidrs=("127.0.0.0/8",)))
    chance, end = Random(f"crashes {seed}"), BEGIN + timedelta(days=days)
    is_over = False
    while not is_over:
        async with open_services(config, clock=clock) as opened:
            fetcher = ScriptedFetcher({one.url: one.answer for one in publishers})
            store: Any = CrashingStore(opened.store, chance, publishers)
            services = opened._replace(fetcher=fetcher, store=store)
            if clock.at == BEGIN:
                for one in publishers:
                    await subscribe_unchecked(one.url, services)
            try:
                is_over = await _poll_until(end, services, clock)
            except StoreError:
                crashes += 1
    async with open_services(config, clock=clock) as services:
        return await _check(services, publishers, crashes, end)


async def _poll_until(end: datetime, services: Services, clock: VirtualClock) -> bool:
    while True:
        due = await services.store.next_due_at(None)
        assert due is not None, "no feed is due any more"
        if due > end:
            return True
        clock.at = max(clock.at + _STEP, due)  # a lane that a dead process holds is not free yet
        await run_once(services, VirtualLifecycle(clock))


def check_gaps(
    url: str, asked: Sequence[datetime], end: datetime, least_sec: float, longest_sec: float
) -> None:
    """No feed was asked too early, and none was forgotten, at the end neither."""
    gaps = [(after - before).total_seconds() for before, after in pairwise(asked)]
    assert min(gaps) >= least_sec, f"{url} asked too early"
    last = (end - asked[-1]).total_seconds()
    assert max(*gaps, last) <= longest_sec, f"{url} was forgotten"


async def _check(
    services: Services, publishers: Sequence[SimulatedPublisher], crashes: int, end: datetime
) -> Simulated:
    store, schedule = services.store, services.config.schedule
    # A crash costs one interval after the end of the lease.
    longest_sec = 2 * schedule.max_interval_sec + services.config.run.lease_sec
    assert await store.problems() == ()
    titles = Counter(
        entry.title for entry in (await store.entries(EntryFilter(), limit=10**6)).items
    )
    owed = {title for one in publishers for title in one.owed}
    assert set(titles.values()) <= {1}, "an item is stored twice"
    assert set(titles) >= owed, f"lost: {sorted(owed - set(titles))[:5]}"
    log = await store.events(after=0, limit=10**6)
    assert [event.seq for event in log] == list(range(1, len(log) + 1)), "the log has a gap"
    told = Counter(event.entry_uid for event in log if event.type == "new_entry")
    assert len(told) == len(titles), "an entry was never told"
    assert set(told.values()) == {1}, "an entry was told as new twice"
    for one in publishers:
        check_gaps(one.url, one.asked, end, schedule.min_interval_sec, longest_sec)
    # Without ids: tasks draw them in an order that is the machine's.
    story = [(event.type, event.occurred_at, event.data.get("title")) for event in log]
    digest = hashlib.sha256(msgspec.json.encode(story)).hexdigest()
    polls = sum(len(one.asked) for one in publishers)
    return Simulated(polls, crashes, len(titles), len(log), digest)
