"""Subscriptions to WebSub hubs and their evidence, on every kind of store."""

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import DAY, HOUR, NOON, a_refresh, new_feed

from feedmill.engine.ports.store import Store
from feedmill.model.feed import PushEvidence, PushSubscription
from feedmill.model.running.job import NewJob

HUB = "https://hub.example/"


def at_hub(token: str, feed_id: str | None, **more: object) -> PushSubscription:
    made = PushSubscription(
        token=token,
        feed_id=feed_id,
        hub=HUB,
        topic="https://p.example/",
        secret="s",
        created_at=NOON,
    )
    return replace(made, **more)


def test_subscription_is_found_by_its_token_and_its_feed(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        await store.add_push_subscription(at_hub("old", feed.id, state="denied"))
        stored = await store.add_push_subscription(at_hub("new", feed.id, asked_at=NOON))

        active = replace(stored, state="active", verified_at=NOON, lease_until=NOON + DAY)
        assert await store.change_push_subscription(active)

        assert await store.push_subscription("new") == active
        assert [one.token for one in await store.push_subscriptions(feed.id)] == ["new", "old"]
        assert len(await store.push_subscriptions()) == 2
        assert await store.push_subscription("none") is None

    tell(story)


def test_evidence_is_counted_with_the_refresh_that_brings_it(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        stored = await store.add_push_subscription(at_hub("t", feed.id, state="active"))

        async def seen(run: int, **counted: object) -> PushSubscription:
            at = NOON + run * HOUR
            evidence = replace(PushEvidence(subscription_id=stored.id, at=at), **counted)
            await store.commit(replace(a_refresh(feed, run, at=at), push=evidence))
            found = await store.push_subscription("t")
            assert found is not None
            return found

        first = await seen(1, by_push=2, body_sha256="ab")
        missed = await seen(2, by_poll=1)
        await store.reject_push(stored.id)

        assert (first.pushes, first.by_push, first.streak, first.last_body_sha256) == (
            1,
            2,
            2,
            "ab",
        )
        assert first.last_push_at == NOON + HOUR
        assert (missed.by_poll, missed.streak, missed.missed_at) == (1, 0, NOON + 2 * HOUR)
        (tally,) = await store.hub_tallies(HUB)
        assert (tally.active, tally.by_push, tally.by_poll) == (1, 2, 1)
        assert tally.missed_at == NOON + 2 * HOUR
        assert await store.hub_tallies("https://none.example/") == ()
        rejected = await store.push_subscription("t")
        assert rejected is not None
        assert rejected.rejected == 1

    tell(story)


def test_subscription_of_a_removed_or_merged_feed_ends_and_retention_deletes_it(tell: Tell) -> None:
    async def story(store: Store) -> None:
        first, _ = await store.add_feed(new_feed(1))
        second, _ = await store.add_feed(new_feed(2))
        await store.add_push_subscription(at_hub("a", first.id, state="active"))
        await store.add_push_subscription(at_hub("b", second.id, state="unsubscribing"))

        await store.merge_feeds(first.id, second.id, at=NOON)
        await store.remove_feed(second.id)

        found = {one.token: one for one in await store.push_subscriptions()}
        assert (found["a"].state, found["a"].feed_id) == ("ended", None)
        assert (found["b"].state, found["b"].feed_id) == ("unsubscribing", None)
        await store.purge(before=NOON + DAY, now=NOON + DAY)
        assert await store.push_subscriptions() == ()

    tell(story)


def test_queued_job_comes_forward_with_its_new_payload_and_an_ended_one_restarts(
    tell: Tell,
) -> None:
    async def story(store: Store) -> None:
        late = NewJob(kind="walk", key="a", not_before=NOON + DAY, payload={"n": 1})
        job, _ = await store.add_job(late, now=NOON)

        soon = NewJob(kind="walk", key="a", payload={"n": 2}, sooner=True)
        moved, _ = await store.add_job(soon, now=NOON + HOUR)
        assert (moved.id, moved.not_before, moved.payload) == (job.id, NOON + HOUR, {"n": 2})

        await store.cancel_job(job.id, now=NOON)
        again, queued = await store.add_job(soon, now=NOON + 2 * HOUR)
        assert (again.state, queued) == ("queued", True)

    tell(story)


def test_hubs_that_were_found_elsewhere_are_kept_with_the_feed(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))

        await store.change_feed_hubs(feed.id, [HUB])

        found = await store.feed(feed.id)
        assert found is not None
        assert found.hubs == (HUB,)

    tell(story)
