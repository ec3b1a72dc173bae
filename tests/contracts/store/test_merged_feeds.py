"""What every store promises of merges that can be undone."""

from datetime import timedelta

from msgspec import structs
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import DAY, NOON, a_refresh, new_feed

from feedmill.engine.ports.store import Store
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter


async def two_feeds(store: Store) -> tuple[Feed, Feed]:
    kept, merged = [(await store.add_feed(new_feed(number)))[0] for number in (1, 2)]
    await store.commit(a_refresh(merged, 1, at=NOON))
    return kept, merged


def told(kind: str, feed: Feed) -> NewEvent:
    return NewEvent(type=kind, feed_id=feed.id, occurred_at=NOON + DAY)  # type: ignore[arg-type]  # spelt by the tests


async def listed(store: Store) -> list[str]:
    found = (await store.find_feeds(FeedFilter())).items
    assert [feed.id for feed in (await store.feeds(limit=9)).items] == [feed.id for feed in found]
    assert await store.count_feeds(FeedFilter()) == len(found)
    paused = sum(feed.paused for feed in found)
    by_health, rows = await store.feed_counts(NOON), await store.counts()
    for one in (await store.feed_states(), rows, structs.asdict(by_health)):
        assert (one["feeds"], one["paused"]) == (len(found), paused)
    return [feed.id for feed in found]


def test_a_merged_feed_is_not_listed_and_its_addresses_lead_to_the_other(tell: Tell) -> None:
    async def story(store: Store) -> None:
        kept, merged = await two_feeds(store)

        done = await store.hide_merged(
            merged.id, kept.id, at=NOON + DAY, events=[told("feed.merged", kept)]
        )

        assert done
        assert await listed(store) == [kept.id]
        found = await store.find_feed([merged.url])
        assert found is not None
        assert found.id == kept.id
        (one,) = await store.merged_feeds()
        assert (one.feed_id, one.into_id, one.merged_at) == (merged.id, kept.id, NOON + DAY)
        hidden = await store.feed(merged.id)
        assert hidden is not None
        assert hidden.paused
        assert [event.type for event in await store.events(after=0)][-1] == "feed.merged"
        assert await store.problems() == ()

    tell(story)


def test_tags_of_a_merged_feed_are_the_other_ones_too(tell: Tell) -> None:
    async def story(store: Store) -> None:
        kept, merged = await two_feeds(store)
        await store.change_feed(replace(kept, tags=("right",)))
        await store.change_feed(replace(merged, tags=("left", "right")))

        await store.hide_merged(merged.id, kept.id, at=NOON + DAY)

        (found,) = (await store.find_feeds(FeedFilter(tag="left"))).items
        assert (found.id, set(found.tags)) == (kept.id, {"left", "right"})
        assert await store.problems() == ()

    tell(story)


def test_an_undone_merge_leaves_both_feeds_as_they_were(tell: Tell) -> None:
    async def story(store: Store) -> None:
        kept, merged = await two_feeds(store)
        before = [await store.feed(one.id) for one in (kept, merged)]
        aliases = await store.aliases(merged.id)
        await store.hide_merged(merged.id, kept.id, at=NOON + DAY)

        done = await store.show_merged(merged.id, [told("feed.unmerged", kept)])

        assert done
        assert [await store.feed(one.id) for one in (kept, merged)] == before
        assert await store.aliases(merged.id) == aliases
        assert await listed(store) == [kept.id, merged.id]
        assert not await store.show_merged(merged.id)
        assert await store.problems() == ()

    tell(story)


def test_a_merge_is_made_final_like_any_other(tell: Tell) -> None:
    async def story(store: Store) -> None:
        kept, merged = await two_feeds(store)
        await store.hide_merged(merged.id, kept.id, at=NOON + DAY)

        counts = await store.merge_feeds(merged.id, kept.id, at=NOON + timedelta(days=40))

        assert counts is not None
        assert counts.fetches == 1
        assert await store.merged_feeds() == ()
        assert await store.feed(merged.id) is None
        assert await store.problems() == ()

    tell(story)


def test_a_feed_that_is_merged_or_gone_is_not_merged_again(tell: Tell) -> None:
    async def story(store: Store) -> None:
        kept, merged = await two_feeds(store)
        third = (await store.add_feed(new_feed(3)))[0]
        await store.hide_merged(merged.id, kept.id, at=NOON + DAY)

        again = await store.hide_merged(merged.id, third.id, at=NOON + DAY)
        into_merged = await store.hide_merged(third.id, merged.id, at=NOON + DAY)
        itself = await store.hide_merged(third.id, third.id, at=NOON + DAY)
        chain = await store.hide_merged(kept.id, third.id, at=NOON + DAY)

        assert (again, into_merged, itself, chain) == (False, False, False, True)
        assert {one.into_id for one in await store.merged_feeds()} == {third.id}

    tell(story)
