"""What every store promises, whatever it is made of."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import json
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import (
    DAY,
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    blob_ref,
    claim_all,
    new_feed,
    poll,
    read,
)

from feedmill.engine.ports.store import Store
from feedmill.errors import UsageError
from feedmill.model.entry import Author, Entry, EntryEnclosure
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed, FeedOverrides, HostPace, Lane, MoveCandidate
from feedmill.model.fetch import Hop, Validators
from feedmill.model.identity import IdentityKey, Removed
from feedmill.model.page import EntryFilter
from feedmill.model.refresh import StoredDocument
from feedmill.model.schedule import Cadence, Hint, Hints, ScheduleState, StoredArrival

MINUTE = timedelta(minutes=1)
PACE = HostPace(gap_ms=1_000)
FILTERED = (  # and the entries that are found, in their order
    (EntryFilter(feed_id="feed-00000001"), "cba"),
    (EntryFilter(feed_id="nobody"), ""),
    (EntryFilter(feed_ids=("feed-00000002", "feed-00000001")), "dcba"),
    (EntryFilter(feed_ids=("feed-00000002", "nobody")), "d"),
    (EntryFilter(feed_ids=()), ""),
    (EntryFilter(feed_ids=("feed-00000001",), order="published"), "cba"),
    (EntryFilter(ascending=True), "abcd"),
    (EntryFilter(order="published", ascending=True), "abcd"),
    (EntryFilter(author="Ann"), "b"),
    (EntryFilter(author="b@mail.example"), "b"),
    (EntryFilter(author="An"), ""),
    (EntryFilter(language="EN"), "dc"),
    (EntryFilter(language="en-gb"), "d"),
    (EntryFilter(language="e"), ""),
    (EntryFilter(has_enclosure=True), "a"),
    (EntryFilter(has_enclosure=False), "dcb"),
    (EntryFilter(published_since=NOON - HOUR), "dc"),
    (EntryFilter(published_until=NOON - HOUR), "ba"),
    (EntryFilter(tag="odd"), "cba"),
    (EntryFilter(category="b"), "b"),
    (EntryFilter(since=NOON + HOUR), "dcb"),
    (EntryFilter(until=NOON + HOUR), "a"),
    (EntryFilter(text="ABOUT"), "dcba"),
    (EntryFilter(text="bout"), ""),
    (EntryFilter(text="c", since=NOON), "c"),
)


def an_event(feed: Feed | str, kind: str = "feed.added") -> NewEvent:
    feed_id = feed if isinstance(feed, str) else feed.id
    return NewEvent(type=kind, feed_id=feed_id, occurred_at=NOON)  # type: ignore[arg-type]  # spelt by the tests


async def a_feed(store: Store, number: int = 1, *, host: str | None = None) -> Feed:
    feed, _ = await store.add_feed(new_feed(number, host=host))
    return feed


class TestFeeds:
    def test_a_new_feed_is_found_by_its_id_and_every_address(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            new = new_feed()

            feed, created = await store.add_feed(new, [an_event(new.id)])

            assert created
            assert feed.feed_key == new.url
            assert await store.feed(new.id) == feed
            assert await store.find_feed(["https://nobody.example/", new.aliases[0]]) == feed
            assert await store.aliases(new.id) == (new.url, *new.aliases)
            assert [event.type for event in await store.events(after=0)] == ["feed.added"]

        tell(story)

    def test_a_feed_known_by_an_alias_is_not_added_twice_and_learns_the_new_address(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            first = await a_feed(store)
            again = replace(new_feed(2), aliases=(first.url,))

            feed, created = await store.add_feed(again, [an_event(again.id)])

            assert (feed, created) == (first, False)
            assert await store.find_feed([again.url]) == first
            assert await store.last_seq() == 0

        tell(story)

    def test_feeds_are_listed_page_by_page_in_the_order_of_their_arrival(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            for number in range(1, 8):
                await a_feed(store, number)

            first = await store.feeds(limit=3)
            rest = await store.feeds(after=first.next, limit=10)
            odd = await store.feeds(tag="odd")

            assert [feed.id[-1] for feed in first.items] == ["1", "2", "3"]
            assert [feed.id[-1] for feed in rest.items] == ["4", "5", "6", "7"]
            assert rest.next is None
            assert [feed.id[-1] for feed in odd.items] == ["1", "3", "5", "7"]

        tell(story)

    def test_a_cursor_of_nowhere_is_refused(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            with pytest.raises(UsageError, match="no cursor"):
                await store.entries(EntryFilter(), after="x'; --")

        tell(story)

    def test_everything_a_poll_carries_on_is_remembered(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            after = replace(
                feed,
                type="atom",
                title="Título",
                site_url="https://site.example/",
                validators=Validators(
                    etag='W/"\xe9"', last_modified="yesterday", url=feed.url, vary=(("a", "b"),)
                ),
                schedule=ScheduleState(
                    interval_sec=1_234.5,
                    consecutive_failures=3,
                    health="suspect",
                    gone_seen_at=NOON,
                    cadence=Cadence(ewma_sec=77.5, last_published_at=NOON),
                ),
                hints=Hints(ttl_sec=Hint(value=60, source="ttl", seen_at=NOON)),
                reason="not-modified",
                last_decision_at=NOON,
                last_fetch_at=NOON,
                last_success_at=NOON,
                last_result="unchanged",
                last_status=304,
                last_detail="words",
                new_entries_last_fetch=4,
                body_sha256="ab",
                document_fetch_id="f",
                reader_version="r",
                same_bodies=2,
                self_url="https://self.example/",
                hubs=("https://hub.example/",),
                ignored_guids=("1",),
                ignored_links=("l",),
                move=MoveCandidate(
                    url="https://new.example/",
                    source="redirect",
                    first_seen_at=NOON,
                    last_seen_at=NOON,
                ),
                next_poll_at=NOON + HOUR,
            )

            await store.commit(replace(a_refresh(feed, 1, at=NOON), feed=after))

            assert await store.feed(feed.id) == after

        tell(story)

    def test_a_pause_and_a_poll_at_the_same_time_do_not_undo_each_other(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            overrides = FeedOverrides(user_agent="me", password="secret")
            polled = a_refresh(feed, 1, at=NOON)

            paused = replace(feed, paused=True, tags=("new",), overrides=overrides)
            await store.change_feed(paused)
            await store.commit(polled)

            now = await store.feed(feed.id)
            assert now is not None
            assert (now.paused, now.tags, now.overrides) == (True, ("new",), overrides)
            assert now.last_result == "unchanged"
            assert (await store.feeds(tag="all")).items == ()
            assert await claim_all(store, now=NOON + DAY) == ()

        tell(story)

    def test_a_resumed_feed_is_polled_again(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await store.change_feed(replace(feed, paused=True))
            assert await claim_all(store) == ()

            await store.change_feed(feed)

            assert len(await claim_all(store)) == 1

        tell(story)

    def test_a_moved_feed_keeps_its_key_its_old_address_and_changes_its_lane(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            moved = replace(feed, url="https://elsewhere.example/feed", next_poll_at=NOON)

            await store.commit(replace(a_refresh(feed, 1, at=NOON), feed=moved))

            assert await store.find_feed([feed.url]) == await store.find_feed([moved.url]) == moved
            assert moved.feed_key == feed.url
            (claim,) = await claim_all(store, now=NOON + HOUR)
            assert claim.lane.key == "elsewhere.example"

        tell(story)

    def test_a_feed_never_moves_onto_the_address_of_another(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed, other = await a_feed(store, 1), await a_feed(store, 2)

            moved = replace(feed, url=other.url)
            await store.commit(replace(a_refresh(feed, 1, at=NOON), feed=moved))

            kept = await store.feed(feed.id)
            assert kept is not None
            assert kept.url == feed.url
            assert await store.find_feed([other.url]) == other

        tell(story)

    def test_a_removed_feed_takes_its_entries_along_and_leaves_its_events(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)

            assert await store.remove_feed(feed.id, [an_event(feed, "feed.removed")])

            assert not await store.remove_feed(feed.id)
            assert await store.feed(feed.id) is None
            assert (await store.entries(EntryFilter())).items == ()
            counts = await store.counts()
            assert (counts["feeds"], counts["identities"], counts["fetches"]) == (0, 0, 0)
            kinds = [event.type for event in await store.events(after=0)]
            assert kinds == ["new_entry", "new_entry", "feed.removed"]

        tell(story)

    def test_a_refresh_of_a_removed_feed_writes_nothing(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            changes = await read(store, feed, [an_entry("a")])
            await store.remove_feed(feed.id)

            done = await store.commit(a_refresh(feed, 1, at=NOON, changes=changes))

            assert done.fenced
            assert await store.last_seq() == 0

        tell(story)


class TestSchedule:
    def test_a_claim_takes_all_due_feeds_of_a_host_and_persists_their_next_run(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feeds = [await a_feed(store, number, host="one.example") for number in (1, 2)]
            late = new_feed(3, host="one.example", at=NOON + HOUR)
            await store.add_feed(late)

            (claim,) = await claim_all(store)

            assert claim.lane.key == "one.example"
            assert [feed.id for feed in claim.feeds] == [feed.id for feed in feeds]
            assert claim.scheduled_at == (NOON, NOON)
            provisional = claim.until + timedelta(seconds=900)  # a request may be that late
            assert {feed.next_poll_at for feed in claim.feeds} == {provisional}
            stored = await store.feed(feeds[0].id)
            assert stored is not None
            assert stored.next_poll_at == provisional

        tell(story)

    def test_a_lane_is_held_by_one_owner_until_its_lease_ends(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await a_feed(store)
            (first,) = await claim_all(store, "one")

            assert await claim_all(store, "two") == ()
            later = NOON + HOUR
            (second,) = await claim_all(store, "two", now=later)

            assert second.lane.epoch > first.lane.epoch
            assert not await store.renew(first.lane, owner="one", until=later + HOUR)
            assert await store.renew(second.lane, owner="two", until=later + HOUR)
            assert await claim_all(store, "one", now=later + MINUTE * 30) == ()

        tell(story)

    def test_a_lane_that_is_held_longer_takes_the_runs_of_its_feeds_along(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            asked, waiting = [await a_feed(store, n, host="one.example") for n in (1, 2)]
            (claim,) = await claim_all(store)
            until = claim.until + HOUR

            assert await store.renew(claim.lane, owner="me", until=until, feeds=[waiting.id])

            runs = [await store.feed(feed.id) for feed in (asked, waiting)]
            assert [run.next_poll_at for run in runs if run] == [
                claim.until + timedelta(seconds=900),
                until + timedelta(seconds=900),
            ]

        tell(story)

    def test_a_commit_under_a_lost_lane_writes_nothing(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (first,) = await claim_all(store, "one")
            await claim_all(store, "two", now=NOON + HOUR)
            changes = await read(store, feed, [an_entry("a")])

            late = a_refresh(feed, 1, at=NOON + HOUR, lane=first.lane, changes=changes)
            done = await store.commit(late)

            assert done.fenced
            counts = await store.counts()
            assert (counts["entries"], counts["fetches"], counts["events"]) == (0, 0, 0)
            assert counts["blobs"] == 0

        tell(story)

    def test_a_release_after_the_lane_was_lost_changes_nothing(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await a_feed(store)
            (first,) = await claim_all(store, "one")
            (second,) = await claim_all(store, "two", now=NOON + HOUR)

            await store.release(first.lane, PACE, now=NOON + HOUR)

            assert await claim_all(store, "three", now=NOON + HOUR) == ()
            assert await store.renew(second.lane, owner="two", until=NOON + HOUR * 2)

        tell(story)

    def test_a_run_is_committed_once(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (claim,) = await claim_all(store)
            changes = await read(store, feed, [an_entry("a")])
            first = a_refresh(feed, 1, at=NOON, lane=claim.lane, changes=changes)
            again = a_refresh(feed, 2, at=NOON, lane=claim.lane, changes=changes)

            done, repeated = await store.commit(first), await store.commit(again)

            assert not done.duplicate
            assert repeated.duplicate
            assert await store.last_seq() == 1

        tell(story)

    def test_a_released_lane_waits_for_its_feeds_and_for_its_pace(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (claim,) = await claim_all(store)
            refresh = a_refresh(feed, 1, at=NOON, scheduled_at=NOON, lane=claim.lane)
            await store.commit(refresh)
            due_at = refresh.feed.next_poll_at
            pace = HostPace(
                gap_ms=2_000,
                next_ok_at=due_at + HOUR,
                blocked_reason="rate-limited",
                slow_down=4.0,
                failures=2,
                failing_with="rate-limited",
                limited_urls=((feed.url, due_at),),
            )

            await store.release(claim.lane, pace, now=NOON)

            assert await store.next_due_at() == due_at + HOUR
            assert await claim_all(store, now=due_at + MINUTE) == ()
            (again,) = await claim_all(store, now=due_at + HOUR)
            assert again.lane.pace == pace
            assert again.scheduled_at == (due_at,)

        tell(story)

    def test_the_last_commit_of_a_lane_gives_it_back_with_its_pace(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (claim,) = await claim_all(store)
            pace = HostPace(gap_ms=2_000, slow_down=4.0)
            refresh = a_refresh(feed, 1, at=NOON, scheduled_at=NOON, lane=claim.lane)
            due_at = refresh.feed.next_poll_at

            await store.commit(replace(refresh, release=pace))

            assert await store.next_due_at() == due_at
            (again,) = await claim_all(store, now=due_at)
            assert again.lane.pace == pace
            assert again.scheduled_at == (due_at,)

        tell(story)

    def test_a_commit_that_writes_nothing_gives_no_lane_back(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (first,) = await claim_all(store)
            (second,) = await claim_all(store, "another", now=NOON + 2 * HOUR)
            late = a_refresh(feed, 1, at=NOON, scheduled_at=NOON, lane=first.lane)

            done = await store.commit(replace(late, release=PACE))

            assert done.fenced
            assert await claim_all(store, now=NOON + 2 * HOUR) == ()
            mine = a_refresh(feed, 2, at=NOON + 2 * HOUR, lane=second.lane)
            assert not (await store.commit(mine)).fenced

        tell(story)

    def test_a_poll_that_read_no_document_leaves_the_title_alone(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (claim,) = await claim_all(store)
            named = replace(feed, title="A title")
            await store.commit(a_refresh(named, 1, at=NOON, changes=await read(store, named, [])))

            await store.commit(a_refresh(named, 2, at=NOON + MINUTE, lane=claim.lane))

            found = await store.feed(feed.id)
            assert found is not None
            assert found.title == "A title"

        tell(story)

    def test_a_deferred_feed_is_due_when_it_was(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (claim,) = await claim_all(store)

            deferred = [(feed.id, claim.scheduled_at[0])]
            await store.release(claim.lane, PACE, now=NOON, deferred=deferred)

            (again,) = await claim_all(store)
            assert again.scheduled_at == (NOON,)

        tell(story)

    def test_an_abandoned_claim_costs_an_interval_and_never_an_early_poll(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            await a_feed(store)
            (dead,) = await claim_all(store, "dead")

            due_at = dead.until + MINUTE * 15
            assert await claim_all(store, now=dead.until) == ()
            assert await claim_all(store, now=due_at - MINUTE) == ()
            (taken,) = await claim_all(store, now=due_at)

            assert taken.scheduled_at == (due_at,)
            assert taken.lane.epoch > dead.lane.epoch

        tell(story)

    def test_a_clock_that_was_set_back_keeps_every_distance_to_the_last_fetch(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            ahead = NOON + DAY
            feed = await poll(store, feed, 1, [an_entry("a")], at=ahead)
            (lent,) = await claim_all(store, "dead", now=feed.next_poll_at)
            wait = feed.next_poll_at - ahead

            assert await store.follow_clock(ahead, lease_sec=60) == 0
            assert await store.follow_clock(NOON, lease_sec=60) == 1

            after = await store.feed(feed.id)
            assert after is not None
            assert after.last_fetch_at == NOON
            provisional = lent.feeds[0].next_poll_at
            assert after.next_poll_at == provisional - DAY
            assert provisional - ahead > wait
            due_at = await store.next_due_at()
            assert due_at is not None
            assert due_at <= NOON + MINUTE
            assert await store.follow_clock(NOON, lease_sec=60) == 0

        tell(story)

    def test_a_feed_whose_hub_tells_everything_is_still_polled(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            new = new_feed()
            pushed = replace(new, overrides=replace(new.overrides, push_only=True))
            feed, _ = await store.add_feed(pushed)

            assert await store.make_due([feed.id], NOON) == 1
            assert (await store.counts())["paused"] == 0
            assert len(await claim_all(store)) == 1

        tell(story)

    def test_claims_are_bounded_in_lanes_and_in_feeds_of_a_lane(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            for number in range(9):
                await a_feed(store, number, host=f"host{number % 3}.example")

            claims = await claim_all(store, lanes=2, feeds=2)
            rest = await claim_all(store, "other", lanes=9, feeds=9)

            assert [len(claim.feeds) for claim in claims] == [2, 2]
            assert [len(claim.feeds) for claim in rest] == [3]

        tell(story)

    def test_feeds_are_made_due_at_once_unless_paused(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feeds = [await a_feed(store, number) for number in (1, 2, 3)]
            for claim in await claim_all(store):
                await store.release(claim.lane, PACE, now=NOON)
            await store.change_feed(replace(feeds[2], paused=True))
            assert await claim_all(store, now=NOON + MINUTE) == ()

            one = await store.make_due([feeds[0].id], NOON + MINUTE)
            (claim,) = await claim_all(store, now=NOON + MINUTE)
            every = await store.make_due(None, NOON + MINUTE * 1.5)

            assert (one, every) == (1, 2)
            assert claim.feeds[0].id == feeds[0].id
            (other,) = await claim_all(store, now=NOON + MINUTE * 1.5)  # the first is still leased
            assert other.feeds[0].id == feeds[1].id

        tell(story)

    def test_an_empty_store_is_never_due(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            assert await store.next_due_at() is None
            feed = await a_feed(store)
            assert await store.next_due_at() == NOON
            await store.remove_feed(feed.id)
            assert await claim_all(store) == ()
            assert await store.next_due_at() is None

        tell(story)


class TestEntries:
    def test_an_entry_comes_back_as_it_was_stored(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            entry = an_entry("a")

            await poll(store, feed, 1, [entry], at=NOON)

            (stored,) = (await store.entries(EntryFilter())).items
            assert stored == await store.entry(stored.entry_uid)
            assert (stored.guid, stored.link, stored.title) == (entry.guid, entry.link, entry.title)
            assert (stored.content, stored.categories) == (entry.content, entry.categories)
            assert (stored.published, stored.published_source) == (NOON, "published")
            assert (stored.first_seen, stored.last_seen, stored.seen_count) == (NOON, NOON, 1)
            piece = entry.slice
            assert piece is not None
            (ref,) = stored.raw_refs
            assert (ref.offset, ref.length) == (piece.offset, piece.length)
            fetch = await store.fetch(ref.fetch_id)
            assert fetch is not None
            assert fetch.body_sha256 is not None
            assert await store.blob(fetch.body_sha256) == blob_ref(fetch.body_sha256)

        tell(story)

    def test_a_body_and_the_rows_of_the_document_before_are_found_in_one_look(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            assert await store.stored_document(feed.id, "none") == StoredDocument()

            feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)

            rows = await store.current_document(feed.id, with_keys=False)
            kept = (await store.fetches(feed.id)).items[0].body_sha256 or ""
            assert len(rows) == 2
            for digest in (kept, "none"):
                found = await store.stored_document(feed.id, digest)
                assert found == StoredDocument(blob=await store.blob(digest), rows=rows)
            assert await store.blob(kept) is not None

        tell(story)

    def test_ingesting_the_same_document_again_inserts_nothing_and_counts_the_sighting(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            entries = [an_entry(name) for name in "abc"]
            feed = await poll(store, feed, 1, entries, at=NOON)
            feed = await poll(store, feed, 2, entries, at=NOON + HOUR)

            await poll(store, feed, 3, None, at=NOON + HOUR * 2)

            page = await store.entries(EntryFilter())
            assert {one.seen_count for one in page.items} == {3}
            assert {one.last_seen for one in page.items} == {NOON + HOUR * 2}
            assert await store.last_seq() == 3

        tell(story)

    def test_an_entry_that_left_the_document_is_no_longer_seen_and_may_come_back(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
            feed = await poll(store, feed, 2, None, at=NOON + HOUR)
            feed = await poll(store, feed, 3, [an_entry("b")], at=NOON + HOUR * 2)
            feed = await poll(store, feed, 4, None, at=NOON + HOUR * 3)
            by_title = {one.title: one for one in (await store.entries(EntryFilter())).items}
            gone, here = by_title["About a"], by_title["About b"]

            assert (gone.seen_count, gone.last_seen) == (2, NOON + HOUR)
            assert (here.seen_count, here.last_seen) == (4, NOON + HOUR * 3)
            names = {row.guid for row in await store.current_document(feed.id)}
            assert names == {"tag:blog.example,2026:b"}

            await poll(store, feed, 5, [an_entry("a")], at=NOON + HOUR * 4)
            back = await store.entry(gone.entry_uid)
            assert back is not None
            assert (back.seen_count, back.last_seen) == (3, NOON + HOUR * 4)
            assert await store.last_seq() == 2

        tell(story)

    def test_a_part_of_a_document_touches_only_what_it_shows(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)

            await poll(store, feed, 2, [an_entry("a")], at=NOON + HOUR, whole=False)

            by_title = {one.title: one for one in (await store.entries(EntryFilter())).items}
            assert by_title["About a"].seen_count == 2
            assert by_title["About a"].last_seen == NOON + HOUR
            assert by_title["About b"].seen_count == 1
            assert len(await store.current_document(feed.id)) == 2

        tell(story)

    def test_a_changed_entry_keeps_its_row_and_gains_a_revision(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 1, [an_entry("a", "first", published=None)], at=NOON)
            (before,) = (await store.entries(EntryFilter())).items

            changed = an_entry("a", "second", published=None)
            await poll(store, feed, 2, [changed], at=NOON + HOUR)

            (after,) = (await store.entries(EntryFilter())).items
            assert after.entry_uid == before.entry_uid
            assert (after.summary, after.revisions, after.seen_count) == ("second", 1, 2)
            assert after.first_seen == after.published_effective == NOON
            (revision,) = await store.revisions(after.entry_uid)
            assert (revision.number, revision.summary) == (1, "first")
            assert revision.replaced_at == NOON + HOUR
            assert set(revision.changed) == {"summary", "content"}
            assert revision.content_hash == before.content_hash

        tell(story)

    def test_a_removed_entry_is_marked_hidden_and_comes_back_when_it_is_seen(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
            row = next(r for r in await store.current_document(feed.id) if r.guid[-1:] == "a")  # type: ignore[index]  # every row here has one
            changes = await read(store, feed, [an_entry("b")])
            refresh = a_refresh(feed, 2, at=NOON + HOUR, changes=changes)
            gone = Removed(known=row, reason="tombstone", when=NOON + MINUTE, comment="spam")

            await store.commit(replace(refresh, removed=(gone,)))

            assert len((await store.entries(EntryFilter())).items) == 1
            assert len((await store.entries(EntryFilter(include_removed=True))).items) == 2
            hidden = await store.entry(row.entry_uid)
            assert hidden is not None
            assert hidden.removed_at == NOON + MINUTE
            (known,) = await store.known(feed.id, row.keys, ())
            assert known.removed

            await poll(store, feed, 3, [an_entry("a"), an_entry("b")], at=NOON + HOUR * 2)
            back = await store.entry(row.entry_uid)
            assert back is not None
            assert back.removed_at is None

        tell(story)

    def test_two_refreshes_that_add_the_same_entry_give_one_row_and_one_event(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            changes = await read(store, feed, [an_entry("a")])

            await store.commit(a_refresh(feed, 1, at=NOON, changes=changes))
            done = await store.commit(a_refresh(feed, 2, at=NOON + HOUR, changes=changes))

            assert (done.fenced, done.duplicate) == (False, False)
            (entry,) = (await store.entries(EntryFilter())).items
            assert entry.seen_count == 2
            assert await store.last_seq() == 1

        tell(story)

    def test_entries_are_filtered(self, tell: Tell) -> None:
        """One store is asked for all: filling it for each row would cost a hundred times the question."""

        async def story(store: Store) -> None:
            one, two = await a_feed(store, 1), await a_feed(store, 2)
            told: dict[str, dict[str, Any]] = {
                "a": {"enclosures": (EntryEnclosure(url="https://a.example/1"),)},
                "b": {"authors": (Author(name="Ann", email="b@mail.example"), Author(name="Bo"))},
                "c": {"language": "en"},
                "d": {"language": "en-GB"},
            }
            for run, (name, fields) in enumerate(told.items()):
                entry = an_entry(name, published=NOON + HOUR * (run - 3))
                feed = two if name == "d" else one
                feed = await poll(
                    store, feed, run, [replace(entry, **fields)], at=NOON + HOUR * run
                )
                one = one if name == "d" else feed

            for where, names in FILTERED:
                page = await store.entries(where)
                found = "".join((entry.title or "")[-1] for entry in page.items)
                assert (where, found) == (where, names)

        tell(story)

    def test_entries_as_texts_are_what_an_encoder_makes_of_them(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            one, two = await a_feed(store, 1), await a_feed(store, 2)
            every = "".join(map(chr, (*range(1, 0x2030), 0xFEFF, 0xFFFD, 0x1F600)))
            odd = replace(
                an_entry("odd", every.replace("\x7f", ""), published=NOON.replace(year=1969)),
                authors=(Author(name='A "B" \\ C', email=None, uri="x:/\u2028"),),
                enclosures=(EntryEnclosure(url="https://a.example/1", length=2**40),),
                updated=NOON + timedelta(microseconds=7),
                language="en",
            )
            plain = Entry(title="", content=None, published_effective=None)
            one = await poll(store, one, 1, [odd, plain, an_entry("b")], at=NOON)
            await poll(store, one, 2, None, at=NOON + HOUR + timedelta(microseconds=120))
            await poll(store, two, 1, [an_entry("d", published=None)], at=NOON + DAY)
            for where in (
                EntryFilter(),
                EntryFilter(order="published", ascending=True),
                EntryFilter(text="about"),
                EntryFilter(duplicates="hide"),
            ):
                after: str | None = None
                while True:
                    values = await store.entries(where, after=after, limit=2)
                    texts = await store.entry_texts(where, after=after, limit=2)

                    assert texts.items == tuple(map(json.encode, values.items))
                    assert texts.next == values.next
                    after = values.next
                    if after is None:
                        break

        tell(story)

    def test_entries_that_were_shown_as_texts_are_shown_as_they_are_now(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            async def compare() -> None:
                where = EntryFilter(include_removed=True, duplicates="include")
                expected = tuple(map(json.encode, (await store.entries(where)).items))
                assert (await store.entry_texts(where)).items == expected

            one, two = await a_feed(store, 1), await a_feed(store, 2)
            shown = [an_entry(name) for name in "abc"]
            one = await poll(store, one, 1, shown, at=NOON)
            await compare()
            one = await poll(store, one, 2, None, at=NOON + HOUR)  # confirmed
            await compare()
            image = replace(shown[0], image="https://a.example/new.png")
            one = await poll(store, one, 3, [image, *shown[1:]], at=NOON + HOUR * 2)  # revised
            await compare()
            one = await poll(store, one, 4, shown[2:], at=NOON + HOUR * 3)  # left the document
            await compare()
            await store.change_feed(replace(one, title="Another title"))
            await compare()
            two = await poll(store, two, 1, [shown[0], an_entry("d")], at=NOON - HOUR)  # duplicates
            await compare()
            await store.merge_feeds(two.id, one.id, at=NOON + DAY)
            await compare()
            await store.remove_feed(one.id)

            assert (await store.entry_texts(EntryFilter())).items == ()

        tell(story)

    def test_long_page_of_texts_has_every_entry_and_its_cursor(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, 1, [an_entry(f"{n:03d}") for n in range(206)], at=NOON)

            for limit in (1, 100, 101, 205, 206, 1_000):
                values = await store.entries(EntryFilter(), limit=limit)
                texts = await store.entry_texts(EntryFilter(), limit=limit)

                assert texts.items == tuple(map(json.encode, values.items))
                assert texts.next == values.next

        tell(story)

    def test_pages_of_entries_neither_repeat_nor_leave_out(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, 1, [an_entry(f"{n:02d}") for n in range(25)], at=NOON)

            seen, after = [], None
            while True:
                page = await store.entries(EntryFilter(), after=after, limit=10)
                seen += [entry.entry_uid for entry in page.items]
                after = page.next
                if after is None:
                    break

            assert len(seen) == len(set(seen)) == 25

        tell(story)

    def test_of_entries_that_came_in_together_a_feed_shows_the_newest_first(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            dated = [an_entry(f"{day}", published=NOON - DAY * day) for day in (1, 3, 2)]
            feed = await poll(store, feed, 1, dated, at=NOON)
            late = an_entry("9", published=NOON - DAY * 9)  # old news that came in last
            await poll(store, feed, 2, [*dated, late], at=NOON + HOUR)

            page = await store.entries(EntryFilter())

            assert [(entry.title or "")[-1] for entry in page.items] == ["9", "1", "2", "3"]
            page = await store.entries(EntryFilter(order="published"))
            assert [(entry.title or "")[-1] for entry in page.items] == ["1", "2", "3", "9"]

        tell(story)

    @pytest.mark.parametrize(
        "where",
        [
            EntryFilter(),
            EntryFilter(ascending=True),
            EntryFilter(order="published"),
            EntryFilter(order="published", ascending=True, duplicates="hide"),
        ],
    )
    def test_pages_of_entries_are_the_same_read_backwards(
        self, tell: Tell, where: EntryFilter
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, 1, [an_entry(f"{n:02d}") for n in range(25)], at=NOON)
            first = await store.entries(where, limit=10)
            second = await store.entries(where, after=first.next, limit=10)
            third = await store.entries(where, after=second.next, limit=10)

            back = await store.entries(where, before=third.previous, limit=10)
            front = await store.entries(where, before=back.previous, limit=10)

            assert (back.items, back.next) == (second.items, second.next)
            assert (front.items, front.next) == (first.items, first.next)
            assert (first.previous, front.previous) == (None, None)
            assert third.next is None

        tell(story)

    def test_a_page_behind_a_cursor_gains_nothing_when_entries_come_in(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            old = [an_entry(f"{n:02d}") for n in range(20)]
            feed = await poll(store, feed, 1, old, at=NOON)
            where = EntryFilter()
            first = await store.entries(where, limit=10)
            page = await store.entries(where, after=first.next, limit=10)
            backdated = an_entry("zz", published=NOON - DAY * 99)

            await poll(store, feed, 2, [backdated, *old], at=NOON + HOUR)

            again = await store.entries(where, after=first.next, limit=10)
            uids = [entry.entry_uid for entry in page.items]
            assert [entry.entry_uid for entry in again.items] == uids
            front = await store.entries(where, before=page.previous, limit=20)
            assert len(front.items) == 11
            assert front.items[0].title == "About zz"

        tell(story)

    def test_there_is_nothing_in_front_of_the_newest_entry(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, 1, [an_entry("a")], at=NOON)

            page = await store.entries(EntryFilter(), before="253402300799000000.1.1")

            assert (page.items, page.next, page.previous) == ((), None, None)

        tell(story)


class TestIdentity:
    def test_rows_are_known_by_any_key_and_by_their_slice(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed, other = await a_feed(store, 1), await a_feed(store, 2)
            await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
            rows = {row.guid: row for row in await store.current_document(feed.id)}
            a = rows["tag:blog.example,2026:a"]
            stranger = IdentityKey(type="guid", value="nobody")

            for key in a.keys:
                assert await store.known(feed.id, [key, stranger], ()) == (a,)
            assert a.slice_digest is not None
            assert await store.known(feed.id, (), [a.slice_digest]) == (a,)
            assert await store.known(other.id, (), [a.slice_digest]) == ()

        tell(story)

    def test_many_keys_are_asked_for_at_once(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            names = [f"entry{number:04d}" for number in range(700)]
            await poll(store, feed, 1, [an_entry(name) for name in names], at=NOON)
            rows = await store.current_document(feed.id)
            keys = [key for row in rows for key in row.keys]

            known = await store.known(feed.id, keys, [row.slice_digest or "" for row in rows])

            assert sorted(known, key=lambda row: row.entry_id) == sorted(
                rows, key=lambda row: row.entry_id
            )

        tell(story)

    def test_an_article_of_two_sources_is_one_article_and_two_entries(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            one, two = await a_feed(store, 1), await a_feed(store, 2)

            await poll(store, one, 1, [an_entry("a")], at=NOON)
            await poll(store, two, 1, [an_entry("a")], at=NOON + HOUR)

            counts = await store.counts()
            assert (counts["entries"], counts["articles"]) == (2, 1)
            page = await store.entries(EntryFilter())
            (digest,) = {entry.article_hash for entry in page.items}
            assert digest is not None
            assert await store.articles([digest, "0" * 64]) == {digest}

        tell(story)

    def test_articles_come_page_by_page_with_the_entry_that_brought_each(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            one, two = await a_feed(store, 1), await a_feed(store, 2)
            await poll(store, one, 1, [an_entry("a"), an_entry("b")], at=NOON)
            await poll(store, two, 1, [an_entry("a"), an_entry("c")], at=NOON + HOUR)

            first = await store.article_page(limit=2)
            rest = await store.article_page(after=first.next, limit=2)

            found = [*first.items, *rest.items]
            titles = [article.title for article in found]
            assert titles[0] == "About c"
            assert sorted(map(str, titles)) == ["About a", "About b", "About c"]
            assert [article.feed_id for article in found] == [two.id, one.id, one.id]
            assert (found[0].first_seen, found[0].published_effective) == (NOON + HOUR, NOON)
            assert rest.next is None
            with pytest.raises(UsageError):
                await store.article_page(after="nowhere")

        tell(story)

    def test_an_edited_article_is_listed_once_and_its_first_text_stays_known(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            one, two = await a_feed(store, 1), await a_feed(store, 2)
            old, other = an_entry("a"), an_entry("b")
            edited = replace(old, title="Corrected", slice=None)
            one = await poll(store, one, 1, [old, other], at=NOON)
            await poll(store, one, 2, [edited, other], at=NOON + HOUR)
            await poll(store, two, 1, [old], at=NOON + HOUR * 2)

            first = await store.article_page(limit=1)
            rest = await store.article_page(after=first.next, limit=1)

            listed = [*first.items, *rest.items]
            assert sorted(str(article.title) for article in listed) == ["About b", "Corrected"]
            assert rest.next is None
            entries = (await store.entries(EntryFilter())).items
            assert {one.article_id for one in entries} == {one.article_hash for one in listed}
            assert (await store.counts())["articles"] == 3

        tell(story)

    def test_an_article_outlives_the_entry_that_brought_it(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await poll(store, feed, 1, [an_entry("a")], at=NOON)
            await poll(store, feed, 2, [an_entry("b")], at=NOON + DAY)
            await store.purge(before=NOON + HOUR, now=NOON + 2 * DAY)

            articles = (await store.article_page()).items

            assert [(one.title, one.entry_uid is None) for one in articles] == [
                ("About b", False),
                (None, True),
            ]
            assert articles[1].link == "https://blog.example/a"

        tell(story)

    def test_a_rekeyed_feed_gains_no_entries_and_is_known_by_its_new_guids(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            old = [an_entry(name) for name in "abcd"]
            feed = await poll(store, feed, 1, old, at=NOON)
            new = [
                replace(entry, guid=f"https://new.example/?p={at}", slice=None)
                for at, entry in enumerate(old)
            ]

            feed = await poll(store, feed, 2, new, at=NOON + HOUR)
            await poll(store, feed, 3, new, at=NOON + HOUR * 2)

            assert (await store.counts())["entries"] == 4
            guids = {row.guid for row in await store.current_document(feed.id)}
            assert guids == {entry.guid for entry in new}

        tell(story)

    def test_times_at_which_entries_came_out_are_kept_in_order_over_months(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            old, new = (NOON - DAY * 40).timestamp(), NOON.timestamp()
            for run, times in enumerate([(new,), (old, new - 60.0), ()]):
                at = NOON + HOUR * run
                await store.commit(replace(a_refresh(feed, run, at=at), arrived=times))

            assert await store.arrival_times(feed.id) == (old, new - 60.0, new)
            assert await store.arrival_times(feed.id, NOON - DAY) == (new - 60.0, new)
            assert await store.purge_times(NOON - DAY) == 1
            assert await store.arrival_times(feed.id) == (new - 60.0, new)

        tell(story)

    def test_stored_entries_tell_when_they_came_out_between_which_polls(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            dated = an_entry("dated", published=NOON - DAY)
            feed = await poll(store, feed, 1, [dated], at=NOON)
            feed = await poll(store, feed, 2, None, at=NOON + HOUR)
            later = an_entry("later", published=NOON)
            await poll(store, feed, 3, [dated, later], at=NOON + HOUR * 2)

            assert await store.stored_arrivals(feed.id, 10) == (
                StoredArrival(stated_at=NOON - DAY, first_seen=NOON, previous_at=None),
                StoredArrival(stated_at=NOON, first_seen=NOON + HOUR * 2, previous_at=NOON + HOUR),
            )
            (newest,) = await store.stored_arrivals(feed.id, 1)
            assert newest.stated_at == NOON

        tell(story)

    def test_everything_that_lives_is_known_wherever_it_stands(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed, other = await a_feed(store, 1), await a_feed(store, 2)
            feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
            await poll(store, feed, 2, [an_entry("b")], at=NOON + HOUR)
            await poll(store, other, 3, [an_entry("c")], at=NOON)

            rows = await store.unremoved_entries(feed.id)

            assert sorted((row.guid or "")[-1:] for row in rows) == ["a", "b"]
            assert all(row.keys for row in rows)

        tell(story)


class TestHistory:
    def test_a_fetch_comes_back_whole_however_compactly_it_is_kept(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            first = a_refresh(feed, 1, at=NOON)
            odd = replace(
                a_refresh(feed, 2, at=NOON + HOUR).fetch,
                outcome="rate-limited",
                http_status=429,
                detail="slow down",
                hops=(Hop(url=feed.url, status=301, location="/x"),),
                final_url="https://host1.example/x",
                response_headers=(("Set-Thing", "\xe9"), ("Set-Thing", "2")),
                repairs=("cut",),
                truncated=True,
                trace_id="0af7651916cd43dd8448eb211c80319c",
                entries_seen=3,
            )
            second = replace(a_refresh(feed, 2, at=NOON + HOUR), fetch=odd)
            third = a_refresh(feed, 3, at=NOON + HOUR * 2)
            for refresh in (first, second, third):
                await store.commit(refresh)

            page = await store.fetches(feed.id, limit=2)
            rest = await store.fetches(feed.id, after=page.next)

            assert page.items == (third.fetch, odd)
            assert rest.items == (first.fetch,)
            assert await store.fetch(odd.fetch_id) == odd
            assert await store.fetch("nobody") is None

        tell(story)

    def test_decisions_come_back_with_their_inputs_and_steps(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            refreshes = [a_refresh(feed, run, at=NOON + HOUR * run) for run in range(3)]
            for refresh in refreshes:
                await store.commit(refresh)

            assert await store.decisions(feed.id, 2) == (
                refreshes[2].decision,
                refreshes[1].decision,
            )

        tell(story)

    def test_events_are_numbered_without_gaps_and_read_from_any_number(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            for run in range(3):
                entries = [an_entry(f"{run}-{name}") for name in "ab"]
                feed = await poll(store, feed, run, entries, at=NOON + HOUR * run)

            events = await store.events(after=0)

            assert [event.seq for event in events] == [1, 2, 3, 4, 5, 6]
            assert len({event.id for event in events}) == 6
            assert await store.events(after=4, limit=1) == (events[4],)
            assert events[0].data == {"title": "About 0-a"}
            assert await store.last_seq() == 6

        tell(story)

    def test_a_consumer_goes_on_where_it_stopped_and_may_go_back(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            assert await store.cursor("tap") == 0
            await store.set_cursor("tap", 7)
            assert await store.cursor("tap") == 7
            await store.set_cursor("tap", 3)
            assert await store.cursor("tap") == 3

        tell(story)


class TestBlobs:
    def test_the_index_of_the_raw_store_follows_its_segments(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            refs = [blob_ref(sha, offset=at) for at, sha in enumerate(("a" * 64, "b" * 64))]
            for run, ref in enumerate(refs):
                refresh = a_refresh(feed, run, at=NOON + HOUR * run)
                await store.commit(replace(refresh, blob=ref))
            assert await store.blobs(segment="0001") == tuple(refs)

            moved = replace(refs[1], segment="0002", coding="zstd-prefix", prefix_sha256="a" * 64)
            await store.move_blobs([moved, blob_ref("c" * 64)])
            await store.delete_blobs([refs[0].sha256])

            assert await store.blobs() == (moved,)
            assert await store.blob(refs[0].sha256) is None

        tell(story)


class TestRetention:
    def test_old_entries_go_and_those_of_the_last_document_never_do(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
            feed = await poll(store, feed, 2, [an_entry("b")], at=NOON + HOUR)

            gone = await store.purge(before=NOON + DAY * 30, now=NOON + DAY * 60)

            assert gone["entries"] == 1
            (left,) = (await store.entries(EntryFilter())).items
            assert left.title == "About b"
            assert (await store.counts())["tombstones"] == 1

        tell(story)

    def test_an_expired_entry_never_comes_back_as_new(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 1, [an_entry("a")], at=NOON)
            feed = await poll(store, feed, 2, [an_entry("a", "second")], at=NOON + HOUR)
            (before,) = (await store.entries(EntryFilter())).items
            feed = await poll(store, feed, 3, [an_entry("b")], at=NOON + HOUR * 2)
            await store.purge(before=NOON + DAY * 30, now=NOON + DAY * 60)
            assert await store.entry(before.entry_uid) is None
            assert await store.revisions(before.entry_uid) == ()

            changes = await read(store, feed, [an_entry("a", "second")])
            await store.commit(a_refresh(feed, 4, at=NOON + DAY * 61, changes=changes))

            assert changes.summary.added == 0
            after = await store.entry(before.entry_uid)
            assert after is not None
            assert (after.first_seen, after.seen_count) == (before.first_seen, 3)
            assert after.summary == "second"
            assert (await store.counts())["tombstones"] == 0

        tell(story)

    def test_old_fetches_go_but_for_the_last_the_document_and_those_with_a_body(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 0, [an_entry("a")], at=NOON)
            for run in range(1, 6):
                feed = await poll(store, feed, run, None, at=NOON + HOUR * run)

            gone = await store.purge(before=NOON + DAY * 30, now=NOON + DAY * 60)

            assert gone["fetches"] == 4
            left = await store.fetches(feed.id)
            assert [one.outcome for one in left.items] == ["unchanged", "fresh"]
            assert len(await store.decisions(feed.id)) == 2

        tell(story)

    def test_events_go_once_everybody_has_read_them_and_numbers_go_on(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            feed = await poll(store, feed, 1, [an_entry(name) for name in "abcd"], at=NOON)
            await store.set_cursor("slow", 0)
            assert (await store.purge(before=NOON + DAY, now=NOON + DAY))["events"] == 0
            await store.set_cursor("slow", 2)
            await store.set_cursor("quick", 4)

            slow = await store.purge(before=NOON + DAY, now=NOON + DAY)
            await store.set_cursor("slow", 4)
            quick = await store.purge(before=NOON + DAY, now=NOON + DAY)

            assert (slow["events"], quick["events"]) == (2, 1)
            assert [event.seq for event in await store.events(after=0)] == [4]
            await poll(store, feed, 2, [an_entry("e")], at=NOON + HOUR)
            assert await store.last_seq() == 5

        tell(story)


def test_a_lane_of_nobody_is_neither_renewed_nor_released(tell: Tell) -> None:
    async def story(store: Store) -> None:
        ghost = Lane(id=99, key="ghost", epoch=1, pace=PACE)

        assert not await store.renew(ghost, owner="me", until=NOON)
        await store.release(ghost, PACE, now=NOON)

    tell(story)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="what every poll notes"),
        pytest.param({"hints": Hints(), "last_detail": "slow"}, id="notes of another kind"),
        pytest.param({"schedule": ScheduleState(interval_sec=60.0)}, id="the interval"),
        pytest.param(
            {"schedule": ScheduleState(interval_sec=60.0, health="suspect")}, id="the health"
        ),
        pytest.param({"validators": Validators(etag='"v2"', url="https://a.example/")}, id="etag"),
        pytest.param({"same_bodies": 2}, id="a counter"),
    ],
)
def test_a_304_stores_whatever_it_changed_of_the_feed(tell: Tell, change: dict[str, Any]) -> None:
    async def story(store: Store) -> None:
        feed = await poll(store, await a_feed(store), 1, [an_entry("a")], at=NOON)
        made = a_refresh(feed, 2, at=NOON + HOUR)
        after = replace(made.feed, **change)

        await store.commit(replace(made, feed=after, before=feed))

        assert await store.feed(feed.id) == after

    tell(story)
