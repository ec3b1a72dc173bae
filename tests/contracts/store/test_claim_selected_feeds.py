"""A claim for chosen feeds takes these and leaves all others, and their lanes, as they are."""

from datetime import timedelta

from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, claim_all, new_feed

from feedmill.engine.ports.store import Store
from feedmill.model.feed import Claim, HostPace


async def claim_only(store: Store, *feed_ids: str) -> tuple[Claim, ...]:
    return await store.claim(
        "chooser", now=NOON, lease_sec=60.0, max_lanes=10, max_feeds=10, only=feed_ids
    )


def test_only_the_chosen_feeds_of_a_lane_are_claimed(tell: Tell) -> None:
    async def story(store: Store) -> None:
        chosen, _ = await store.add_feed(new_feed(1, host="one.example"))
        beside, _ = await store.add_feed(new_feed(2, host="one.example"))
        await store.add_feed(new_feed(3, host="two.example"))

        (claim,) = await claim_only(store, chosen.id)

        assert [feed.id for feed in claim.feeds] == [chosen.id]
        await store.release(claim.lane, claim.lane.pace, now=NOON)
        others = [feed.id for one in await claim_all(store, "other") for feed in one.feeds]
        assert beside.id in others
        assert len(others) == 2

    tell(story)


def test_an_unknown_or_paused_feed_is_nobody_to_claim(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.add_feed(new_feed(1))

        assert await claim_only(store, "nobody") == ()
        assert await claim_only(store) == ()
        assert await store.next_due_at(["nobody"]) is None

    tell(story)


def test_a_lane_that_rests_is_waited_for_by_the_chosen_feed_alone(tell: Tell) -> None:
    async def story(store: Store) -> None:
        chosen, _ = await store.add_feed(new_feed(1, host="one.example"))
        await store.add_feed(new_feed(2, host="two.example"))
        (claim,) = await claim_only(store, chosen.id)
        rested_at = NOON + timedelta(seconds=5)
        pace = HostPace(gap_ms=1_000, next_ok_at=rested_at)

        await store.release(claim.lane, pace, now=NOON, deferred=[(chosen.id, NOON)])

        assert await claim_only(store, chosen.id) == ()
        assert await store.next_due_at([chosen.id]) == rested_at
        assert await store.next_due_at() == NOON

    tell(story)
