"""What every store promises about what is not an entry yet."""

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import (
    DAY,
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    blob_ref,
    new_feed,
    read,
)

from feedmill.engine.ports.store import Store
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import Feed
from feedmill.model.screening import (
    HeldEntry,
    LiveScreen,
    LiveScreenState,
    Screening,
    Topic,
    TopicSet,
)

SCREENING = Screening(
    candidate_id=0, suggestion="drop", topic=None, score=0.1, methods=("lexical",), reason="-"
)
TOPICS = TopicSet(name="own", topics=(Topic(id="lca", name="LCA"),), version="1")


def held(feed: Feed, number: int, **facts: object) -> HeldEntry:
    entry = HeldEntry(
        feed_id=feed.id,
        entry_uid=f"guid:{number}",
        dedupe_key=f"guid:{feed.feed_key}:{number}",
        content_hash=f"hash-{number}",
        held_at=NOON,
        fetch_id="fetch-1",
        body_sha256=blob_ref("held").sha256,
        slice_offset=number * 10,
        title=f"Title {number}",
    )
    return replace(entry, **facts)


async def a_feed(store: Store, number: int = 1) -> Feed:
    feed, _ = await store.add_feed(new_feed(number))
    return feed


async def hold(store: Store, feed: Feed, run: int, *entries: HeldEntry) -> None:
    refresh = a_refresh(feed, run, at=NOON + run * HOUR)
    await store.commit(replace(refresh, held=entries))


def test_held_entries_come_back_as_they_were_the_oldest_first(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, other = await a_feed(store), await a_feed(store, 2)
        entries = [held(feed, number, screening=SCREENING) for number in (1, 2, 3)]
        await hold(store, feed, 1, *entries)
        await hold(store, other, 1, held(other, 1))

        first = await store.held(limit=2)
        rest = await store.held(after=first.next, limit=5)
        own = await store.held(feed_id=feed.id)

        assert first.items == tuple(entries[:2])
        assert rest.items == (entries[2], held(other, 1))
        assert (rest.next, own.items) == (None, tuple(entries))

    tell(story)


def test_another_version_takes_the_place_of_the_first_and_keeps_its_time(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        await hold(store, feed, 1, held(feed, 1, screening=SCREENING))

        newer = held(feed, 1, content_hash="other", fetch_id="fetch-2", held_at=NOON + DAY)
        await hold(store, feed, 2, newer)

        (found,) = (await store.held()).items
        assert found == replace(newer, held_at=NOON, screening=SCREENING)

    tell(story)


def test_what_was_dropped_is_not_listed_but_still_known(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        await hold(store, feed, 1, held(feed, 1), held(feed, 2))

        assert await store.reject_held(["guid:1", "guid:9"]) == 1
        assert await store.reject_held(["guid:1"]) == 0
        await hold(store, feed, 2, held(feed, 1, content_hash="other"))

        assert [one.entry_uid for one in (await store.held()).items] == ["guid:2"]
        standing = await store.live_screen_state(feed.id)
        assert standing == LiveScreenState(held={"guid:1": "other", "guid:2": "hash-2"})

    tell(story)


def test_released_entries_wait_no_longer(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        await hold(store, feed, 1, held(feed, 1), held(feed, 2))

        refresh = a_refresh(feed, 2, at=NOON + 2 * HOUR)
        await store.commit(replace(refresh, released=("guid:1",)))

        assert [one.entry_uid for one in (await store.held()).items] == ["guid:2"]

    tell(story)


def test_what_a_removed_feed_holds_goes_with_it(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        await hold(store, feed, 1, held(feed, 1))

        await store.remove_feed(feed.id)

        assert (await store.held()).items == ()

    tell(story)


def test_standing_screens_are_kept_until_they_are_removed(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        by_tag = LiveScreen(id="b", created_at=NOON, tag="green")
        own = LiveScreen(
            id="a",
            created_at=NOON + HOUR,
            feed_id=feed.id,
            keep_at=0.7,
            method="lexical",
            topics=TOPICS,
        )
        await store.add_screen(own)
        await store.add_screen(by_tag)

        assert await store.screens() == (by_tag, own)
        state = await store.live_screen_state(feed.id)
        assert state.screens == (by_tag, own)
        assert (await store.load_existing(feed.id, (), ())).screening == state
        assert await store.remove_screen("b")
        assert not await store.remove_screen("b")
        assert await store.screens() == (own,)

    tell(story)


def test_an_insertion_leaves_the_state_of_its_feed_alone(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        changes = await read(store, feed, [an_entry("one")])
        moved = replace(feed, title="Other", next_poll_at=NOON + DAY, last_result="inserted")
        refresh = a_refresh(moved, 1, at=NOON + HOUR, changes=changes, whole=False)

        await store.commit(replace(refresh, entries_only=True, decision=None))

        assert await store.feed(feed.id) == feed
        assert (await store.counts())["entries"] == 1

    tell(story)


def test_a_feed_can_be_added_paused(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(replace(new_feed(), paused=True))

        assert feed.paused
        assert await store.feed(feed.id) == feed
        assert await store.next_due_at() is None

    tell(story)


def test_bodies_of_collected_windows_and_held_entries_are_not_spent(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        young, old, waiting = (blob_ref(name) for name in ("young", "old", "held"))
        for blob, at in ((young, NOON), (old, NOON - 100 * DAY), (waiting, NOON - 100 * DAY)):
            document = CollectedDocument(
                source=0,
                url="https://paper.example/feed",
                final_url="https://paper.example/feed",
                fetched_at=at,
                body_sha256=blob.sha256,
                fetch_id=f"fetch-{blob.sha256}",
            )
            await store.save_collected(document, blob)
        await hold(store, feed, 1, held(feed, 1))

        spent = await store.expired_blobs(keep_last=50, before=NOON - 90 * DAY)
        await store.delete_blobs(spent)
        gone = await store.purge(before=NOON - 30 * DAY, now=NOON)

        assert spent == (old.sha256,)
        assert gone["collected"] == 1
        assert await store.blob(young.sha256) == young

    tell(story)
