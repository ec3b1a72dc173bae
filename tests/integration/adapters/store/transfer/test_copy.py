"""A store moves from SQLite into PostgreSQL: everything is there, and polling goes on as it was."""

import asyncio
from pathlib import Path

import pytest
from tests.support.engine_harness import opened
from tests.support.feed_documents import paper
from tests.support.populated_home import (
    NUL,
    REPLACED,
    by_hand,
    config_of,
    everything,
    live,
)
from tests.support.sample_refreshes import new_feed
from tests.support.servers.postgres import PostgresServer
from tests.support.store_transfer import carried, compared
from tests.support.waiting import hang_guard

from feedmill.adapters.store.check_rows import LEFT_BEHIND, TABLES
from feedmill.adapters.store.sqlite.connection import ADD_KEY, key_hash
from feedmill.app.services import open_services
from feedmill.config import StoreConfig
from feedmill.engine.documents.raw_documents import load_body
from feedmill.errors import ConflictError
from feedmill.model.page import EntryFilter

OWN_TABLES = {"outbox", "log_head", "cell", "gathered", "transfers", "transfer_parts"}


def test_a_mill_that_lived_has_rows_of_every_kind(home: Path) -> None:
    """Otherwise the other tests would prove little."""
    with by_hand(home) as old:
        counts = {
            table.name: old.execute(f"SELECT count(*) FROM {table.old_name}").fetchone()[0]
            for table in TABLES
        }

    assert [name for name, count in counts.items() if not count] == []


def test_every_table_and_every_column_of_both_stores_is_carried(
    home: Path, postgres: PostgresServer, migrated_dsn: str
) -> None:
    """A migration that adds one has to say here how it moves."""
    with by_hand(home) as old:
        names = {row[0] for row in old.execute("SELECT name FROM sqlite_schema WHERE type='table'")}
        columns = {
            table.name: {row[1] for row in old.execute(f"PRAGMA table_info({table.old_name})")}
            for table in TABLES
        }
    rows = postgres.run_sql(
        "SELECT relname || ' ' || attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT relispartition AND attnum > 0 AND NOT attisdropped",
        dsn=migrated_dsn,
    )
    new: dict[str, set[str]] = {}
    for line in rows.split("\n"):
        name, _, column = line.partition(" ")
        new.setdefault(name, set()).add(column)

    carried_names = {table.old_name for table in TABLES}
    own = {name for name in names if name.startswith("entry_search_index")}  # made of the tokens
    own |= {"sqlite_sequence", "fetch_numbers"}  # PostgreSQL counts by itself
    assert names - own == carried_names | LEFT_BEHIND
    assert set(new) == {table.name for table in TABLES} | LEFT_BEHIND | OWN_TABLES
    for table in TABLES:
        made = {*table.digests, *table.copies}
        kept = columns[table.name] - {*table.left_out}
        assert new[table.name] == kept | made, table.name


async def test_every_read_of_the_old_store_is_the_same_in_the_new_one(
    home: Path, migrated_dsn: str
) -> None:
    async with open_services(config_of(home)) as services:
        before = await everything(services.store)

    done = await carried(home, migrated_dsn, batch_rows=7)

    async with open_services(config_of(home, migrated_dsn)) as services:
        after = await everything(services.store)
    assert [name for name in before if before[name] != after[name]] == []
    assert (done.ended, done.is_same, done.resumed) == (True, True, False)


async def test_what_postgresql_cannot_hold_is_replaced_and_counted(
    home: Path, migrated_dsn: str
) -> None:
    done = await carried(home, migrated_dsn)

    replaced = {table.name: table.replaced for table in done.tables if table.replaced}
    assert replaced["entries"] >= 2 * 3  # title, author and category of two entries
    assert replaced["entry_identities"] >= 2
    assert sum(table.folded for table in done.tables) == 0
    async with open_services(config_of(home, migrated_dsn)) as services:
        titles = {entry.title for entry in (await services.store.entries(EntryFilter())).items}
    assert f"Título{REPLACED} 漢字 🦉 b" in titles


async def test_a_key_that_becomes_the_same_as_another_does_not_stop_the_move(
    home: Path, migrated_dsn: str
) -> None:
    """A publisher could choose both; the entry keeps its other keys."""
    with by_hand(home) as old:
        keys = old.execute("SELECT key_type, key_value FROM entry_identities").fetchall()
        odd = [(kind, value.replace(NUL, REPLACED)) for kind, value in keys if NUL in value]
        (stranger,) = old.execute("SELECT min(entry_id) FROM entries").fetchone()
        twins = [(*key, stranger) for key in odd]
        old.create_function("key_hash", 1, key_hash)
        old.executemany(ADD_KEY, twins)

    done = await carried(home, migrated_dsn, batch_rows=10)

    assert len(twins) >= 2
    assert done.ended
    carried_ones = next(one for one in done.tables if one.name == "entry_identities")
    identities = next(one for one in done.compared if one.name == "entry_identities")
    assert carried_ones.folded == identities.folded == len(twins)
    assert identities.rows_from == identities.rows_to + len(twins)
    assert (await compared(home, migrated_dsn)).is_same


async def test_polling_goes_on_where_it_was(tmp_path: Path, migrated_dsn: str) -> None:
    """Nothing is new, validators are sent, nobody is asked early, raw documents are found."""
    home = tmp_path / "home"

    async with hang_guard(), opened(home, addresses=2) as stage:
        feed = await live(stage)
        due, last = (
            await stage.services.store.next_due_at(),
            await stage.services.store.last_seq(),
        )
        uids = {entry.entry_uid for entry in await stage.entries()}
        asked = len(stage.requests())
        await stage.close()

        await carried(home, migrated_dsn)
        await stage.open(store=StoreConfig(home=str(home), url=migrated_dsn))

        assert await stage.services.store.next_due_at() == due
        assert await stage.pass_once() == 0  # the clock stands still: nobody is due
        unchanged = await stage.poll(feed)
        assert len(stage.requests()) == asked + 1
        assert stage.requests()[-1].header("if-none-match") == '"3"'
        assert unchanged.last_status == 304
        stage.publish(feed, paper(3, 2))  # the same items in another order, without validators
        changed = await stage.poll(feed)
        assert (changed.last_status, changed.new_entries_last_fetch) == (200, 0)
        assert {entry.entry_uid for entry in await stage.entries()} == uids
        for one in await stage.fetches(feed):
            assert one.body_sha256 is None or await load_body(
                one.body_sha256, stage.services.store, stage.services.blobs
            )
        later = await stage.services.store.events(after=last)
        assert [event.seq for event in later] == list(range(last + 1, last + len(later) + 1))


async def test_new_rows_get_numbers_that_no_old_row_ever_had(home: Path, migrated_dsn: str) -> None:
    """The entry with the largest number was removed; its number stays its own."""
    with by_hand(home) as old:
        old.execute("UPDATE sqlite_sequence SET seq = 9000 WHERE name = 'entries'")

    await carried(home, migrated_dsn)

    async with open_services(config_of(home, migrated_dsn)) as services:
        added, is_new = await services.store.add_feed(new_feed(99))
        entry_id = await services.store.database.read(  # type: ignore[attr-defined]
            lambda c: c.fetchval("SELECT nextval(pg_get_serial_sequence('entries', 'entry_id'))")
        )

    assert (is_new, added.id, entry_id) == (True, "feed-00000099", 9001)


async def test_the_lanes_of_a_mill_that_was_killed_come_over_free_and_rest_as_long(
    home: Path, migrated_dsn: str
) -> None:
    """Its leases end when they would have ended; its host is not asked before that."""
    with by_hand(home) as old:
        old.execute("UPDATE lanes SET owner = 'gone', epoch = epoch + 5")
        epochs = dict(old.execute("SELECT lane_key, epoch FROM lanes"))
        until = dict(old.execute("SELECT lane_key, claim_at FROM lanes"))

    await carried(home, migrated_dsn)

    async with open_services(config_of(home, migrated_dsn)) as services:
        rows = await services.store.database.read(  # type: ignore[attr-defined]
            lambda c: c.fetch("SELECT lane_key, epoch, claim_at, owner FROM lanes")
        )
        assert await services.store.workers() == ()
    assert {row["lane_key"]: row["epoch"] for row in rows} == epochs
    assert {row["lane_key"]: row["claim_at"] for row in rows} == until
    assert {row["owner"] for row in rows} == {None}


def test_fetches_and_events_find_the_partitions_of_their_days(
    home: Path, postgres: PostgresServer, migrated_dsn: str
) -> None:
    """Retention drops a day as a whole, also one from before the move."""
    asyncio.run(carried(home, migrated_dsn))

    left = postgres.run_sql(
        "SELECT (SELECT count(*) FROM fetches_other) + (SELECT count(*) FROM events_other)",
        dsn=migrated_dsn,
    )

    assert left == "0"


async def test_a_move_that_has_ended_is_not_begun_again(home: Path, migrated_dsn: str) -> None:
    await carried(home, migrated_dsn)

    for options in ({}, {"restart": True}):
        with pytest.raises(ConflictError) as refused:
            await carried(home, migrated_dsn, **options)
        assert refused.value.reason == "already-moved"
    assert (await compared(home, migrated_dsn)).is_same


async def test_a_dry_run_says_what_would_go_and_writes_nothing(
    home: Path, postgres_dsn: str
) -> None:
    plan = await carried(home, postgres_dsn, dry_run=True)
    again = await carried(home, postgres_dsn, dry_run=True)

    assert plan == again
    assert plan.migrations
    assert {table.name: table.rows for table in plan.tables}["feeds"] > 5
    done = await carried(home, postgres_dsn)
    assert (done.ended, done.migrations) == (True, plan.migrations)


async def test_an_empty_store_moves_too(tmp_path: Path, migrated_dsn: str) -> None:
    async with open_services(config_of(tmp_path / "home")) as services:
        assert await services.store.last_seq() == 0

    done = await carried(tmp_path / "home", migrated_dsn)

    assert done.ended
    async with open_services(config_of(tmp_path / "home", migrated_dsn)) as services:
        assert await services.store.last_seq() == 0
        assert await services.store.problems() == ()
