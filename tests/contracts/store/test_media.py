"""Media: wanted files and their contents, the quota, names, and what goes; on every kind of store."""

from datetime import timedelta
from hashlib import sha256

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll

from feedmill.engine.ports.store import Store
from feedmill.media.select import DOWNLOAD_KIND, media_id
from feedmill.model.derived.fetched import MediaFilter, MediaItem, WantedFile
from feedmill.model.page import EntryFilter
from feedmill.model.running.job import JobFilter, JobStep
from feedmill.publish.events import event_of_media

HOUR = timedelta(hours=1)
A, B = sha256(b"a").hexdigest(), sha256(b"b").hexdigest()


async def wanted(store: Store, *names: str, url: str = "https://cdn.example/") -> list[WantedFile]:
    """Entries of a feed, each with a file; the first is the oldest."""
    feed, _ = await store.add_feed(new_feed())
    await poll(store, feed, 1, [an_entry(name) for name in names], at=NOON)
    found = (await store.entries(EntryFilter(feed_id=feed.id))).items
    uids = {one.title: one.entry_uid for one in found}
    return [
        WantedFile(
            media_id=media_id(uids[f"About {name}"], f"{url}{name}"),
            entry_uid=uids[f"About {name}"],
            feed_id=feed.id,
            url=f"{url}{name}",
            published_at=NOON + number * HOUR,
            type="audio/mpeg",
            length=10,
            integrity="sha256-x",
        )
        for number, name in enumerate(names)
    ]


async def stored(
    store: Store, one: WantedFile, digest: str, size: int = 10, name: str = "Show/a.mp3"
) -> MediaItem:
    """The file, put in place."""
    item = await store.media_item(one.media_id)
    assert item is not None
    done = replace(
        item, state="stored", sha256=digest, size_bytes=size, ended_at=NOON, media_type="audio/mpeg"
    )
    assert await store.begin_media_file(digest, size, now=NOON)
    names = (name, f"{name} [{one.media_id}]")
    saved = await store.save_media(done, names=names, events=(event_of_media(done, at=NOON),))
    assert saved is not None
    return saved


def test_wanted_file_is_queued_once_with_its_job(tell: Tell) -> None:
    async def story(store: Store) -> None:
        files = await wanted(store, "a", "b")

        first = await store.queue_media(files, now=NOON)
        again = await store.queue_media(files, now=NOON)
        ghost = await store.queue_media([replace(files[0], entry_uid="ghost")], now=NOON)

        assert (first, again, ghost) == (2, 0, 0)
        item = await store.media_item(files[0].media_id)
        assert item is not None
        assert (item.state, item.url, item.integrity) == ("queued", files[0].url, "sha256-x")
        jobs = (await store.jobs(JobFilter(kind=DOWNLOAD_KIND))).items
        assert {one.key for one in jobs} == {one.media_id for one in files}
        assert await store.media_downloads() == {one.media_id for one in files}

    tell(story)


def test_files_are_listed_newest_first_by_feed_entry_and_state(tell: Tell) -> None:
    async def story(store: Store) -> None:
        files = await wanted(store, "a", "b", "c")
        await store.queue_media(files[::-1], now=NOON)  # the newest is wanted first
        await stored(store, files[0], A)

        first = await store.media_items(MediaFilter(), limit=2)
        rest = await store.media_items(MediaFilter(), after=first.next, limit=2)

        assert [one.url[-1] for one in (*first.items, *rest.items)] == ["c", "b", "a"]
        assert rest.next is None
        for where, found in (
            (MediaFilter(state="stored"), ["a"]),
            (MediaFilter(entry_uid=files[1].entry_uid), ["b"]),
            (MediaFilter(feed_id="nobody"), []),
            (MediaFilter(feed_id=files[0].feed_id, state="queued"), ["c", "b"]),
        ):
            page = await store.media_items(where)
            assert [one.url[-1] for one in page.items] == found

    tell(story)


def test_stored_file_has_one_content_one_event_and_a_name_of_its_own(tell: Tell) -> None:
    async def story(store: Store) -> None:
        files = await wanted(store, "a", "b")
        await store.queue_media(files, now=NOON)
        before = await store.last_seq()

        one, two = (
            await stored(store, files[0], A),
            await stored(store, files[1], A, name="SHOW/A.MP3"),
        )

        assert one.path == "Show/a.mp3"
        assert two.path == f"SHOW/A.MP3 [{files[1].media_id}]"  # case alone is no difference
        usage = await store.media_usage()
        assert (usage.files, usage.size_bytes) == (1, 10)
        assert await store.media_links() == {one.path: A, two.path: A}
        (event, _) = await store.events(after=before, limit=10)
        assert (event.type, event.data["path"], event.data["sha256"]) == (
            "media.stored",
            "Show/a.mp3",
            A,
        )
        assert await store.problems() == ()

    tell(story)


def test_quota_counts_files_and_reservations_of_living_jobs(tell: Tell) -> None:
    async def story(store: Store) -> None:
        files = await wanted(store, "a", "b", "c")
        await store.queue_media(files, now=NOON)
        await stored(store, files[0], A, size=60)

        fits = await store.reserve_media(files[1].media_id, 30, quota=100)
        anew = await store.reserve_media(files[1].media_id, 40, quota=100)
        over = await store.reserve_media(files[2].media_id, 15, quota=100)
        (job,) = [
            one
            for one in (await store.jobs(JobFilter(kind=DOWNLOAD_KIND))).items
            if one.key == files[1].media_id
        ]
        await store.cancel_job(job.id, now=NOON)
        freed = await store.reserve_media(files[2].media_id, 15, quota=100)

        assert (fits, anew, over, freed) == (0, 0, 15, 0)
        assert (await store.media_usage()).reserved_bytes == 15

    tell(story)


def test_oldest_files_come_first_and_newer_ones_are_not_pruned(tell: Tell) -> None:
    async def story(store: Store) -> None:
        files = await wanted(store, "a", "b", "c")
        await store.queue_media(files, now=NOON)
        await stored(store, files[0], A, name="1")
        await stored(store, files[1], B, name="2")
        await stored(store, files[2], A, name="3")  # the content of the oldest entry, too

        oldest = await store.oldest_media(10)
        kept = await store.prune_media(now=NOON, sha256s=[A], before=files[1].published_at)
        gone = await store.prune_media(now=NOON, sha256s=[B], before=files[2].published_at)

        assert [one.sha256 for one in oldest] == [B, A]
        assert (kept, gone) == (0, 1)
        pruned = await store.media_item(files[1].media_id)
        assert pruned is not None
        assert (pruned.state, pruned.path) == ("pruned", None)
        assert await store.release_media_files(before=NOON) == (B,)
        assert not await store.begin_media_file(B, 10, now=NOON)  # it is being deleted
        await store.forget_media_files([B])
        assert await store.begin_media_file(B, 10, now=NOON)
        assert [one.sha256 for one in await store.media_files()] == [A]

    tell(story)


def test_content_that_never_got_a_row_is_released_after_a_while(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await store.begin_media_file(A, 10, now=NOON)

        assert await store.release_media_files(before=NOON) == ()
        assert await store.release_media_files(before=NOON + HOUR) == (A,)

    tell(story)


def test_files_beyond_the_newest_entries_are_named(tell: Tell) -> None:
    async def story(store: Store) -> None:
        files = await wanted(store, "a", "b", "c")
        await store.queue_media(files, now=NOON)
        await stored(store, files[0], A)

        assert await store.media_beyond(files[0].feed_id, 2) == (files[0].media_id,)
        assert await store.media_beyond(files[0].feed_id, 3) == ()

    tell(story)


def test_lost_job_writes_nothing_and_one_that_ended_fails_its_file(tell: Tell) -> None:
    async def story(store: Store) -> None:
        (one,) = await wanted(store, "a")
        await store.queue_media([one], now=NOON)
        item = await store.media_item(one.media_id)
        assert item is not None
        lost = JobStep(job_id=1, epoch=77, cursor={})

        assert await store.save_media(replace(item, state="failed"), step=lost) is None
        assert await store.fail_media_without_job(now=NOON) == 0
        (job,) = (await store.jobs(JobFilter(kind=DOWNLOAD_KIND))).items
        await store.cancel_job(job.id, now=NOON)
        assert await store.fail_media_without_job(now=NOON) == 1
        assert await store.retry_media(one.media_id, now=NOON)
        assert not await store.retry_media("nobody", now=NOON)
        again = await store.media_item(one.media_id)
        assert again is not None
        assert (again.state, again.reason) == ("queued", None)
        await store.save_media_progress(one.media_id, 7)
        assert (await store.media_items(MediaFilter())).items[0].received_bytes == 7

    tell(story)


def test_files_go_with_the_feed_and_follow_it_in_a_merge(tell: Tell) -> None:
    async def story(store: Store) -> None:
        (one,) = await wanted(store, "a")
        await store.queue_media([one], now=NOON)
        await stored(store, one, A)
        assert not await store.retry_media(one.media_id, now=NOON)
        other, _ = await store.add_feed(new_feed(2))

        await store.merge_feeds(one.feed_id, other.id, at=NOON)
        moved = (await store.media_items(MediaFilter(feed_id=other.id))).items
        await store.remove_feed(other.id)

        assert [item.sha256 for item in moved] == [A]
        assert (await store.media_items(MediaFilter())).items == ()
        assert await store.release_media_files(before=NOON) == (A,)
        assert await store.problems() == ()

    tell(story)
