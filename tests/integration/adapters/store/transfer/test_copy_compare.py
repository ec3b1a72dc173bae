"""What a comparison of two stores finds, and which moves are refused."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.support.populated_home import by_hand, config_of, database
from tests.support.sample_refreshes import new_feed
from tests.support.servers.postgres import PostgresServer
from tests.support.store_transfer import carried, command, compared, silent

from feedmill.app.services import open_services
from feedmill.app.store_moves import transfer_store
from feedmill.errors import ConflictError, MigrationError, StoreError, UsageError
from feedmill.model.running.worker import ComparedTable, RowDifference

_SIZE = (
    "UPDATE fetches SET wire_length = coalesce(wire_length, 0) + 1 WHERE feed_no = 1"
    " AND scheduled_at = (SELECT min(scheduled_at) FROM fetches WHERE feed_no = 1)"
)
_REPOINT = (
    "UPDATE entry_identities SET entry_id = 1 WHERE key_value = (SELECT min(key_value)"
    " FROM entry_identities WHERE entry_id = 2)"
)
# What is done to the new store, and the first difference that it makes; None where any will do.
CHANGES = (
    (
        "UPDATE entries SET title = 'Another' WHERE entry_id = 2",
        "entries",
        RowDifference(kind="changed", key="[2]", columns=("title",)),
    ),
    (
        "DELETE FROM events WHERE seq IN (SELECT seq FROM events ORDER BY seq DESC LIMIT 2)",
        "events",
        None,
    ),
    (
        "INSERT INTO consumer_cursors VALUES ('stranger', 1)",
        "consumer_cursors",
        RowDifference(kind="extra", key='["stranger"]'),
    ),
    (_SIZE, "fetches", None),
    (_REPOINT, "entry_identities", None),
)


async def test_one_row_that_is_not_the_same_is_found_and_named(
    home: Path, postgres: PostgresServer, migrated_dsn: str
) -> None:
    await carried(home, migrated_dsn)
    expected: set[str] = set()
    different: dict[str, ComparedTable] = {}
    for statement, table, first in CHANGES:
        postgres.run_sql(statement, dsn=migrated_dsn)
        expected.add(table)

        found = await compared(home, migrated_dsn)

        different = {one.name: one for one in found.compared if not one.is_same}
        assert set(different) == expected
        assert different[table].first is not None, table
        assert first in (None, different[table].first)
        assert different[table].digest_from != different[table].digest_to
    assert different["events"].differing == 2
    assert different["events"].rows_from == different["events"].rows_to + 2


def test_the_command_says_what_differs_and_leaves_with_1(
    home: Path, postgres: PostgresServer, postgres_dsn: str
) -> None:
    status, out, err = command("store", "migrate", f"sqlite:{home}", postgres_dsn, home=home)
    assert status == 0, err
    assert "count and SHA-256 agree" in out
    assert "NUL characters, which PostgreSQL cannot hold, became U+FFFD" in out
    assert f"next: set FEEDMILL_STORE_URL={postgres_dsn}" in out
    same = command("store", "verify", f"sqlite:{home}", home=home, DATABASE_URL=postgres_dsn)
    postgres.run_sql("UPDATE feeds SET etag = '\"x\"' WHERE feed_no = 1", dsn=postgres_dsn)

    status, out, _ = command("store", "verify", f"sqlite:{home}", postgres_dsn, home=home)
    other, told, _ = command("store", "verify", f"sqlite:{home}", postgres_dsn, "--json", home=home)

    assert (same[0], status, other) == (0, 1, 1)
    assert "differs feeds: " in out
    assert "the first is changed in etag: [1]" in out
    (feeds,) = [one for one in json.loads(told)["compared"] if one["differing"]]
    assert feeds["first"] == {"kind": "changed", "key": "[1]", "columns": ["etag"]}


async def test_a_store_that_somebody_has_open_does_not_move(home: Path, migrated_dsn: str) -> None:
    """A mill that only waits for its next poll has it open, too."""

    async with open_services(config_of(home)) as services:
        assert await services.store.last_seq() > 0
        with pytest.raises(ConflictError) as refused:
            await carried(home, migrated_dsn)

    assert refused.value.reason == "in-use"
    assert (await carried(home, migrated_dsn)).ended


async def test_a_new_store_with_rows_of_its_own_is_left_alone(
    home: Path, migrated_dsn: str
) -> None:
    async with open_services(config_of(home, migrated_dsn)) as services:
        await services.store.add_feed(new_feed(1))

    for options in ({}, {"restart": True}, {"dry_run": True}):
        with pytest.raises(ConflictError) as refused:
            await carried(home, migrated_dsn, **options)
        assert refused.value.reason == "not-empty"
    async with open_services(config_of(home, migrated_dsn)) as services:
        assert len((await services.store.feeds()).items) == 1


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DELETE FROM schema_versions WHERE version > 5", "schema-behind"),
        ("INSERT INTO schema_versions VALUES (999, 'later', '')", "newer-schema"),
        ("DROP TABLE schema_versions", "no-schema"),
    ],
)
def test_a_file_of_another_version_is_refused(
    home: Path, postgres_dsn: str, statement: str, reason: str
) -> None:
    with by_hand(home) as old:
        old.execute(statement)

    with pytest.raises(MigrationError) as refused:
        asyncio.run(carried(home, postgres_dsn))

    assert refused.value.reason == reason


def test_a_comparison_needs_tables_on_both_sides(home: Path, postgres_dsn: str) -> None:
    with pytest.raises(MigrationError) as refused:
        asyncio.run(compared(home, postgres_dsn))

    assert refused.value.reason == "schema-behind"


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path, postgres_dsn: str) -> None:
    with pytest.raises(StoreError) as refused:
        asyncio.run(carried(tmp_path, postgres_dsn))

    assert refused.value.reason == "cannot-open"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused(tmp_path: Path, postgres_dsn: str) -> None:
    (tmp_path / "feedmill.db").write_bytes(b"no database at all" * 1000)

    with pytest.raises(StoreError) as refused:
        asyncio.run(carried(tmp_path, postgres_dsn))

    assert refused.value.reason == "corrupt"


def test_a_database_that_does_not_answer_is_told_at_once(home: Path) -> None:
    with pytest.raises(StoreError) as refused:
        asyncio.run(carried(home, "postgresql://nobody@127.0.0.1:1/feedmill"))

    assert refused.value.reason == "cannot-open"


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("postgresql://a/b", "sqlite:x.db", "no way back"),
        ("postgresql://a/b", "postgresql://c/d", "pg_dump"),
        ("sqlite:a.db", "sqlite:b.db", "no store to move into"),
        ("a.db", "postgresql://c/d", "no store to move from"),
        ("sqlite:", "postgresql://c/d", "no store to move from"),
        ("mysql://me:secret@h/d", "postgresql://c/d", "no store to move from"),
    ],
)
def test_only_a_move_from_a_file_into_a_server_is_one(
    tmp_path: Path, source: str, target: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words) as refused:
        asyncio.run(transfer_store(config_of(tmp_path), source, target, silent))

    assert "secret" not in str(refused.value)


def test_the_command_has_to_know_where_to(home: Path) -> None:
    nowhere = command("store", "migrate", f"sqlite:{home}", home=home)

    assert nowhere[0] == 2
    assert "FEEDMILL_STORE_URL" in nowhere[2]


def test_a_dry_run_shows_the_tables_and_their_rows(home: Path, postgres_dsn: str) -> None:
    status, out, err = command(
        "store", "migrate", database(home), postgres_dsn, "--dry-run", home=home
    )

    assert status == 0, err
    assert "would apply  0001_first" in out
    assert "feed_sched\t10" in out
    assert "rows in all, would be copied" in out
