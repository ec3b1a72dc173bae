"""Full texts: one per entry, with their page and event, gone with the entry; on every kind of store."""

from datetime import timedelta

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import HOUR, NOON, an_entry, blob_ref, new_feed, poll

from feedmill.engine.ports.store import Store
from feedmill.model.derived.fetched import FullText
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import JobStep
from feedmill.publish.events import event_of_full_text

DAY = timedelta(days=1)


async def a_feed(store: Store) -> Feed:
    feed, _ = await store.add_feed(new_feed())
    return feed


async def entry_of(store: Store, feed: Feed, name: str = "a", run: int = 1) -> str:
    await poll(store, feed, run, [an_entry(name)], at=NOON)
    page = await store.entries(EntryFilter(feed_id=feed.id))
    return page.items[0].entry_uid


def a_text(uid: str, feed: Feed, **changed: object) -> FullText:
    made = FullText(
        entry_uid=uid,
        feed_id=feed.id,
        url="https://paper.example/a",
        final_url="https://paper.example/a?x",
        fetched_at=NOON,
        extracted_at=NOON,
        state="extracted",
        http_status=200,
        content_type="text/html",
        body_sha256="page",
        title="A",
        author="Ada",
        published="2025-10-12",
        language="en",
        words=300,
        html="<p>x</p>",
        extractor="trafilatura",
        version="1",
        selector="article",
        canonical_url="https://paper.example/river",
    )
    return replace(made, **changed)


def test_text_is_stored_whole_with_its_page_and_event(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        uid = await entry_of(store, feed)
        found = a_text(uid, feed)
        before = await store.last_seq()

        saved = await store.save_full_text(
            found, blob=blob_ref("page"), events=(event_of_full_text(found),)
        )

        assert saved
        assert await store.full_text(uid) == found
        assert await store.full_texts_of([uid, "nobody"]) == {uid: found}
        assert (await store.counts())["fulltexts"] == 1
        (event,) = await store.events(after=before)
        assert (event.type, event.entry_uid) == ("fulltext.extracted", uid)
        assert await store.blob("page") is not None
        assert await store.last_page_at("https://paper.example/other") == NOON
        assert await store.last_page_at("https://elsewhere.example/") is None

    tell(story)


def test_second_text_takes_the_place_of_the_first(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        uid = await entry_of(store, feed)
        await store.save_full_text(a_text(uid, feed))
        failed = a_text(
            uid, feed, state="failed", reason="paywall", html=None, words=0, paywalled=True,
            extracted_at=NOON + HOUR,
        )  # fmt: skip

        await store.save_full_text(failed)

        assert await store.full_text(uid) == failed
        assert await store.full_texts_of([uid]) == {}

    tell(story)


def test_nothing_is_stored_for_an_entry_that_is_gone_or_a_job_that_was_lost(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        uid = await entry_of(store, feed)
        lost = JobStep(job_id=99, epoch=1, cursor={})

        assert not await store.save_full_text(a_text("nobody", feed))
        assert not await store.save_full_text(a_text(uid, feed), step=lost)
        assert await store.full_text(uid) is None

    tell(story)


def test_texts_are_paged_in_the_order_of_their_entries(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        other, _ = await store.add_feed(new_feed(7))
        uids = [await entry_of(store, one, name) for one, name in ((feed, "a"), (other, "b"))]
        for uid, one in zip(uids, (feed, other), strict=True):
            await store.save_full_text(a_text(uid, one))

        first = await store.full_texts(limit=1)
        rest = await store.full_texts(after=first.next, limit=1)
        own = await store.full_texts(feed_id=other.id)

        assert [one.entry_uid for one in (*first.items, *rest.items)] == uids
        assert rest.next is None
        assert [one.entry_uid for one in own.items] == uids[1:]

    tell(story)


def test_page_is_kept_for_its_age_and_the_text_goes_with_the_entry(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        uid = await entry_of(store, feed)
        await store.save_full_text(a_text(uid, feed), blob=blob_ref("page"))

        assert "page" not in await store.expired_blobs(keep_last=0, before=NOON - DAY)
        assert "page" in await store.expired_blobs(keep_last=0, before=NOON + DAY)
        await poll(store, feed, 2, [an_entry("z")], at=NOON + HOUR)
        await store.purge(before=NOON + 90 * DAY, now=NOON + 90 * DAY)
        assert await store.full_text(uid) is None
        assert await store.problems() == ()

    tell(story)


def test_merged_entries_keep_the_text_that_one_of_them_has(tell: Tell) -> None:
    async def story(store: Store) -> None:
        winner = await a_feed(store)
        loser, _ = await store.add_feed(new_feed(7))
        kept = await entry_of(store, winner)
        gone = await entry_of(store, loser)
        await store.save_full_text(a_text(gone, loser))

        await store.merge_feeds(loser.id, winner.id, at=NOON + HOUR)

        (found,) = (await store.full_texts()).items
        assert (found.entry_uid, found.html) == (kept, "<p>x</p>")
        assert await store.problems() == ()

    tell(story)


def test_address_of_the_page_is_what_its_entry_is_compared_by(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_feed(store)
        uid = await entry_of(store, feed)
        await store.save_full_text(
            a_text(uid, feed, final_url="https://paper.example/a?utm_source=x#y")
        )

        (found,) = await store.story_texts([uid])

        assert found.text.links[1:] == ("https://paper.example/a", "https://paper.example/river")

    tell(story)
