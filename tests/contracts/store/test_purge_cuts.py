"""Retention by kind: fetches, decisions and events go by limits of their own."""

from datetime import timedelta

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import a_refresh, an_entry, new_feed, poll

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.engine.ports.store import Store
from feedmill.model.running.worker import PurgeCuts
from feedmill.model.schedule import Decision
from feedmill.schedule.arrivals import learn_arrivals

DAY = timedelta(days=1)


async def polled(store: Store, polls: int = 4) -> tuple[str, PurgeCuts]:
    """A feed that was polled once a day; limits that keep everything."""
    feed, _ = await store.add_feed(new_feed(1))
    for number in range(polls):
        entries = [an_entry(f"e{number}")]
        await poll(store, feed, number + 1, entries, at=feed.created_at + number * DAY)
    first = feed.created_at
    return feed.id, PurgeCuts(entries=first, fetches=first, events=first, unread_events=first)


def test_fetches_go_by_their_own_limit(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed_id, keep = await polled(store)
        before = len((await store.fetches(feed_id, limit=100)).items)
        await store.delete_blobs([ref.sha256 for ref in await store.blobs()])
        now = keep.entries + 10 * DAY
        cuts = PurgeCuts(
            entries=keep.entries,
            fetches=keep.entries + 2 * DAY,
            events=keep.events,
            unread_events=keep.unread_events,
        )

        gone = await store.purge(before=keep.entries, now=now, cuts=cuts)

        assert gone["fetches"] == 2
        assert len((await store.fetches(feed_id, limit=100)).items) == before - 2

    tell(story)


def test_events_without_a_reader_go_by_age_and_a_reader_holds_them_for_a_time(tell: Tell) -> None:
    async def story(store: Store) -> None:
        _, keep = await polled(store)
        last = await store.last_seq()
        now = keep.entries + 10 * DAY
        await store.set_cursor("bus:old", 1)
        held = PurgeCuts(
            entries=keep.entries, fetches=keep.entries, events=now, unread_events=keep.entries
        )

        assert (await store.purge(before=keep.entries, now=now, cuts=held))["events"] <= 1
        abandoned = PurgeCuts(
            entries=keep.entries, fetches=keep.entries, events=now, unread_events=now
        )
        await store.purge(before=keep.entries, now=now, cuts=abandoned)
        assert [event.seq for event in await store.events(after=0)] == [last]

    tell(story)


def test_events_go_where_no_reader_has_a_cursor(tell: Tell) -> None:
    async def story(store: Store) -> None:
        _, keep = await polled(store)
        now = keep.entries + 10 * DAY
        cuts = PurgeCuts(
            entries=keep.entries, fetches=keep.entries, events=now, unread_events=keep.entries
        )

        await store.purge(before=keep.entries, now=now, cuts=cuts)

        assert len(await store.events(after=0)) == 1  # the newest stays

    tell(story)


def test_cursor_is_listed_and_dropped(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await polled(store)
        last = await store.last_seq()
        await store.set_cursor("reader", last - 1)

        (found,) = [one for one in await store.cursors() if one.consumer == "reader"]

        assert (found.seq, found.behind) == (last - 1, 1)
        assert found.unread_since is not None
        assert await store.drop_cursor("reader")
        assert not await store.drop_cursor("reader")

    tell(story)


def test_only_the_last_decisions_of_a_feed_are_kept(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed_id, _ = await polled(store)
        before = await store.decisions(feed_id, 100)

        gone = await store.thin_decisions([feed_id, "unknown"], 1)

        assert len(before) > 1
        assert gone == len(before) - 1
        assert await store.decisions(feed_id, 100) == before[:1]

    tell(story)


def test_decisions_keep_their_arrivals_when_earlier_polls_go(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        start = feed.created_at
        decisions: list[Decision | None] = []
        for day in range(6):  # the third and the last day bring an entry
            known = learn_arrivals(
                None, [1.0e9 + (day > 1) + (day > 4)], now=start.timestamp(), window=3
            )
            feed = replace(feed, schedule=replace(feed.schedule, arrivals=known))
            refresh = a_refresh(feed, day, at=start + day * DAY)
            await store.commit(refresh)
            decisions.insert(0, refresh.decision)
        assert await store.decisions(feed.id, 100) == tuple(decisions)

        cuts = PurgeCuts(entries=start, fetches=start + 3 * DAY, events=start, unread_events=start)
        await store.purge(before=start, now=start + 9 * DAY, cuts=cuts)

        assert await store.decisions(feed.id, 100) == tuple(decisions[:3])
        if isinstance(store, SqliteStore):
            # Those of days 3 and 5; day 4 has what day 3 had. The block of the first two days is gone.
            assert await _arrivals_blocks(store) == 2

    tell(story)


async def _arrivals_blocks(store: SqliteStore) -> int:
    """Blocks that hold what a feed's pace was decided from."""
    statement = "SELECT count(*) FROM header_blocks WHERE block NOT LIKE '[[%'"
    return int(await store._run_reader(lambda c: c.execute(statement).fetchone()[0]))
