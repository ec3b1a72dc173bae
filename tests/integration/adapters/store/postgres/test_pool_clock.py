"""The clock of all workers is the database's, whatever the machine's own says."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.support.postgres_contention import stores
from tests.support.sample_refreshes import a_refresh, new_feed

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.store.postgres.pool import Database, DatabaseClock
from feedmill.adapters.store.tables.codec import instant
from feedmill.errors import StoreError

HOURS = timedelta(hours=5)
CLOSE = timedelta(seconds=5)  # a loaded machine answers late


class Hands(SystemClock):
    """A machine whose wall clock is wrong, and whose monotonic one is moved by the test."""

    def __init__(self, wrong_by: timedelta = HOURS) -> None:
        super().__init__()
        self.wrong_by = wrong_by
        self.moved_sec = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return super().now() + self.wrong_by

    def monotonic(self) -> float:
        return super().monotonic() + self.moved_sec

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


class Told(DatabaseClock):
    """A clock whose database says what the test wants."""

    def tell(self, at: datetime) -> None:
        self._zero = at - timedelta(seconds=self.monotonic())


async def of_database(database: Database) -> datetime:
    return instant(await database.read(lambda c: c.fetchval("SELECT feedmill_now()")))


@pytest.mark.parametrize("wrong_by", [HOURS, -HOURS])
async def test_a_worker_whose_clock_is_wrong_by_hours_claims_leases_and_commits_on_time(
    emptied_dsn: str, wrong_by: timedelta
) -> None:
    async with stores(emptied_dsn, 2) as (wrong, right):
        clock = DatabaseClock(Hands(wrong_by))
        await clock.follow(wrong.database)
        before = await of_database(right.database)
        feed, _ = await right.add_feed(new_feed(at=before))
        later = replace(new_feed(2, at=before + timedelta(hours=1)))
        await right.add_feed(later)

        (claim,) = await wrong.claim(
            "wrong", now=clock.now(), lease_sec=60, max_lanes=9, max_feeds=9
        )
        fetched_at = clock.now()
        done = await wrong.commit(
            a_refresh(feed, 1, at=fetched_at, scheduled_at=claim.scheduled_at[0], lane=claim.lane)
        )
        after = await of_database(right.database)

        assert [one.id for one in claim.feeds] == [feed.id]
        assert not done.fenced
        assert before + timedelta(seconds=60) <= claim.until
        assert claim.until <= after + timedelta(seconds=60)
        assert before - CLOSE < fetched_at < after + CLOSE
        now = await of_database(right.database)
        assert await right.claim("x", now=now, lease_sec=1, max_lanes=9, max_feeds=9) == ()
        await wrong.release(claim.lane, claim.lane.pace, now=clock.now())
        due_at = await right.next_due_at()
        assert due_at is not None
        assert before < due_at <= later.next_poll_at


async def test_between_two_answers_the_monotonic_clock_counts_on(emptied_dsn: str) -> None:
    database = await Database.open(emptied_dsn, connections=1, timeout_sec=30.0)
    hands = Hands()
    clock = DatabaseClock(hands)
    assert abs(clock.now() - hands.now()) < CLOSE  # nobody has asked the database yet
    await clock.follow(database)
    first = clock.now()

    hands.moved_sec = 1_000.0

    assert timedelta(0) <= clock.now() - first - timedelta(seconds=1_000) < CLOSE
    assert clock.monotonic() >= 1_000.0
    assert clock.new_id() != clock.new_id()
    assert clock.new_secret() != clock.new_secret()
    await database.close()


def test_a_measurement_that_is_a_little_behind_never_lets_time_run_backwards() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    clock = Told(Hands())
    clock.tell(noon)
    before = clock.now()

    clock.tell(before - timedelta(milliseconds=400))
    held = [clock.now() for _ in range(3)]
    clock.tell(before + timedelta(milliseconds=1))

    assert held == [before] * 3
    assert before < clock.now() < before + CLOSE


def test_a_database_whose_clock_was_set_back_is_followed() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    clock = Told(Hands())
    clock.tell(noon)
    clock.now()

    clock.tell(noon - timedelta(hours=1))

    assert clock.now() - (noon - timedelta(hours=1)) < CLOSE


async def test_a_clock_keeps_following_and_survives_a_database_that_is_away(
    emptied_dsn: str,
) -> None:
    database = await Database.open(emptied_dsn, connections=1, timeout_sec=30.0)
    hands = Hands()
    clock = DatabaseClock(hands)
    away = [StoreError("away", reason="cannot-open")]
    answer = clock._measure

    async def measure(connection: object) -> datetime:
        if hands.slept and away:
            raise away.pop()
        return await answer(connection)  # type: ignore[arg-type]  # passed on as it came

    clock._measure = measure  # type: ignore[method-assign]  # the database is away once
    following = asyncio.create_task(clock.keep_following(database, every_sec=7.0))
    while len(hands.slept) < 3 and not following.done():
        await asyncio.wait({following}, timeout=0.01)

    assert not following.done()
    assert away == []
    assert set(hands.slept) == {7.0}
    assert abs(clock.now() - await of_database(database)) < CLOSE
    await database.close()
    with pytest.raises(StoreError, match="closed"):
        await following
