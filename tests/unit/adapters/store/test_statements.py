"""Queries that both databases run: macros in each dialect, and the runner of SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.postgres import run_query as postgres
from feedmill.adapters.store.sqlite import run_query as sqlite
from feedmill.adapters.store.sqlite.connection import store_error
from feedmill.adapters.store.statements import (
    IndexQuery,
    Query,
    Statement,
    append_events,
    lane_of,
    lock,
    row,
    rows,
    slots,
    storable,
    value,
    write,
    write_many,
)
from feedmill.adapters.store.tables.codec import json_text
from feedmill.adapters.store.tables.contents.entries import SEARCH_SEC, entries
from feedmill.model.event import NewEvent
from feedmill.model.page import EntryFilter, EntryOrder
from feedmill.search.query import parse_query


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        migrate(opened)
        yield opened


def run(connection: sqlite3.Connection, query: Query[object]) -> object:
    return sqlite.QueryRunner(gap_ms=1_000).run(connection, query)


@pytest.mark.parametrize(
    ("sql", "on_sqlite", "on_postgres"),
    [
        ("SELECT $1, $12", "SELECT ?1, ?12", "SELECT $1, $12"),
        ("@greatest(a, coalesce(b, 0))", "max(a, coalesce(b, 0))", "greatest(a, coalesce(b, 0))"),
        ("@least(a, $1)", "min(a, ?1)", "least(a, $1)"),
        ("FROM t @lock(FOR NO KEY UPDATE)", "FROM t ", "FROM t FOR NO KEY UPDATE"),
        ("id @in($2)", "id IN (SELECT value FROM json_each(?2))", "id = ANY($2)"),
        (
            "FROM @rows($1, a bigint, b text) AS p",
            ("FROM (SELECT json_extract(value, '$[0]') AS a, json_extract(value, '$[1]') AS b"
            " FROM json_each(?1)) AS p"),
            ("FROM (SELECT (v ->> 0)::bigint AS a, (v ->> 1)::text AS b"
            " FROM json_array_elements($1::json) AS v) AS p"),
        ),
        ("(@digest_and_text(url_hash, url))", "(url)", "(url_hash, url)"),
        ("ON CONFLICT (@digest_or_text(url_hash, url))", "ON CONFLICT (url)", "ON CONFLICT (url_hash)"),
        ("= @digest($1)", "= ?1", "= substr(sha256(convert_to($1, 'UTF8')), 1, 20)"),
        (
            "VALUES (@digest_and_value($1))",
            "VALUES (?1)",
            "VALUES (substr(sha256(convert_to($1, 'UTF8')), 1, 20), $1)",
        ),
        ("@field(data, from)", "json_extract(data, '$.from')", "(data::jsonb ->> 'from')"),
        (
            "@contains(e.tags, $1)",
            "?1 IN (SELECT value FROM json_each(e.tags))",
            "e.tags::jsonb ? $1",
        ),
        ("SELECT @last_seq + 1", "SELECT (SELECT coalesce(max(seq), 0) FROM outbox) + 1",
         "SELECT (SELECT seq FROM log_head) + 1"),
    ],
)  # fmt: skip
def test_macro_becomes_the_spelling_of_each_database(
    sql: str, on_sqlite: str, on_postgres: str
) -> None:
    assert sqlite.translate(sql) == on_sqlite
    assert postgres.translate(sql) == on_postgres


def test_both_databases_know_the_same_macros() -> None:
    assert set(sqlite.MACROS) == set(postgres.MACROS)


def test_unknown_macro_is_an_error() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        sqlite.translate("SELECT @nonsense")


def test_slots_are_numbered_from_one() -> None:
    assert slots(3) == "$1, $2, $3"


def test_each_kind_of_statement_answers_what_it_promises(connection: sqlite3.Connection) -> None:
    def query() -> Query[object]:
        yield from write_many(
            "INSERT INTO leases VALUES ($1, $2, $3)", [("a", "x", 1), ("b", "y", 2)]
        )
        yield from write_many("DELETE FROM leases WHERE name = $1", [])
        return (
            (yield from row("SELECT name, until FROM leases WHERE owner = $1", "x")),
            (yield from row("SELECT name FROM leases WHERE owner = $1", "z")),
            (yield from rows("SELECT name FROM leases WHERE name @in($1) ORDER BY name", ["a", "b"])),
            (yield from value("SELECT count(*) FROM leases")),
            (yield from value("SELECT name FROM leases WHERE owner = $1", "z")),
            (yield from write("UPDATE leases SET until = 9")),
            (yield from rows("SELECT p.a FROM @rows($1, a bigint) AS p", json_text([(5,), (6,)]))),
        )  # fmt: skip

    assert run(connection, query()) == (
        ("a", 1), None, [("a",), ("b",)], 2, None, 2, [(5,), (6,)],
    )  # fmt: skip


def test_sqlite_leaves_locks_out_and_values_as_they_are(connection: sqlite3.Connection) -> None:
    def query() -> Query[object]:
        yield from lock("SELECT pg_advisory_xact_lock(1)")
        return (yield from storable(("a\x00b",)))

    assert run(connection, query()) == ("a\x00b",)


def test_text_with_nul_is_not_found_as_its_beginning(connection: sqlite3.Connection) -> None:
    def query() -> Query[object]:
        yield from write("INSERT INTO leases VALUES ($1, $2, $3)", "a", "x", 1)
        return (yield from rows("SELECT name FROM leases WHERE name @in($1)", ["a\x00b"]))

    assert run(connection, query()) == []


def test_steps_of_the_database_itself_run_in_the_same_transaction(
    connection: sqlite3.Connection,
) -> None:
    event = NewEvent(type="feed.state", feed_id="f", occurred_at=datetime(2026, 1, 1, tzinfo=UTC))

    def query() -> Query[object]:
        first = yield from lane_of("https://one.example/feed", "f")
        again = yield from lane_of("http://one.example/other", "g")
        yield from append_events((), "nothing")
        yield from append_events((event, event), "test")
        return first == again, (yield from value("SELECT @last_seq"))

    connection.execute("BEGIN")
    assert run(connection, query()) == (True, 2)
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM outbox").fetchone() == (0,)


def test_error_of_a_statement_ends_the_query(connection: sqlite3.Connection) -> None:
    def query() -> Query[object]:
        return (yield from value("SELECT 1 FROM nowhere"))

    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        run(connection, query())


def test_statement_that_takes_too_long_ends_and_the_connection_goes_on(
    connection: sqlite3.Connection,
) -> None:
    numbers = "SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000000"
    long = f"WITH RECURSIVE n(x) AS ({numbers}) SELECT max(x) FROM n"

    with pytest.raises(sqlite3.OperationalError) as ended:
        run(connection, rows(long, timeout_sec=0.01))

    assert store_error(ended.value).reason == "busy"
    assert run(connection, rows("SELECT $1", 7)) == [(7,)]


@pytest.mark.parametrize("order", ["first_seen", "relevance"])
def test_search_has_a_limit_of_time_and_a_plain_list_has_none(order: EntryOrder) -> None:
    search = entries(EntryFilter(query=parse_query("the -of"), order=order))
    plain = entries(EntryFilter())

    assert isinstance(next(search), IndexQuery)
    asked, listed = search.send("the"), next(plain)

    assert isinstance(asked, Statement)
    assert isinstance(listed, Statement)
    assert (asked.timeout_sec, listed.timeout_sec) == (SEARCH_SEC, None)
