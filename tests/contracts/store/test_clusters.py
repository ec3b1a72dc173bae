"""Clusters: joined by evidence, split without it, one per list, found by an index; on every kind of store."""

from datetime import timedelta
from functools import partial
from typing import Any

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import DAY, NOON, an_entry, new_feed, poll

from feedmill.cluster.sketch import sketch
from feedmill.engine.ports.store import Store
from feedmill.model.derived.cluster import ClusterChange, SketchBatch, StoryText
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import JobStep
from feedmill.publish.events import events_of_clusters

EVENTS = partial(events_of_clusters, now=NOON)
STORY = "https://paper.example/story"


async def feeds_with_entries(store: Store, count: int) -> dict[str, Feed]:
    """So many feeds with one entry each, by the entry's uid, in the order in which they came in."""
    found = {}
    for number in range(1, count + 1):
        feed, _ = await store.add_feed(new_feed(number))
        await poll(store, feed, 1, [an_entry(f"e{number}", "word " * 4**number)], at=NOON)
        (entry,) = (await store.entries(EntryFilter(feed_id=feed.id))).items
        found[entry.entry_uid] = feed
    return found


async def save(
    store: Store, links: dict[str, str], gone: tuple[str, ...] = (), **more: object
) -> tuple[ClusterChange, ...]:
    batch = SketchBatch(
        cause=f"{await store.last_seq()}",
        at=NOON,
        since=NOON - DAY,
        max_entries=100,
        sketches={uid: sketch(StoryText(links=(link,))) for uid, link in links.items()},
        gone=gone,
    )
    changes = await store.save_sketches(replace(batch, **more), events=EVENTS)
    assert changes is not None
    assert await store.problems() == ()
    return changes


def test_entries_with_evidence_are_one_cluster_with_an_event_each(tell: Tell) -> None:
    async def story(store: Store) -> None:
        uids = list(await feeds_with_entries(store, 3))
        before = await store.last_seq()

        await save(store, {uids[0]: STORY, uids[1]: STORY})
        changes = await save(store, {uids[2]: STORY})

        (cluster,) = (await store.clusters()).items
        assert (cluster.feeds, cluster.representative) == (3, uids[2])  # the fullest
        assert await store.cluster(cluster.cluster_id) == cluster
        assert [one.entry_uid for one in changes] == [uids[2]]
        assert (changes[0].cluster_id, changes[0].previous, changes[0].feeds) == (
            cluster.cluster_id, None, 3,
        )  # fmt: skip
        told = await store.events(after=before)
        assert [(one.type, one.entry_uid) for one in told] == [
            ("entry.clustered", uid) for uid in uids
        ]
        members = await store.cluster_members(cluster.cluster_id)
        assert [one.entry_uid for one in members] == uids
        assert {one.evidence for one in members} == {("link",)}
        assert [one.representative for one in members] == [False, False, True]
        entry = await store.entry(uids[0])
        assert entry is not None
        assert entry.cluster_id == cluster.cluster_id

    tell(story)


def test_cluster_splits_when_its_evidence_goes(tell: Tell) -> None:
    async def story(store: Store) -> None:
        uids = list(await feeds_with_entries(store, 3))
        await save(store, dict.fromkeys(uids, STORY))

        (left,) = await save(store, {uids[2]: "https://other.example/x"})
        rest = (await store.clusters()).items
        changes = await save(store, {}, gone=(uids[1],))

        assert (left.entry_uid, left.cluster_id) == (uids[2], None)
        assert [one.feeds for one in rest] == [2]
        assert {one.entry_uid: one.cluster_id for one in changes} == dict.fromkeys(uids[:2])
        assert (await store.clusters()).items == ()
        assert (await store.counts())["clusters"] == 0

    tell(story)


def test_link_that_a_feed_gives_to_several_entries_is_no_evidence(tell: Tell) -> None:
    async def story(store: Store) -> None:
        found = await feeds_with_entries(store, 2)
        uids = list(found)
        await save(store, dict.fromkeys(uids, STORY))
        feed = found[uids[1]]
        await poll(store, feed, 2, [an_entry("f2")], at=NOON + timedelta(hours=1))
        entries = (await store.entries(EntryFilter(feed_id=feed.id))).items
        (second,) = {one.entry_uid for one in entries} - set(uids)

        await save(store, {second: STORY})

        assert (await store.clusters()).items == ()

    tell(story)


def test_entry_that_came_in_before_the_window_is_no_candidate_and_its_sketch_goes(
    tell: Tell,
) -> None:
    async def story(store: Store) -> None:
        uids = list(await feeds_with_entries(store, 2))
        await save(store, {uids[0]: STORY})

        late = await save(store, {uids[1]: STORY}, since=NOON + timedelta(days=15))

        assert late == ()
        again = await save(store, {uids[1]: STORY})
        assert again == ()  # the sketch of the first is gone

    tell(story)


def test_list_shows_a_story_once_within_its_filter(tell: Tell) -> None:
    async def story(store: Store) -> None:
        found = await feeds_with_entries(store, 3)
        uids = list(found)
        await save(store, dict.fromkeys(uids[:2], STORY))

        async def listed(**where: Any) -> set[str]:
            page = await store.entries(EntryFilter(duplicates="cluster", **where))
            texts = await store.entry_texts(EntryFilter(duplicates="cluster", **where))
            assert len(texts.items) == len(page.items)
            return {one.entry_uid for one in page.items}

        assert await listed() == {uids[1], uids[2]}
        assert await listed(feed_id=found[uids[0]].id) == {uids[0]}
        assert await listed(tag="odd") == {uids[0], uids[2]}
        assert await listed(text="about") == {uids[1], uids[2]}
        assert await listed(include_removed=True) == {uids[1], uids[2]}
        assert len((await store.entries(EntryFilter())).items) == 3

    tell(story)


def test_cluster_is_repaired_when_a_feed_is_gone(tell: Tell) -> None:
    async def story(store: Store) -> None:
        found = await feeds_with_entries(store, 3)
        uids = list(found)
        await save(store, dict.fromkeys(uids, STORY))
        await store.remove_feed(found[uids[2]].id, ())

        looked_at = await store.repair_clusters(at=NOON, most=9, limit=9, events=EVENTS)
        nothing = await store.repair_clusters(at=NOON, most=9, limit=9, events=EVENTS)
        (cluster,) = (await store.clusters()).items
        await store.remove_feed(found[uids[1]].id, ())
        await store.repair_clusters(at=NOON, most=9, limit=9, events=EVENTS)

        assert (looked_at, nothing) == (1, 0)
        assert (cluster.feeds, cluster.representative) == (2, uids[1])
        entry = await store.entry(uids[0])
        assert entry is not None
        assert entry.cluster_id is None
        assert await store.problems() == ()

    tell(story)


def test_clusters_are_listed_page_by_page_the_last_that_grew_first(tell: Tell) -> None:
    async def story(store: Store) -> None:
        uids = list(await feeds_with_entries(store, 5))
        await save(store, dict.fromkeys(uids[:2], STORY))
        await save(store, dict.fromkeys(uids[2:], f"{STORY}/2"), at=NOON + DAY)

        first = await store.clusters(limit=1)
        second = await store.clusters(after=first.next, limit=1)

        assert [one.feeds for one in (*first.items, *second.items)] == [3, 2]
        assert second.next is None
        assert [one.feeds for one in (await store.clusters(min_feeds=3)).items] == [3]
        assert await store.cluster("nothing") is None

    tell(story)


def test_feeds_that_carry_the_same_articles_are_mirrors(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number, names in ((1, "abcd"), (2, "abcx"), (3, "xyz")):
            feed, _ = await store.add_feed(new_feed(number))
            await poll(store, feed, 1, [an_entry(name) for name in names], at=NOON)

        (pair,) = await store.mirrors(min_common=2, min_share=0.5, limit=9)

        assert (pair.feed_id, pair.other_id) == ("feed-00000001", "feed-00000002")
        assert (pair.common, pair.share) == (3, 0.75)

    tell(story)


def test_batch_of_a_job_that_was_lost_writes_nothing(tell: Tell) -> None:
    async def story(store: Store) -> None:
        uids = list(await feeds_with_entries(store, 2))
        batch = SketchBatch(
            cause="1",
            at=NOON,
            since=NOON - DAY,
            max_entries=9,
            sketches={uid: sketch(StoryText(links=(STORY,))) for uid in uids},
        )

        saved = await store.save_sketches(
            batch, events=EVENTS, step=JobStep(job_id=1, epoch=7, cursor={})
        )

        assert saved is None
        assert (await store.clusters()).items == ()

    tell(story)


def test_story_texts_have_what_entries_are_compared_by(tell: Tell) -> None:
    async def story(store: Store) -> None:
        uid = next(iter(await feeds_with_entries(store, 1)))

        (found,) = await store.story_texts([uid, "nothing"])

        assert found.entry_uid == uid
        assert (found.tags, found.wanted) == (("all", "odd"), None)
        assert found.text.links == ("https://blog.example/e1",)
        assert found.text.html == f"<p>{'word ' * 4}</p>"
        assert found.text.published == NOON

    tell(story)


def test_entries_made_to_collide_are_compared_with_few_others(tell: Tell) -> None:
    """Every key is shared by all entries: an entry costs the newest few of each key, not all of them."""

    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        other, _ = await store.add_feed(new_feed(2))
        names = [f"e{number}" for number in range(60)]
        await poll(store, feed, 1, [an_entry(name) for name in names], at=NOON)
        await poll(store, other, 1, [an_entry("x")], at=NOON)
        uids = {
            one.entry_uid: one.feed_id
            for one in (await store.entries(EntryFilter(duplicates="include"), limit=100)).items
        }
        same = sketch(StoryText(title="One title for every entry", html="the same words " * 20))
        batch = SketchBatch(
            cause="1",
            at=NOON,
            since=NOON - DAY,
            max_entries=100,
            sketches={uid: same for uid, feed_id in uids.items() if feed_id == feed.id},
        )
        await store.save_sketches(batch, events=EVENTS)
        (last,) = (uid for uid, feed_id in uids.items() if feed_id == other.id)

        changes = await store.save_sketches(
            replace(batch, cause="2", sketches={last: same}), events=EVENTS
        )

        assert changes is not None
        assert len(changes) == 2  # one entry of each feed
        (found,) = (await store.clusters()).items
        assert found.feeds == 2

    tell(story)
