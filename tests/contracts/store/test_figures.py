"""What every store promises of figures: committed with the polls, exact, and kept by day and hour."""

from datetime import datetime, timedelta

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import (
    DAY,
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    claim_all,
    new_feed,
    read,
)

from feedmill.engine.ports.store import Store
from feedmill.fetch.figures import sum_totals
from feedmill.model.feed import Feed, HostPace, Lane
from feedmill.model.running.figures import FailureCount, Figures

MIDNIGHT = NOON.replace(hour=0)


async def a_feed(store: Store, number: int = 1, *, host: str | None = None) -> Feed:
    return (await store.add_feed(new_feed(number, host=host)))[0]


async def poll(
    store: Store,
    feed: Feed,
    at: datetime,
    *,
    outcome: str = "unchanged",
    status: int | None = 304,
    late_sec: float = 0.0,
    lane: Lane | None = None,
    saved: int | None = None,
    wire: int | None = None,
    elapsed_ms: int = 42,
    new: int = 0,
) -> None:
    """Commit one poll of the feed with this outcome."""
    refresh = a_refresh(feed, 1, at=at, scheduled_at=at - timedelta(seconds=late_sec), lane=lane)
    fetch = replace(
        refresh.fetch,
        outcome=outcome,
        http_status=status,
        interval_sec=900.0,
        saved_bytes=saved,
        wire_length=wire,
        elapsed_ms=elapsed_ms,
        entries_new=new,
    )
    done = await store.commit(replace(refresh, fetch=fetch))
    assert not done.fenced
    assert not done.duplicate


async def total(store: Store, until: datetime = NOON + 10 * DAY) -> Figures:
    found = await store.poll_totals(since=NOON - DAY, until=until)
    return sum_totals(one.totals for one in found).figures


class TestOneFeed:
    def test_polls_of_a_day_add_up(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, NOON, saved=700)
            await poll(store, feed, NOON + HOUR, saved=700, late_sec=1800, elapsed_ms=100)
            await poll(store, feed, NOON + 2 * HOUR, outcome="timeout", status=None)

            (day,) = await store.feed_days(feed.id, since=NOON - DAY, until=NOON + DAY)

            figures = day.figures
            assert day.start == MIDNIGHT
            assert (figures.polls, figures.unchanged, figures.failed_host) == (3, 2, 1)
            assert (figures.bytes_saved, figures.late, figures.lag_max) == (1400, 1, 2.0)
            assert (figures.elapsed_ms, figures.elapsed_ms_max) == (184, 100)

        tell(story)

    def test_each_day_has_figures_of_its_own(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            for hours in (0, 1, 24, 25, 26, 72):
                await poll(store, feed, NOON + hours * HOUR)

            found = await store.feed_days(feed.id, since=NOON - DAY, until=NOON + 9 * DAY)

            days = [(one.start, one.figures.polls) for one in found]
            assert days == [(MIDNIGHT, 2), (MIDNIGHT + DAY, 3), (MIDNIGHT + 3 * DAY, 1)]

        tell(story)

    def test_only_days_of_the_range_are_returned(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            for days in range(4):
                await poll(store, feed, NOON + days * DAY)

            found = await store.feed_days(feed.id, since=MIDNIGHT + DAY, until=MIDNIGHT + 3 * DAY)

            assert [one.start for one in found] == [MIDNIGHT + DAY, MIDNIGHT + 2 * DAY]

        tell(story)

    def test_polls_of_a_clock_that_steps_count_once_for_their_own_day(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, MIDNIGHT + DAY)
            await poll(store, feed, MIDNIGHT + DAY - timedelta(seconds=5))
            await poll(store, feed, MIDNIGHT + 30 * DAY)
            await poll(store, feed, MIDNIGHT + DAY + HOUR)
            await poll(store, feed, MIDNIGHT + 30 * DAY + HOUR)

            found = await store.feed_days(feed.id, since=NOON - DAY, until=NOON + 40 * DAY)

            assert [(one.start, one.figures.polls) for one in found] == [
                (MIDNIGHT, 1), (MIDNIGHT + DAY, 2), (MIDNIGHT + 30 * DAY, 2),
            ]  # fmt: skip
            counts = [await store.budget_counts(one.start, target=0.02) for one in found]
            assert [one.feeds for one in counts] == [1, 1, 1]

        tell(story)

    def test_hours_come_from_the_fetches_and_agree_with_the_day(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            for minutes in (0, 10, 70, 75, 200):
                await poll(store, feed, NOON + timedelta(minutes=minutes), saved=10, late_sec=90)

            hours = await store.feed_hours(feed.id, since=NOON, until=NOON + DAY)
            (day,) = await store.feed_days(feed.id, since=NOON, until=NOON + HOUR)

            assert [(one.start, one.figures.polls) for one in hours] == [
                (NOON, 2), (NOON + HOUR, 2), (NOON + 3 * HOUR, 1),
            ]  # fmt: skip
            assert sum(one.figures.bytes_saved for one in hours) == day.figures.bytes_saved == 50
            assert sum(one.figures.lag for one in hours) == day.figures.lag

        tell(story)

    def test_what_is_inserted_outside_the_schedule_is_no_poll(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            inserted = replace(a_refresh(feed, 1, at=NOON), entries_only=True, decision=None)

            await store.commit(inserted)

            assert await store.feed_days(feed.id, since=NOON - DAY, until=NOON + DAY) == ()
            assert await total(store) == Figures()

        tell(story)

    def test_a_run_that_was_committed_before_counts_once(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            refresh = a_refresh(feed, 1, at=NOON)

            await store.commit(refresh)
            again = await store.commit(refresh)

            (day,) = await store.feed_days(feed.id, since=NOON - DAY, until=NOON + DAY)
            assert again.duplicate
            assert day.figures.polls == (await total(store)).polls == 1

        tell(story)

    def test_a_commit_under_a_lost_lane_counts_nothing(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (claim,) = await claim_all(store)
            lost = replace(claim.lane, epoch=claim.lane.epoch - 1)

            done = await store.commit(a_refresh(feed, 1, at=NOON, lane=lost))
            await store.commit(a_refresh(feed, 1, at=NOON, lane=claim.lane))

            assert done.fenced
            assert (await total(store)).polls == 1

        tell(story)

    def test_figures_of_a_merged_feed_become_the_other_feeds(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            for feed in (loser, winner):
                for days in (0, 1):
                    await poll(store, feed, NOON + days * DAY, outcome="not-found", status=404)

            await store.merge_feeds(loser.id, winner.id, at=NOON + DAY)

            found = await store.feed_days(winner.id, since=NOON - DAY, until=NOON + 9 * DAY)
            assert [one.figures.polls for one in found] == [2, 2]
            failed = await store.feed_failures(winner.id, since=NOON, until=NOON + 9 * DAY)
            assert failed == (FailureCount(outcome="not-found", status=404, count=4),)
            await poll(store, winner, NOON + 2 * DAY)
            later = await store.feed_days(winner.id, since=NOON - DAY, until=NOON + 9 * DAY)
            assert [one.figures.polls for one in later] == [2, 2, 1]

        tell(story)

    def test_figures_go_with_the_feed(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, NOON, outcome="timeout", status=None)
            await poll(store, feed, NOON + DAY)

            await store.remove_feed(feed.id, ())

            assert await store.host_failures(since=NOON, until=NOON + DAY) == ()

        tell(story)


class TestAllFeeds:
    def test_totals_add_up_all_feeds_by_the_hour(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feeds = [await a_feed(store, number) for number in range(1, 6)]
            for feed in feeds:
                await poll(store, feed, NOON, saved=100)
                await poll(store, feed, NOON + HOUR, outcome="server-error", status=502)

            found = await store.poll_totals(since=NOON, until=NOON + DAY)

            assert [(one.start, one.totals.figures.polls) for one in found] == [
                (NOON, 5), (NOON + HOUR, 5),
            ]  # fmt: skip
            assert found[0].totals.outcomes == {"unchanged 304": 5}
            assert found[1].totals.outcomes == {"server-error 502": 5}

        tell(story)

    def test_failures_are_counted_by_host_outcome_and_status(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            one, two = (
                await a_feed(store, 1, host="big.example"),
                await a_feed(store, 2, host="big.example"),
            )
            three = await a_feed(store, 3, host="small.example")
            for hours in (0, 1):
                await poll(store, one, NOON + hours * HOUR, outcome="server-error", status=502)
            await poll(store, two, NOON, outcome="server-error", status=502)
            await poll(store, three, NOON, outcome="timeout-connect", status=None)

            found = await store.host_failures(since=NOON, until=NOON + HOUR)

            assert found == (
                FailureCount(
                    host="big.example", outcome="server-error", status=502, count=3, feeds=2
                ),
                FailureCount(
                    host="small.example", outcome="timeout-connect", status=None, count=1, feeds=1
                ),
            )

        tell(story)

    def test_top_lists_are_ordered_and_leave_out_feeds_with_nothing(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feeds = [await a_feed(store, number) for number in (1, 2, 3)]
            await poll(store, feeds[1], NOON, outcome="fresh", status=200, new=2)
            await poll(store, feeds[0], NOON, wire=10, elapsed_ms=900)
            await poll(store, feeds[2], NOON, outcome="timeout", status=None, wire=20, late_sec=900)

            async def top(by: str) -> list[tuple[str, float]]:
                found = await store.top_feeds(by, since=NOON, until=NOON)  # type: ignore[arg-type]  # spelt below
                return [(one.feed_id[-1], one.value) for one in found]

            assert await top("new") == [("2", 2.0)]
            assert await top("bytes") == [("3", 20.0), ("1", 10.0)]
            assert await top("errors") == [("3", 1.0)]
            assert (await top("latency"))[0] == ("1", 900.0)
            assert (await top("lag"))[0] == ("3", 1.0)
            assert len(await top("polls")) == 3
            assert await top("saved") == []

        tell(story)

    def test_feeds_are_counted_by_health_and_lateness(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feeds = [await a_feed(store, number) for number in (1, 2, 3)]
            await store.change_feed(replace(feeds[2], paused=True))
            now = NOON + HOUR

            before = await store.feed_counts(now)
            await store.limit_host(feeds[0].url, now + HOUR, "rate-limited")
            await poll(store, feeds[1], now)
            after = await store.feed_counts(now)

            assert (before.feeds, before.paused, before.active, before.never_polled) == (3, 1, 2, 3)
            assert (before.due, before.late, before.held) == (2, 2, 0)
            assert (after.due, after.late, after.held, after.never_polled) == (1, 1, 1, 2)

        tell(story)

    def test_feeds_over_their_error_budget_are_counted(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            good, bad, theirs = [await a_feed(store, number) for number in (1, 2, 3)]
            for minutes in range(0, 50, 10):
                at = NOON + timedelta(minutes=minutes)
                await poll(store, good, at)
                await poll(store, theirs, at, outcome="not-found", status=404, late_sec=1000)
                await poll(store, bad, at, outcome="too-large" if minutes else "unchanged")

            found = await store.budget_counts(NOON, target=0.02)

            assert (found.feeds, found.over_budget) == (3, 1)
            assert (found.polls, found.failed_ours) == (10, 4)

        tell(story)

    def test_feeds_are_fresh_unless_late_or_overdue(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            on_time, late, overdue, paused = [await a_feed(store, number) for number in range(1, 5)]
            await store.change_feed(replace(paused, paused=True))
            await poll(store, on_time, NOON)
            await poll(store, late, NOON, late_sec=901)
            assert overdue.next_poll_at == NOON

            async def counted(minutes: int | None) -> tuple[int, int]:
                now = None if minutes is None else NOON + timedelta(minutes=minutes)
                found = await store.freshness(NOON, now=now, initial_interval_sec=900)
                return found.feeds, found.late

            assert await counted(None) == (3, 1)
            assert await counted(1) == (3, 1)
            assert await counted(16) == (3, 2)
            assert await counted(24 * 60) == (3, 3)

        tell(story)

    def test_sizes_are_of_the_database_and_the_raw_documents(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            changes = await read(store, feed, [an_entry("a")])
            await store.commit(a_refresh(feed, 1, at=NOON, changes=changes))

            sizes = await store.store_sizes()

            assert sizes.database_bytes > 0
            assert (sizes.raw_bytes, sizes.raw_documents) == (100, 1)

        tell(story)


class TestCompaction:
    def test_hours_become_days_and_old_days_go(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            for days in (0, 1, 5):
                for hours in (0, 1, 2):
                    await poll(
                        store,
                        feed,
                        NOON + days * DAY + hours * HOUR,
                        outcome="timeout",
                        status=None,
                    )
            now = NOON + 5 * DAY + 3 * HOUR

            await store.compact_figures(
                now=now, hours_until=MIDNIGHT + 3 * DAY, days_until=MIDNIGHT + DAY
            )

            found = await store.poll_totals(since=NOON - DAY, until=NOON + 9 * DAY)
            assert [(one.start, one.totals.figures.polls) for one in found] == [
                (MIDNIGHT + DAY, 3),
                *[(NOON + 5 * DAY + hours * HOUR, 1) for hours in (0, 1, 2)],
            ]
            days_left = await store.feed_days(feed.id, since=NOON - DAY, until=NOON + 9 * DAY)
            assert [one.start for one in days_left] == [MIDNIGHT + DAY, MIDNIGHT + 5 * DAY]
            failed = await store.feed_failures(feed.id, since=NOON - DAY, until=NOON + 9 * DAY)
            assert [one.count for one in failed] == [6]

        tell(story)

    def test_compacting_twice_changes_nothing(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feeds = [await a_feed(store, number) for number in (1, 2)]
            for feed in feeds:
                await poll(store, feed, NOON)
            later = {"now": NOON + DAY, "hours_until": NOON - DAY, "days_until": NOON - 9 * DAY}

            await store.compact_figures(**later)
            once = await store.poll_totals(since=NOON, until=NOON + DAY)
            gone = await store.compact_figures(**later)

            assert gone == 0
            assert await store.poll_totals(since=NOON, until=NOON + DAY) == once

        tell(story)


def test_figures_survive_claims_and_releases(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        (claim,) = await claim_all(store)
        await poll(store, feed, NOON, lane=claim.lane)
        await store.release(claim.lane, HostPace(gap_ms=1_000), now=NOON)
        (again,) = await claim_all(store, now=NOON + DAY / 2)
        await poll(store, feed, NOON + timedelta(minutes=1), lane=again.lane)

        (day,) = await store.feed_days(feed.id, since=NOON - DAY, until=NOON + DAY)

        assert day.figures.polls == 2

    tell(story)
