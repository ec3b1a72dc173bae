"""Several databases as one store: who has what, one log, and what happens while one is away."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.integration.store.refreshes import (
    DAY,
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    blob_ref,
    claim_all,
    new_feed,
    poll,
)
from tests.servers.databases import migrated_database
from tests.servers.postgres import PostgresServer

from feedmill.adapters.store import cell
from feedmill.adapters.store.cell_gather import go_back, take
from feedmill.adapters.store.cells import CellStore
from feedmill.adapters.store.claims import shard_of
from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.engine.ports import EntryFilter, Store
from feedmill.errors import StoreError
from feedmill.model.event import Event, NewEvent
from feedmill.model.feed import Feed, HostPace, Move
from feedmill.model.standing import HeldEntry, StandingScreen
from feedmill.model.webhook import Webhook
from feedmill.model.worker import Worker

LIMIT_SEC = 30.0
HALF = 512
HOSTS = [f"h{number}.example" for number in range(200)]
NEAR = [host for host in HOSTS if shard_of(host) < HALF]  # in the home cell
FAR = [host for host in HOSTS if shard_of(host) >= HALF]


@asynccontextmanager
async def opened(cells: tuple[str, ...]) -> AsyncIterator[CellStore]:
    store = await CellStore.open(cells, connections=4, timeout_sec=10.0)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def alone(cells: tuple[str, ...], number: int) -> AsyncIterator[PostgresStore]:
    """One of the cells, without the others."""
    store = await PostgresStore.open(cells[number].partition("=")[2], connections=2)
    try:
        yield store
    finally:
        await store.close()


async def subscribe(store: Store, number: int, host: str) -> Feed:
    added = NewEvent(type="feed.added", feed_id=f"feed-{number:08d}", occurred_at=NOON)
    new = new_feed(number, host=host, at=NOON + timedelta(seconds=number))
    return (await store.add_feed(new, [added]))[0]


async def both_sides(store: Store, count: int = 6) -> list[Feed]:
    """Feeds of the home and of the other cell in turn."""
    hosts = [host for pair in zip(NEAR, FAR, strict=False) for host in pair]
    return [await subscribe(store, number, hosts[number]) for number in range(count)]


def is_far(feed: Feed) -> bool:
    return any(f"//{host}/" in feed.url for host in FAR)


class TestWhoHasWhat:
    def test_a_feed_lives_in_the_cell_of_its_host_and_nowhere_else(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store, alone(cell_map, 1) as other:
                feeds = await both_sides(store)

                far = (await other.feeds()).items

                assert {feed.id for feed in far} == {feed.id for feed in feeds if is_far(feed)}
                assert (await store.counts())["feeds"] == len(feeds)

        asyncio.run(story())

    def test_lanes_of_two_cells_are_claimed_renewed_and_given_back_apart(
        self, cell_map: tuple[str, ...]
    ) -> None:
        """Their numbers are the same; what is done to the one must not be done to the other."""

        async def story() -> None:
            async with opened(cell_map) as store:
                near, far = await both_sides(store, 2)
                later = NOON + HOUR
                claims = {c.feeds[0].id: c for c in await claim_all(store, now=later)}

                assert set(claims) == {near.id, far.id}
                assert await claim_all(store, "other", now=later) == ()
                assert await store.renew(claims[far.id].lane, owner="me", until=later + DAY)
                committed = await store.commit(
                    a_refresh(far, 1, at=later, lane=claims[far.id].lane)
                )
                assert not committed.fenced
                due = [(near.id, later)]
                await store.release(
                    claims[near.id].lane, HostPace(gap_ms=0), now=later, deferred=due
                )
                (again,) = await claim_all(store, "other", now=later)
                assert again.feeds[0].id == near.id

        asyncio.run(story())

    def test_claims_begin_with_another_cell_each_time(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                await both_sides(store, 6)

                claims = [await claim_all(store, now=NOON + HOUR, lanes=1) for _ in range(6)]

                sides = [is_far(claim[0].feeds[0]) for claim in claims]
                assert sorted(sides) == [False] * 3 + [True] * 3
                assert sides[0] != sides[1]

        asyncio.run(story())

    def test_an_address_that_another_cell_knows_is_found(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                far = await subscribe(store, 1, FAR[0])
                second = replace(new_feed(2, host=NEAR[0]), aliases=(far.url,))

                assert await store.add_feed(second) == (far, False)

                assert (await store.feeds()).items == (far,)
                assert await store.find_feed([second.url]) == far

        asyncio.run(story())

    def test_the_first_address_rules_when_two_cells_know_one_each(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                near, far = await both_sides(store, 2)

                assert await store.find_feed([far.url, near.url]) == far
                assert await store.find_feed([near.url, far.url]) == near

        asyncio.run(story())

    def test_a_move_to_a_host_of_another_cell_is_refused(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                feed = await subscribe(store, 1, NEAR[0])
                there = f"https://{FAR[0]}/feed"
                move = Move(
                    from_url=feed.url, to_url=there, source="redirect", proof="redirect",
                    moved_at=NOON,
                )  # fmt: skip

                assert not await store.move_feed(feed.id, move)
                assert not await store.undo_move(
                    feed.id, replace(move, from_url=there, to_url=feed.url, undone_at=NOON)
                )
                await store.change_feed(replace(feed, url=there, title="Renamed"))

                after = await store.feed(feed.id)
                assert after == replace(feed, title="Renamed")
                near = replace(move, to_url=f"https://{NEAR[1]}/feed")
                assert await store.move_feed(feed.id, near)

        asyncio.run(story())

    def test_feeds_of_two_cells_are_not_merged(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                near, far = await both_sides(store, 2)

                assert await store.merge_feeds(near.id, far.id, at=NOON) is None

                assert await store.feed(near.id) == near
                assert await store.problems() == ()

        asyncio.run(story())

    def test_everybody_at_work_is_listed_once_with_the_lanes_of_all_cells(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                near, far = await both_sides(store, 2)
                me = Worker(name="me", role="worker", version="1", started_at=NOON, seen_at=NOON)
                await store.note_worker(me)
                assert await store.due_lanes(NOON + HOUR) == 2
                await claim_all(store, now=NOON + HOUR)

                (view,) = await store.workers()

                assert view.worker == me
                keys = {lane.key for lane in view.lanes}
                assert keys == {near.url.split("/")[2], far.url.split("/")[2]}
                await store.forget_worker("me")
                (view,) = await store.workers()
                assert view.worker is None

        asyncio.run(story())


class TestLists:
    def test_feeds_are_listed_in_the_order_in_which_they_were_added(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                feeds = await both_sides(store, 7)

                found: list[Feed] = []
                page = await store.feeds(limit=2)
                while page.next is not None:
                    found += page.items
                    page = await store.feeds(after=page.next, limit=2)

                assert [*found, *page.items] == feeds
                odd = (await store.feeds(tag="odd", limit=10)).items
                assert [feed.id for feed in odd] == [feed.id for feed in feeds[1::2]]

        asyncio.run(story())

    def test_entries_and_articles_of_all_cells_are_one_list(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                for number, feed in enumerate(await both_sides(store, 4)):
                    mine = [an_entry(f"{number}-{n}") for n in range(3)]
                    await poll(store, feed, 1, mine, at=NOON + number * HOUR)
                where = EntryFilter()
                first = await store.entries(where, limit=5)
                second = await store.entries(where, after=first.next, limit=5)
                third = await store.entries(where, after=second.next, limit=5)

                every = (*first.items, *second.items, *third.items)

                assert len({entry.entry_uid for entry in every}) == len(every) == 12
                seen = [entry.first_seen for entry in every]
                assert seen == sorted(seen, reverse=True)
                back = await store.entries(where, before=third.previous, limit=5)
                assert back.items == second.items
                texts = await store.entry_texts(where, limit=12)
                assert len(texts.items) == 12
                articles = (await store.article_page(limit=20)).items
                assert {one.entry_uid for one in articles} == {one.entry_uid for one in every}
                assert await store.entry(every[0].entry_uid) == every[0]
                assert await store.entry(every[-1].entry_uid) == every[-1]

        asyncio.run(story())

    def test_what_waits_in_all_cells_is_one_list(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                for number, feed in enumerate(await both_sides(store, 4)):
                    refresh = a_refresh(feed, 1, at=NOON)
                    one = HeldEntry(
                        feed_id=feed.id, entry_uid=f"uid-{number}", dedupe_key="k",
                        content_hash="c", held_at=NOON + number * HOUR,
                        fetch_id=refresh.fetch.fetch_id, body_sha256="b" * 64,
                    )  # fmt: skip
                    await store.commit(replace(refresh, held=(one,)))

                first = await store.held(limit=3)
                rest = await store.held(after=first.next, limit=3)

                uids = [one.entry_uid for one in (*first.items, *rest.items)]
                assert uids == ["uid-0", "uid-1", "uid-2", "uid-3"]
                assert await store.drop_held(["uid-0", "uid-1", "nobody"]) == 2

        asyncio.run(story())


class TestOneLog:
    def test_numbers_have_no_gaps_while_both_cells_are_written_and_two_read(
        self, cell_map: tuple[str, ...]
    ) -> None:
        """Two processes write and read at once: the same log for both, each cell's order kept."""
        runs = 12

        async def write(store: CellStore, feed: Feed) -> None:
            for run in range(runs):
                feed = await poll(
                    store, feed, run, [an_entry(f"{feed.id}-{run}")], at=NOON + run * HOUR
                )

        async def follow(store: CellStore, total: int) -> list[Event]:
            seen: list[Event] = []
            async with asyncio.timeout(LIMIT_SEC):
                while len(seen) < total:
                    seen += await store.events(after=len(seen), limit=7)
                    await asyncio.sleep(0)
            return seen

        async def story() -> None:
            async with opened(cell_map) as one, opened(cell_map) as two:
                feeds = await both_sides(one, 6)
                total = len(feeds) * (runs + 1)
                async with asyncio.TaskGroup() as group:
                    readers = [group.create_task(follow(store, total)) for store in (one, two)]
                    for number, feed in enumerate(feeds):
                        group.create_task(write((one, two)[number // 2 % 2], feed))

                first, second = (reader.result() for reader in readers)

                assert [event.seq for event in first] == list(range(1, total + 1))
                assert first == second
                assert len({event.id for event in first}) == total
                for feed in feeds:
                    mine = [event for event in first if event.feed_id == feed.id]
                    assert [event.type for event in mine] == ["feed.added"] + ["new_entry"] * runs
                    at = [event.occurred_at for event in mine[1:]]
                    assert at == sorted(at)
                assert await one.last_seq() == total
                assert (await two.counts())["events"] == total

        asyncio.run(story())

    def test_a_copy_that_was_not_committed_is_made_again_and_only_once(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                await both_sides(store, 4)
                async with alone(cell_map, 1) as other:
                    theirs = await other.events(after=0)
                cell_id = store._routes.cells[1].id

                async def fail(connection: Connection) -> None:
                    await connection.execute("INSERT INTO gathered (cell) VALUES ($1)", cell_id)
                    await take(connection, cell_id, 0, theirs)
                    raise KeyboardInterrupt

                with pytest.raises(KeyboardInterrupt):
                    await store.database.write(fail)

                events = await store.events(after=0)
                assert [event.seq for event in events] == [1, 2, 3, 4]
                assert len({event.id for event in events}) == 4
                assert await store.events(after=0) == events

        asyncio.run(story())

    def test_copies_that_are_behind_write_nothing(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                await both_sides(store, 4)
                events = await store.events(after=0)
                async with alone(cell_map, 1) as other:
                    theirs = await other.events(after=0)
                cell_id = store._routes.cells[1].id

                reached = await store.database.write(lambda c: take(c, cell_id, 0, theirs))

                assert reached == theirs[-1].seq
                assert await store.events(after=0) == events

        asyncio.run(story())

    def test_a_webhook_that_is_added_now_is_told_nothing_of_before(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                await both_sides(store, 4)

                await store.add_webhook(_hook())

                hook = await store.webhook("hook")
                assert hook is not None
                assert hook.cursor == 4

        asyncio.run(story())

    def test_who_followed_a_feed_follows_the_one_it_was_merged_into(
        self, cell_map: tuple[str, ...]
    ) -> None:
        """Also when the process that merged them ended before it could say so to the home."""

        async def story() -> None:
            async with opened(cell_map) as store:
                loser = await subscribe(store, 1, FAR[0])
                winner = await subscribe(store, 2, FAR[1])
                await store.add_webhook(replace(_hook(), feed_id=loser.id))
                told = NewEvent(
                    type="feed.merged", feed_id=winner.id, occurred_at=NOON,
                    data={"from": loser.id},
                )  # fmt: skip
                async with alone(cell_map, 1) as other:
                    await other.merge_feeds(loser.id, winner.id, at=NOON, events=[told])

                assert (await store.events(after=2))[0].type == "feed.merged"

                hook = await store.webhook("hook")
                assert hook is not None
                assert hook.feed_id == winner.id
                assert set(await store.feed_tags([loser.id])) == {loser.id}

        asyncio.run(story())


class TestRawIndex:
    def test_a_body_is_spent_when_no_cell_needs_it(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map) as store:
                near, far = await both_sides(store, 2)
                for feed in (near, far):
                    old = a_refresh(feed, 1, at=NOON)
                    shared = replace(old.fetch, body_sha256="a" * 64)
                    await store.commit(replace(old, fetch=shared, blob=blob_ref("a" * 64)))
                newer = a_refresh(near, 2, at=NOON + DAY)
                fresh = replace(newer.fetch, body_sha256="b" * 64)
                await store.commit(replace(newer, fetch=fresh, blob=blob_ref("b" * 64, offset=9)))
                keep = {"keep_last": 1, "before": NOON - DAY}

                assert await store.spent_blobs(**keep) == ()  # type: ignore[arg-type]  # both are right
                assert len(await store.blobs()) == 2
                newer = a_refresh(far, 2, at=NOON + DAY)
                fresh = replace(newer.fetch, body_sha256="c" * 64)
                await store.commit(replace(newer, fetch=fresh, blob=blob_ref("c" * 64, offset=5)))

                assert await store.spent_blobs(**keep) == ("a" * 64,)  # type: ignore[arg-type]  # likewise
                await store.forget_blobs(["a" * 64])
                assert await store.blob("a" * 64) is None
                chains = await store.raw_chains(["0001"])
                assert {ref.sha256[0] for ref, _ in chains} == {"b", "c"}
                moved = [replace(ref, segment="0002") for ref, _ in chains]
                await store.move_blobs(moved)
                assert {ref.segment for ref in await store.blobs()} == {"0002"}

        asyncio.run(story())


class TestTheRightDatabase:
    def test_a_cell_is_not_taken_for_another(self, cell_map: tuple[str, ...]) -> None:
        async def story() -> None:
            async with opened(cell_map):
                pass
            swapped = tuple(reversed(cell_map))
            one, two = (text.partition("=")[2] for text in cell_map)

            for wrong in (swapped, (f"0-511={two}", f"512-1023={one}")):
                with pytest.raises(StoreError, match="shards are not moved") as problem:
                    async with opened(wrong):
                        pass
                assert problem.value.reason == "other-cell"

        asyncio.run(story())

    def test_a_database_with_hosts_of_all_shards_does_not_become_a_cell(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with alone(cell_map, 0) as whole:
                await subscribe(whole, 1, FAR[0])

            with pytest.raises(StoreError, match="has the shards"):
                async with opened(cell_map):
                    pass

        asyncio.run(story())


@pytest.fixture(scope="module")
def second_server() -> Iterator[PostgresServer]:
    with PostgresServer(durable=False) as server:
        yield server


@pytest.fixture
def two_servers(
    postgres: PostgresServer, second_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """A cell on each of two servers; the second may be stopped."""
    monkeypatch.setattr(cell, "_AGAIN_SEC", 0.05)
    dsns = (migrated_database(postgres), migrated_database(second_server))
    yield f"0-511={dsns[0]}", f"512-1023={dsns[1]}"
    if not second_server.running:
        second_server.start()
    postgres.drop_database(dsns[0])
    second_server.drop_database(dsns[1])


class TestWhileACellIsAway:
    def test_the_other_goes_on_and_lists_say_what_is_missing(
        self, two_servers: tuple[str, str], second_server: PostgresServer
    ) -> None:
        async def story() -> None:
            async with opened(two_servers) as store:
                feeds = await both_sides(store, 4)
                near = [feed for feed in feeds if not is_far(feed)]
                assert await store.last_seq() == 4
                await asyncio.to_thread(second_server.stop)

                claims = await claim_all(store, now=NOON + HOUR)

                assert {claim.feeds[0].id for claim in claims} == {feed.id for feed in near}
                done = await poll(store, near[0], 1, [an_entry("a")], at=NOON + HOUR)
                assert await store.feed(near[0].id) == done
                assert await store.last_seq() == 5
                assert await store.next_due_at() is not None
                assert await store.due_lanes(NOON + HOUR) == 0
                (problem,) = await store.problems()
                assert problem.startswith("cell 512-1023=")
                for ask in (
                    store.feeds(),
                    store.entries(EntryFilter()),
                    store.counts(),
                    store.feed(next(feed.id for feed in feeds if is_far(feed))),
                    store.fetch("nobody knows it"),
                    store.add_feed(new_feed(9, host=NEAR[9])),
                ):
                    with pytest.raises(StoreError) as told:
                        await ask
                    assert told.value.reason == "cannot-open"
                assert "entries" in await store.purge(before=NOON, now=NOON + HOUR)

                await asyncio.to_thread(second_server.start)
                async with asyncio.timeout(LIMIT_SEC):
                    while not (back := await claim_all(store, "other", now=NOON + HOUR)):  # noqa: ASYNC110  # nobody rings when a server is back
                        await asyncio.sleep(0.02)

                assert {claim.feeds[0].id for claim in back} <= {f.id for f in feeds if is_far(f)}
                assert len((await store.feeds()).items) == 4
                assert await store.problems() == ()

        asyncio.run(story())

    def test_a_mill_starts_without_it_and_finds_it_later(
        self, two_servers: tuple[str, str], second_server: PostgresServer
    ) -> None:
        async def story() -> None:
            await asyncio.to_thread(second_server.stop)
            async with opened(two_servers) as store:
                assert await claim_all(store, now=NOON + HOUR) == ()
                with pytest.raises(StoreError, match="no database answers"):
                    await subscribe(store, 1, FAR[0])

                await asyncio.to_thread(second_server.start)

                feed = await subscribe(store, 1, FAR[0])
                assert await store.feed(feed.id) == feed
                assert [event.type for event in await store.events(after=0)] == ["feed.added"]

        asyncio.run(story())

    def test_a_home_that_is_away_stops_what_needs_it_and_nothing_else(
        self, two_servers: tuple[str, str], second_server: PostgresServer
    ) -> None:
        """The home is on the server that can be stopped."""

        async def story() -> None:
            one, two = (text.partition("=")[2] for text in two_servers)
            async with opened((f"0-511={two}", f"512-1023={one}")) as store:
                feeds = await both_sides(store, 2)
                far = next(feed for feed in feeds if is_far(feed))
                screen = StandingScreen(id="s", created_at=NOON, tag="all")
                await store.add_screen(screen)
                assert (await store.standing(far.id)).screens == (screen,)
                await asyncio.to_thread(second_server.stop)

                (claim,) = await claim_all(store, now=NOON + HOUR)

                assert (await store.standing(far.id)).screens == (screen,)
                assert not (await store.commit(a_refresh(far, 1, at=NOON, lane=claim.lane))).fenced
                with pytest.raises(StoreError):
                    await store.last_seq()
                with pytest.raises(StoreError):
                    await store.tokens()

        asyncio.run(story())


def _hook() -> Webhook:
    return Webhook(id="hook", url="https://ear.example/", created_at=NOON, secrets=())


class TestWhatNobodyWouldNotice:
    def test_what_a_cell_has_told_and_the_log_has_taken_goes_with_age(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store, alone(cell_map, 1) as other:
                await both_sides(store, 8)
                await store.set_cursor("reader", await store.last_seq())

                await store.purge(before=NOON + DAY, now=NOON + DAY)

                assert (await other.counts())["events"] == 1  # the newest always stays
                far = await subscribe(store, 20, FAR[20])
                assert (await store.events(after=8))[-1].feed_id == far.id
                assert await store.problems() == ()

        asyncio.run(story())

    @pytest.mark.parametrize("is_noticed", ["by a purge", "by another process"])
    def test_a_cell_that_was_set_back_is_copied_from_where_it_differs(
        self, cell_map: tuple[str, ...], is_noticed: str
    ) -> None:
        """A standby without the last transactions gives their numbers to other events."""

        async def set_back(connection: Connection) -> None:
            await connection.execute("DELETE FROM events WHERE seq > 2")
            await connection.execute("UPDATE log_head SET seq = 2")

        async def story() -> None:
            async with opened(cell_map) as store, alone(cell_map, 1) as other:
                await both_sides(store, 8)  # four of them far
                assert await store.last_seq() == 8
                await other.database.write(set_back)

                anew = {(await subscribe(store, n, FAR[n])).id for n in (20, 21)}

                if is_noticed == "by a purge":
                    await store.purge(before=NOON - DAY, now=NOON)
                    told = await store.events(after=8)
                else:
                    async with opened(cell_map) as second:
                        told = await second.events(after=8)
                assert {event.feed_id for event in told} == anew
                assert len(told) == 2
                assert await store.problems() == ()

        asyncio.run(story())

    def test_two_processes_that_notice_it_at_once_copy_once(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store, alone(cell_map, 1) as other:
                await both_sides(store, 8)
                assert await store.last_seq() == 8
                cell_id = await store.database.read(
                    lambda c: c.fetchval("SELECT cell FROM gathered")
                )
                first = await other.events(after=0, limit=1)

                # One that saw the end before the other had gone back and copied again.
                await store.database.write(lambda c: go_back(c, cell_id, 4, 0, first))

                assert await store.last_seq() == 8
                assert len({event.id for event in await store.events(after=0)}) == 8

        asyncio.run(story())

    def test_what_one_cell_has_leased_is_worked_when_another_is_broken(
        self, cell_map: tuple[str, ...]
    ) -> None:
        async def story() -> None:
            async with opened(cell_map) as store, alone(cell_map, 1) as other:
                feeds = await both_sides(store, 4)
                await other.database.write(
                    lambda c: c.execute("ALTER TABLE feed_sched RENAME TO lost")
                )
                try:
                    claims: list[str] = []
                    for _ in range(2):  # each time another cell is asked first
                        with suppress(StoreError):
                            found = await claim_all(store, now=NOON + HOUR)
                            claims += [claim.feeds[0].id for claim in found]
                finally:
                    await other.database.write(
                        lambda c: c.execute("ALTER TABLE lost RENAME TO feed_sched")
                    )

                assert sorted(claims) == sorted(feed.id for feed in feeds if not is_far(feed))

        asyncio.run(story())

    def test_without_any_cell_there_is_no_answer_instead_of_nothing_to_do(
        self, cell_map: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else a worker that reaches nobody would call itself ready."""

        async def away(*_: object, **__: object) -> None:
            message = "gone"
            raise StoreError(message, reason="cannot-open")

        async def story() -> None:
            async with opened(cell_map) as store:
                monkeypatch.setattr(PostgresStore, "claim", away)
                monkeypatch.setattr(PostgresStore, "due_lanes", away)

                with pytest.raises(StoreError, match="no cell answers"):
                    await claim_all(store, now=NOON)
                with pytest.raises(StoreError, match="no cell answers"):
                    await store.due_lanes(NOON)

        asyncio.run(story())
