"""What every store promises of addresses: moves, merges, imports, and the pace of a host."""

from datetime import timedelta

from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import (
    DAY,
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    claim_all,
    new_feed,
    poll,
    read,
)

from feedmill.engine.ports.store import Store
from feedmill.model.entry import Entry
from feedmill.model.event import NewEvent
from feedmill.model.feed import Feed, HostPace, ImportedOutline, Move, MoveCandidate
from feedmill.model.identity import Added
from feedmill.model.page import EntryFilter
from feedmill.model.running.webhook import Webhook

NEW = "https://new.example/feed"


def a_move(feed: Feed, to_url: str = NEW) -> Move:
    return Move(
        from_url=feed.url, to_url=to_url, source="redirect", proof="redirect", moved_at=NOON + DAY
    )


def told(feed: Feed, kind: str = "feed.moved") -> NewEvent:
    return NewEvent(type=kind, feed_id=feed.id, occurred_at=NOON + DAY)  # type: ignore[arg-type]  # spelt by the tests


async def a_feed(store: Store, number: int = 1, *, host: str | None = None) -> Feed:
    return (await store.add_feed(new_feed(number, host=host)))[0]


async def present(store: Store, feed: Feed) -> Feed:
    found = await store.feed(feed.id)
    assert found is not None
    return found


async def merged(store: Store, loser: Feed, winner: Feed) -> Feed:
    event = told(winner, "feed.merged")
    assert await store.merge_feeds(loser.id, winner.id, at=NOON + DAY, events=[event])
    return await present(store, winner)


class TestMoves:
    def test_a_move_changes_the_address_and_keeps_the_old_one(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            move = a_move(feed)
            await store.commit(a_refresh(feed, 1, at=NOON))

            done = await store.move_feed(feed.id, move, [told(feed)])

            after = await present(store, feed)
            assert done
            assert (after.url, after.feed_key, after.move) == (NEW, feed.feed_key, None)
            assert after.validators is None
            assert await store.moves(feed.id) == (move,)
            assert await store.find_feed([feed.url]) == after == await store.find_feed([NEW])
            assert [e.type for e in await store.events(after=0)] == ["feed.moved"]

        tell(story)

    def test_validators_of_the_new_address_survive(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            refresh = a_refresh(feed, 1, at=NOON)
            assert refresh.feed.validators is not None
            there = replace(refresh.feed.validators, url=NEW)
            await store.commit(replace(refresh, feed=replace(refresh.feed, validators=there)))

            await store.move_feed(feed.id, a_move(feed))

            assert (await present(store, feed)).validators == there

        tell(story)

    def test_a_move_from_where_the_feed_is_not_writes_nothing(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            stale = replace(a_move(feed), from_url="https://elsewhere.example/")

            assert not await store.move_feed(feed.id, stale, [told(feed)])

            assert await present(store, feed) == feed
            assert await store.events(after=0) == ()

        tell(story)

    def test_an_address_of_another_feed_is_left_to_it(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed, other = await a_feed(store, 1), await a_feed(store, 2)

            done = await store.move_feed(feed.id, a_move(feed, new_feed(2).aliases[0]))

            assert not done
            assert (await present(store, feed)).url == feed.url
            assert await store.moves(feed.id) == ()
            assert await store.find_feed(new_feed(2).aliases) == other

        tell(story)

    def test_an_undone_move_stays_in_the_history(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            await store.move_feed(feed.id, a_move(feed))
            undone = replace(a_move(feed), undone_at=NOON + 2 * DAY)

            assert await store.undo_move(feed.id, undone, [told(feed)])

            assert (await present(store, feed)).url == feed.url
            assert await store.moves(feed.id) == (undone,)
            assert not await store.undo_move(feed.id, undone)
            assert len(await store.events(after=0)) == 1

        tell(story)

    def test_a_feed_that_failed_where_it_was_is_due_at_its_new_address(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            failing = replace(feed.schedule, health="suspect")
            refresh = a_refresh(feed, 1, at=NOON)
            far = NOON + 9 * DAY
            await store.commit(
                replace(refresh, feed=replace(refresh.feed, schedule=failing, next_poll_at=far))
            )

            await store.move_feed(feed.id, a_move(feed))

            assert (await present(store, feed)).next_poll_at <= NOON + DAY + timedelta(minutes=1)
            (claim,) = await claim_all(store, now=NOON + DAY + HOUR)
            assert claim.lane.key == "new.example"

        tell(story)

    def test_a_candidate_is_noted_without_touching_anything_else(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            candidate = MoveCandidate(
                url=NEW, source="https", first_seen_at=NOON, last_seen_at=NOON, reason="loop"
            )

            await store.save_move_candidate(
                feed.id, candidate, https_probed_at=NOON, events=[told(feed, "feed.move_held")]
            )

            after = await present(store, feed)
            assert after == replace(feed, move=candidate, https_probed_at=NOON)
            await store.commit(a_refresh(after, 1, at=NOON))
            assert (await present(store, feed)).https_probed_at == NOON
            await store.save_move_candidate(feed.id, None, https_probed_at=None)
            assert (await present(store, feed)).move is None
            assert [e.type for e in await store.events(after=0)] == ["feed.move_held"]

        tell(story)


class TestMerges:
    def test_entries_of_both_become_one_row_and_the_rest_changes_hands(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            loser = await poll(store, loser, 1, [an_entry("a"), an_entry("b")], at=NOON)
            loser = await poll(store, loser, 2, None, at=NOON + HOUR)
            winner = await poll(
                store, winner, 1, [an_entry("b"), an_entry("c")], at=NOON + 2 * HOUR
            )
            theirs = {
                e.title: e for e in (await store.entries(EntryFilter(feed_id=loser.id))).items
            }
            ours = {e.title: e for e in (await store.entries(EntryFilter(feed_id=winner.id))).items}

            after = await merged(store, loser, winner)

            assert await store.feed(loser.id) is None
            found = {e.title: e for e in (await store.entries(EntryFilter())).items}
            assert {e.feed_id for e in found.values()} == {winner.id}
            assert sorted(found, key=str) == ["About a", "About b", "About c"]
            twin = found["About b"]
            assert twin.entry_uid == ours["About b"].entry_uid
            assert (twin.first_seen, twin.last_seen) == (NOON, NOON + 2 * HOUR)
            assert twin.seen_count == 3
            assert await store.entry(theirs["About b"].entry_uid) == twin
            assert found["About a"].entry_uid == theirs["About a"].entry_uid
            assert (found["About a"].seen_count, found["About a"].last_seen) == (2, NOON + HOUR)
            assert (await store.find_feed([loser.url])) == after
            assert set(after.tags) == {"all", "odd", "even"}
            assert len((await store.fetches(winner.id)).items) == 3
            (event,) = await store.events(after=4)
            counts = {"entries": 1, "folded": 1, "fetches": 2, "aliases": 2}
            assert counts.items() <= event.data.items()

        tell(story)

    def test_the_winners_next_document_finds_them_all(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            bare = replace(an_entry("bare"), guid=None, link=None, canonical_link=None)
            linked = replace(an_entry("linked"), guid=None)
            named = replace(an_entry("named"), link=None, canonical_link=None)
            everything = [bare, linked, named, an_entry("d")]
            await poll(store, loser, 1, everything, at=NOON)
            winner = await poll(store, winner, 1, [an_entry("e")], at=NOON)
            winner = await merged(store, loser, winner)

            changes = await read(store, winner, everything)

            assert [c for c in changes.changes if isinstance(c, Added)] == []
            assert changes.summary.conflicts == 0

        tell(story)

    def test_earlier_states_of_both_are_kept_in_the_order_of_time(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            for run, text in enumerate(("one", "three")):
                loser = await poll(
                    store, loser, run, [an_entry("a", text)], at=NOON + 2 * run * HOUR
                )
            for run, text in enumerate(("two", "four")):
                at = NOON + HOUR + 2 * run * HOUR
                winner = await poll(store, winner, run, [an_entry("a", text)], at=at)

            winner = await merged(store, loser, winner)

            (entry,) = (await store.entries(EntryFilter())).items
            history = await store.revisions(entry.entry_uid)
            assert [one.summary for one in history] == ["one", "two", "three"]
            assert [one.number for one in history] == [1, 2, 3]
            assert (entry.summary, entry.revisions) == ("four", 3)
            winner = await poll(store, winner, 9, [an_entry("a", "five")], at=NOON + 2 * DAY)
            assert [r.summary for r in await store.revisions(entry.entry_uid)][-1] == "four"

        tell(story)

    def test_what_retention_left_is_merged_too(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            names = ("both expired", "theirs expired", "ours expired", "alone")
            first = [an_entry(name) for name in names]
            loser = await poll(store, loser, 1, [first[0], first[1], first[3]], at=NOON)
            loser = await poll(store, loser, 2, [an_entry("x")], at=NOON + HOUR)
            winner = await poll(store, winner, 1, [first[0], first[2]], at=NOON)
            winner = await poll(store, winner, 2, [an_entry("y")], at=NOON + HOUR)
            await store.purge(before=NOON + HOUR, now=NOON + DAY)
            loser = await poll(store, loser, 3, [first[2]], at=NOON + DAY)
            winner = await poll(store, winner, 3, [first[1]], at=NOON + DAY)

            winner = await merged(store, loser, winner)

            changes = await read(store, winner, first)
            assert changes.summary.added == 0
            titles = {e.title for e in (await store.entries(EntryFilter())).items}
            assert titles == {"About x", "About y", "About theirs expired", "About ours expired"}

        tell(story)

    def test_what_is_not_the_same_stays_apart(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            shared = "https://blog.example/shared"

            def under(name: str) -> Entry:
                return replace(an_entry(name), link=shared, canonical_link=shared)

            await poll(store, loser, 1, [under("a"), under("b")], at=NOON)
            winner = await poll(store, winner, 1, [under("c")], at=NOON)

            await merged(store, loser, winner)

            assert len((await store.entries(EntryFilter())).items) == 3

        tell(story)

    def test_a_feed_that_is_not_there_is_not_merged(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)

            assert await store.merge_feeds("nobody", feed.id, at=NOON) is None
            assert await store.merge_feeds(feed.id, "nobody", at=NOON) is None
            assert await store.merge_feeds(feed.id, feed.id, at=NOON) is None
            assert await present(store, feed) == feed

        tell(story)

    def test_refreshes_under_way_are_fenced_off_except_in_the_lane_that_is_held(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            loser = await a_feed(store, 1, host="one.example")
            winner = await a_feed(store, 2, host="two.example")
            claims = {claim.lane.key: claim for claim in await claim_all(store)}
            held, lost = claims["one.example"].lane, claims["two.example"].lane

            await store.merge_feeds(loser.id, winner.id, at=NOON, lane=held)

            assert await store.renew(held, owner="me", until=NOON + HOUR)
            assert not await store.renew(lost, owner="me", until=NOON + HOUR)
            late = a_refresh(winner, 1, at=NOON, lane=lost)
            assert (await store.commit(late)).fenced

        tell(story)

    def test_removing_the_feed_takes_former_ids_along(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            await poll(store, loser, 1, [an_entry("a")], at=NOON)
            (former,) = (await store.entries(EntryFilter(feed_id=loser.id))).items
            winner = await poll(store, winner, 1, [an_entry("a")], at=NOON)
            await merged(store, loser, winner)

            await store.remove_feed(winner.id)

            assert await store.entry(former.entry_uid) is None

        tell(story)


class TestImports:
    def test_what_became_of_an_outline_is_remembered_per_list(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            done = ImportedOutline(url="https://a.example/", outcome="added", at=NOON, feed_id="f1")
            failed = ImportedOutline(
                url="https://b.example/", outcome="failed", at=NOON, reason="timeout", detail="…"
            )
            await store.save_imported("list-1", [done, failed])
            await store.save_imported("list-2", [done])

            better = replace(failed, outcome="added", reason="", at=NOON + HOUR)
            await store.save_imported("list-1", [better])

            assert await store.imported("list-1") == (done, better)
            assert await store.imported("list-2") == (done,)
            assert await store.imported("list-3") == ()

        tell(story)

    def test_a_merge_points_them_at_the_feed_that_is_left(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            line = ImportedOutline(url=loser.url, outcome="added", at=NOON, feed_id=loser.id)
            await store.save_imported("list", [line])

            await merged(store, loser, winner)

            assert await store.imported("list") == (replace(line, feed_id=winner.id),)

        tell(story)

    def test_a_webhook_that_followed_the_one_follows_the_other(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            loser, winner = await a_feed(store, 1), await a_feed(store, 2)
            asked = Webhook(
                id="hook", url="https://ear.example/", created_at=NOON, secrets=(), feed_id=loser.id
            )
            await store.add_webhook(asked)

            await merged(store, loser, winner)

            followed = await store.webhook("hook")
            assert followed is not None
            assert followed.feed_id == winner.id

        tell(story)


class TestPaceOutsideOfLanes:
    def test_a_host_that_nobody_knows_has_no_pace_until_it_is_limited(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            assert await store.host_pace(NEW) is None

            await store.limit_host(NEW, NOON + HOUR, "rate-limited")
            await store.limit_host(NEW, NOON, "sooner")

            pace = await store.host_pace("http://new.example/other")
            assert pace is not None
            assert (pace.next_ok_at, pace.blocked_reason) == (NOON + HOUR, "rate-limited")

        tell(story)

    def test_a_limit_binds_the_mill(self, tell: Tell) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)

            await store.limit_host(feed.url, NOON + HOUR)

            assert await claim_all(store) == ()
            assert await store.next_due_at() == NOON + HOUR
            assert len(await claim_all(store, now=NOON + HOUR)) == 1

        tell(story)

    def test_a_limit_that_comes_while_the_lane_is_held_outlives_its_release(
        self, tell: Tell
    ) -> None:
        async def story(store: Store) -> None:
            feed = await a_feed(store)
            (claim,) = await claim_all(store)
            await store.limit_host(feed.url, NOON + HOUR, "rate-limited")

            calm = HostPace(gap_ms=1_000, next_ok_at=NOON + timedelta(seconds=1))
            due = [(feed.id, NOON)]
            await store.release(claim.lane, calm, now=NOON, deferred=due)

            pace = await store.host_pace(feed.url)
            assert pace is not None
            assert (pace.next_ok_at, pace.blocked_reason) == (NOON + HOUR, "rate-limited")
            assert await claim_all(store, now=NOON + HOUR / 2) == ()
            assert len(await claim_all(store, now=NOON + HOUR)) == 1

        tell(story)
