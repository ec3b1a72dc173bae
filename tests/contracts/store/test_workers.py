"""Who works on a store: signs of life, held lanes, and how much there is to do."""

from datetime import timedelta

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import HOUR, NOON, claim_all, new_feed

from feedmill.engine.ports.store import Store
from feedmill.model.running.worker import HeldLane, Worker, WorkerView

MINUTE = timedelta(minutes=1)


def a_worker(name: str = "one", **fields: object) -> Worker:
    worker = Worker(name=name, role="worker", version="1", started_at=NOON, seen_at=NOON)
    return replace(worker, **fields)


def test_nobody_works_on_a_new_store(tell: Tell) -> None:
    async def story(store: Store) -> None:
        assert await store.workers() == ()
        assert await store.due_lanes(NOON) == 0

    tell(story)


def test_workers_are_listed_by_name_as_they_were_last_heard_of(tell: Tell) -> None:
    async def story(store: Store) -> None:
        later = a_worker("two", role="run", seen_at=NOON + MINUTE, draining=True, version="2")
        await store.save_worker(a_worker("two"))
        await store.save_worker(a_worker("one", role="api"))
        await store.save_worker(later)

        found = await store.workers()

        assert found == (
            WorkerView(name="one", worker=a_worker("one", role="api")),
            WorkerView(name="two", worker=later),
        )

    tell(story)


def test_a_worker_that_left_is_not_listed(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.save_worker(a_worker("one"))
        await store.save_worker(a_worker("two"))

        await store.delete_worker("one")
        await store.delete_worker("nobody")

        assert [view.name for view in await store.workers()] == ["two"]

    tell(story)


def test_a_worker_that_fell_silent_is_listed_for_a_while(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.save_worker(a_worker("silent"))

        await store.save_worker(a_worker("one", seen_at=NOON + HOUR))
        soon = [view.name for view in await store.workers()]
        await store.save_worker(a_worker("one", seen_at=NOON + HOUR + MINUTE))
        late = [view.name for view in await store.workers()]

        assert (soon, late) == (["one", "silent"], ["one"])

    tell(story)


def test_lanes_are_shown_with_whoever_holds_them_known_or_not(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in range(4):
            await store.add_feed(new_feed(number, host=f"host{number // 2}.example"))
        await store.save_worker(a_worker("known"))
        (first,) = await claim_all(store, "known", lanes=1, feeds=1)
        (second,) = await claim_all(store, "unknown")

        known, unknown = await store.workers()

        assert known.worker == a_worker("known")
        assert known.lanes == (HeldLane(key=first.lane.key, until=first.until, epoch=1, feeds=2),)
        assert (unknown.name, unknown.worker) == ("unknown", None)
        assert [lane.key for lane in unknown.lanes] == [second.lane.key]

        await store.release(first.lane, first.lane.pace, now=NOON)
        await store.release(second.lane, second.lane.pace, now=NOON)
        assert await store.workers() == (WorkerView(name="known", worker=a_worker("known")),)

    tell(story)


def test_lanes_are_due_when_their_feeds_are_and_not_while_they_are_held(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in range(5):
            at = NOON if number < 3 else NOON + HOUR
            await store.add_feed(new_feed(number, at=at))

        waiting = await store.due_lanes(NOON)
        claims = await claim_all(store, lanes=2)

        assert waiting == 3
        assert await store.due_lanes(NOON) == 1
        assert await store.due_lanes(claims[0].until) == 3  # the leases have run out
        assert await store.due_lanes(NOON + HOUR) == 5

    tell(story)


def test_a_pause_learnt_while_a_lane_is_held_outlives_its_holder(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed())
        (dead,) = await claim_all(store, "dead")
        until = dead.until + HOUR

        await store.limit_host(feed.url, until, "rate-limited")

        assert await claim_all(store, now=until - MINUTE) == ()
        (claim,) = await claim_all(store, now=until)
        assert claim.lane.pace.next_ok_at == until
        assert claim.lane.pace.blocked_reason == "rate-limited"

    tell(story)
