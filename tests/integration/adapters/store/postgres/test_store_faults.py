"""What the network, the clock, other workers and strangers may do to PostgreSQL at the wrong moment."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.support.cut_at_commit_proxy import CuttingProxy, Moment
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
from tests.support.servers.databases import migrated_database
from tests.support.servers.postgres import PostgresServer
from tests.support.waiting import hang_guard, wait_for_answer

from feedmill.adapters.store.postgres.claims import release_all
from feedmill.adapters.store.postgres.commit import commit_group
from feedmill.adapters.store.postgres.identities import known
from feedmill.adapters.store.postgres.lanes import LaneSettings
from feedmill.adapters.store.postgres.pool import Database, PgConnection
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.tables.lanes import ReleasedLane
from feedmill.adapters.store.tables.running.figures import TotalsWriter
from feedmill.errors import StoreError
from feedmill.model.identity import IdentityKey

Story = Callable[[PostgresStore], Awaitable[None]]


def tell(dsn: str, story: Story) -> None:
    """Tell a story to a store, check that it left the store healthy, and close it."""

    async def told() -> None:
        store = await PostgresStore.open(dsn)
        try:
            async with hang_guard():
                await story(store)
            assert await store.problems() == ()
        finally:
            await store.close()

    asyncio.run(told())


# secrets


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hush/lull@127.0.0.1:1/db",  # what follows the slash is no path
        "postgresql://me:hush#lull@127.0.0.1:1/db",
        "postgresql://me:hush?lull@127.0.0.1:1/db",
        "postgresql://me:hush@lull@127.0.0.1:1/db",
        "postgresql://me:hush%2Flull@127.0.0.1:1/db",
        "postgresql:/me:hush@127.0.0.1:1/db",  # a slash was forgotten
        "postgresql://127.0.0.1:1/db?user=me&password=hush",
    ],
)
async def test_an_address_that_does_not_work_is_told_without_any_part_of_its_password(
    url: str,
) -> None:
    with pytest.raises(StoreError) as told:
        await Database.open(url, connections=1, timeout_sec=5.0)

    said = f"{told.value} {told.value.__cause__}"
    assert "hush" not in said
    assert "lull" not in said


def test_an_error_quotes_no_value_of_a_statement(migrated_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        with pytest.raises(StoreError) as told:
            await store.database.write(
                lambda c: c.execute("SELECT $1::bigint[]", [1, "a whole document, or a secret"])
            )

        assert "secret" not in str(told.value)
        assert "argument $1" in str(told.value)

    tell(migrated_dsn, story)


# which server


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[str, PostgresServer]]:
    """A database, by its standby first and then its primary; and the standby."""
    with PostgresServer() as primary:
        name = migrated_database(primary).rpartition("/")[2]
        standby = primary.standby()
        hosts = f"127.0.0.1:{standby.port},127.0.0.1:{primary.port}"
        try:
            yield f"postgresql://{primary.user}@{hosts}/{name}", standby
        finally:
            standby.close()


def test_of_several_hosts_the_one_that_takes_writes_is_found(
    pair: tuple[str, PostgresServer],
) -> None:
    async def story(store: PostgresStore) -> None:
        _, is_new = await store.add_feed(new_feed())
        assert is_new

    tell(pair[0], story)


async def test_a_standby_alone_is_a_database_that_is_away(pair: tuple[str, PostgresServer]) -> None:
    with pytest.raises(StoreError) as told:
        await Database.open(
            f"{pair[1].dsn}?target_session_attrs=read-write", connections=1, timeout_sec=5.0
        )
    assert told.value.reason == "cannot-open"


async def test_a_server_that_takes_no_writes_any_more_is_not_asked_again(
    postgres: PostgresServer, migrated_dsn: str
) -> None:
    name = migrated_dsn.rpartition("/")[2]

    await _sql(postgres, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store = await PostgresStore.open(migrated_dsn, connections=1)
    await _sql(postgres, f"ALTER DATABASE {name} RESET default_transaction_read_only")
    with pytest.raises(StoreError) as told:
        await store.add_feed(new_feed())
    assert told.value.reason == "cannot-open"

    _, is_new = await store.add_feed(new_feed())

    assert is_new
    await store.close()


# the answer that was lost


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_claim_whose_answer_was_lost_is_worked_if_it_counts(
    postgres: PostgresServer, migrated_dsn: str, moment: Moment
) -> None:
    """Else its lanes would be held by nobody, and its feeds would have lost a run."""

    async def story(store: PostgresStore) -> None:
        feed, _ = await store.add_feed(new_feed())
        proxy = CuttingProxy(postgres.port, moment)
        async with proxy.listening(migrated_dsn) as dsn:
            far = await PostgresStore.open(dsn)
            proxy.is_armed = True
            if moment == "before":
                with pytest.raises(StoreError, match="no database answers"):
                    await claim_all(far)

            (claim,) = await claim_all(far)

            assert proxy.cuts == 1
            assert [one.id for one in claim.feeds] == [feed.id]
            run = a_refresh(
                claim.feeds[0], 1, at=NOON, lane=claim.lane, scheduled_at=claim.scheduled_at[0]
            )
            done = await far.commit(run)
            assert not done.fenced
            await far.release(claim.lane, claim.lane.pace, now=NOON)
            await far.close()

    tell(migrated_dsn, story)


# leases and the clock


def test_what_is_committed_after_its_lane_was_given_back_does_not_count(migrated_dsn: str) -> None:
    """A lane that is given back sleeps until the runs it knew of: this one it would sleep over."""

    async def story(store: PostgresStore) -> None:
        await store.add_feed(new_feed())
        (claim,) = await claim_all(store)
        (feed,) = claim.feeds
        later = [(feed.id, NOON + DAY)]
        await store.release(claim.lane, claim.lane.pace, now=NOON, deferred=later)

        done = await store.commit(a_refresh(feed, 1, at=NOON, lane=claim.lane))

        assert done.fenced

    tell(migrated_dsn, story)


def test_a_lease_that_was_lost_does_not_keep_the_one_after_it_from_being_given_back(
    migrated_dsn: str,
) -> None:
    async def story(store: PostgresStore) -> None:
        for number in (1, 2):
            await store.add_feed(new_feed(number, host="one.example"))
        (lost,) = await claim_all(store, feeds=1)
        (held,) = await claim_all(store, feeds=1, now=NOON + timedelta(seconds=90))
        both = [ReleasedLane(one.lane, one.lane.pace) for one in (held, lost)]

        await store.database.write(lambda c: release_all(c, both))

        assert await store.workers() == ()  # nobody holds anything

    tell(migrated_dsn, story)


def test_clocks_that_differ_a_little_take_no_lease_from_anybody(migrated_dsn: str) -> None:
    """A worker with short leases that starts meanwhile would cut the long ones of the others."""

    async def story(store: PostgresStore) -> None:
        for number in (1, 2):
            await store.add_feed(new_feed(number, host="one.example"))
        (claim,) = await store.claim("long", now=NOON, lease_sec=600, max_lanes=1, max_feeds=1)
        ahead = NOON + timedelta(milliseconds=40)
        await store.commit(a_refresh(claim.feeds[0], 1, at=ahead, lane=claim.lane))

        followed = await store.follow_clock(NOON, lease_sec=30)

        assert followed == 0
        assert await claim_all(store, "short", now=NOON + timedelta(seconds=60)) == ()

    tell(migrated_dsn, story)


# bodies


def test_a_body_is_not_forgotten_while_somebody_is_about_to_point_at_it(migrated_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        feed, _ = await store.add_feed(new_feed())
        old = "a" * 64
        await store.commit(replace(a_refresh(feed, 1, at=NOON), blob=blob_ref(old)))
        refresh = a_refresh(feed, 2, at=NOON + HOUR)
        again = replace(refresh, blob=blob_ref(old), feed=replace(refresh.feed, body_sha256=old))
        is_written, may_end = asyncio.Event(), asyncio.Event()

        async def write_slowly(connection: PgConnection) -> None:
            await commit_group(connection, [again], LaneSettings(), TotalsWriter())
            is_written.set()
            await may_end.wait()

        writing = asyncio.create_task(store.database.write(write_slowly))
        await is_written.wait()

        forgetting = asyncio.create_task(store.delete_blobs([old]))
        await _somebody_waits(store)
        may_end.set()
        await writing
        await forgetting

        assert await store.blob(old) is not None

    tell(migrated_dsn, story)


def test_two_feeds_of_one_group_may_have_served_the_same_body(migrated_dsn: str) -> None:
    async def story(store: PostgresStore) -> None:
        feeds = [(await store.add_feed(new_feed(number)))[0] for number in (1, 2)]
        runs = [
            replace(a_refresh(one, 1, at=NOON), blob=blob_ref("a" * 64, segment=f"s{one.id}"))
            for one in feeds
        ]

        done = await store.database.write(
            lambda c: commit_group(c, runs, LaneSettings(), TotalsWriter())
        )

        assert not any(one.fenced or one.duplicate for one in done)
        kept = await store.blob("a" * 64)
        assert kept is not None
        assert kept.segment == f"s{feeds[0].id}"

    tell(migrated_dsn, story)


# large documents


def test_keys_are_gone_through_as_often_for_many_known_entries_as_for_few(
    migrated_dsn: str,
) -> None:
    """A document of ten thousand entries once held up everything else for minutes."""

    async def story(store: PostgresStore) -> None:
        rounds = []
        for number, count in ((1, 2), (2, 40)):
            feed, _ = await store.add_feed(new_feed(number))
            entries = [an_entry(f"{number}-{at}") for at in range(count)]
            changes = await read(store, feed, entries)
            keys = Counted(key for change in changes.changes for key in change.new_keys)  # type: ignore[union-attr]  # all are new
            await poll(store, feed, 1, entries, at=NOON)
            keys.rounds = 0

            rows = await store.database.read(lambda c, f=feed, k=keys: known(c, f.id, k, ()))  # type: ignore[misc]

            assert len(rows) == count
            rounds.append(keys.rounds)
        assert rounds[0] == rounds[1]

    tell(migrated_dsn, story)


class Counted(list[IdentityKey]):
    """Counts how often somebody goes through it."""

    rounds = 0

    def __iter__(self) -> Iterator[IdentityKey]:
        self.rounds += 1
        return super().__iter__()


async def _somebody_waits(store: PostgresStore) -> None:
    """Until one of the others waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    await wait_for_answer(
        lambda: store.database.read(lambda c: c.fetchval(waiting)),
        bool,
        "a lock that is waited for",
    )


async def _sql(server: PostgresServer, statement: str) -> None:
    await asyncio.to_thread(server.run_sql, statement)
