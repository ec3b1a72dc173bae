"""Rows of the old store as the new one takes them, and how two lists of rows are compared."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from feedmill.adapters.store.check_rows import TABLES, Table
from feedmill.adapters.store.tables.codec import Row, digest
from feedmill.adapters.store.transfer.copy import Rows, TableComparison, pairs
from feedmill.adapters.store.transfer.sqlite_source import Translation, ordering
from feedmill.model.running.worker import RowDifference, Transfer

THINGS = Table(
    name="things",
    key=("no", "name_hash"),
    digests={"name_hash": "name"},
    copies={"host": "place"},
    json=("list",),
    blank=("owner",),
)
COLUMNS = ("no", "name", "list", "owner", "place")
TRANSLATION = Translation(THINGS, COLUMNS)
PAIRS = Translation(Table(name="pairs", key=("no",)), ("no", "text"))


def test_a_row_keeps_its_values_and_gains_what_the_new_store_looks_for() -> None:
    row, replaced = TRANSLATION((7, "näme", '["a"]', "somebody", "host"))

    assert TRANSLATION.new_columns == (*COLUMNS, "host", "name_hash")
    assert row == (7, "näme", '["a"]', None, "host", "host", digest("näme"))
    assert replaced == 0
    assert TRANSLATION.key_of(row) == (7, digest("näme").hex())


@pytest.mark.parametrize(
    ("listed", "expected", "count"),
    [
        ('["a\\u0000b", "\\u0000"]', '["a\ufffdb","\ufffd"]', 2),
        (r'["a\\u0000"]', r'["a\\u0000"]', 0),  # a backslash and letters
        ('{"\\u0000k": [1.5, null]}', '{"\ufffdk":[1.5,null]}', 1),
        (None, None, 0),
    ],
)
def test_nul_is_replaced_inside_json(listed: str | None, expected: str | None, count: int) -> None:
    row, replaced = TRANSLATION((1, "n", listed, None, "h"))

    assert (row[2], replaced) == (expected, count)


def test_a_digest_is_that_of_the_text_as_it_is_stored() -> None:
    row, replaced = TRANSLATION((1, "a\x00\x00", None, None, "h\x00"))

    assert (row[1], row[5], row[6]) == ("a\ufffd\ufffd", "h\ufffd", digest("a\ufffd\ufffd"))
    assert replaced == 3


def test_sqlite_orders_by_what_postgresql_orders_by() -> None:
    tables = {table.name: table for table in TABLES}

    assert ordering(tables["feeds"], "feed_no") == '"feed_no"'
    assert ordering(tables["feed_tags"], "tag") == 'feedmill_storable("tag")'
    assert ordering(tables["feed_aliases"], "url_hash") == 'feedmill_digest("url")'


def test_the_schedule_comes_last() -> None:
    assert TABLES[-1].name == "feed_sched"


@pytest.mark.parametrize("size", [1, 2, 10])
def test_rows_meet_by_their_keys_however_they_are_cut_into_batches(size: int) -> None:
    old = [(1, "a"), (2, "b"), (4, "d"), (5, "e")]
    new = [(2, "b"), (3, "c"), (4, "D")]

    met = asyncio.run(_meet(old, new, size))

    assert met == [
        ((1, "a"), None),
        ((2, "b"), (2, "b")),
        (None, (3, "c")),
        ((4, "d"), (4, "D")),
        ((5, "e"), None),
    ]


def test_a_tally_counts_hashes_and_names_the_first_difference() -> None:
    tally = TableComparison(PAIRS)
    tally.note((1, "a"), (1, "a"))
    same = tally.result()
    tally.note((2, "b"), (2, "B"))
    tally.note(None, (3, "c"))
    tally.note((4, "d"), None)

    found = tally.result()

    assert same.is_same
    assert same.digest_from == same.digest_to
    assert (found.rows_from, found.rows_to, found.differing) == (3, 3, 3)
    assert found.digest_from != found.digest_to
    assert found.first == RowDifference(kind="changed", key="[2]", columns=("text",))


def test_two_stores_are_the_same_when_no_table_differs() -> None:
    tally = TableComparison(PAIRS)
    tally.note((1, "a"), (1, "a"))
    same = Transfer(source="old", target="new", tables=(), compared=(tally.result(),))
    tally.note((2, "b"), None)

    other = Transfer(source="old", target="new", tables=(), compared=(tally.result(),))

    assert (same.is_same, other.is_same) == (True, False)


async def _meet(
    old: Sequence[Row], new: Sequence[Row], size: int
) -> list[tuple[Row | None, Row | None]]:
    met = pairs(Rows(_cut(old, size), PAIRS), Rows(_cut(new, size), PAIRS))
    return [pair async for pair in met]


async def _cut(rows: Sequence[Row], size: int) -> AsyncIterator[list[Row]]:
    for at in range(0, len(rows), size):
        yield list(rows[at : at + size])
