"""Rows that cannot be read, in every store: each costs its feed alone, and the check of the store names it."""

import pytest
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll

from feedmill.adapters.store import statements
from feedmill.adapters.store.check_rows import ROWS_AT_ONCE
from feedmill.adapters.store.sql_store import SqlStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.engine.maintain.check_store import check_store
from feedmill.engine.ports.store import Store
from feedmill.errors import DamagedRowError
from feedmill.model.running.worker import Worker

DAMAGES = {
    "JSON that is none": ("tags", '["a'),
    "JSON of another shape": ("hubs", '{"a": 1}'),
    "instant beyond the year 9999": ("created_at", 9_000_000_000_000_000_000),
}


@pytest.mark.parametrize(("column", "value"), DAMAGES.values(), ids=DAMAGES)
def test_claim_names_the_feed_that_cannot_be_read_and_takes_the_others(
    tell: Tell, column: str, value: object
) -> None:
    async def story(store: Store) -> None:
        good, _ = await store.add_feed(new_feed(1, host="one.example"))
        bad, _ = await store.add_feed(new_feed(2, host="one.example"))
        before = await _change(store, column, value, bad.id)

        (claim,) = await store.claim("me", now=NOON, lease_sec=60, max_lanes=9, max_feeds=9)
        with pytest.raises(DamagedRowError) as refused:
            await store.feed(bad.id)

        assert [feed.id for feed in claim.feeds] == [good.id]
        assert [one.id for one in claim.damaged] == [bad.id]
        assert (refused.value.table, refused.value.column) == ("feeds", column)
        assert bad.id in refused.value.key
        await _change(store, column, before, bad.id)

    tell(story)


# Of every kind: JSON of a codec, JSON without one, an instant, a decision, and a table that has its key from a text.
ROWS = {
    "overrides of a feed": ("feeds", "overrides", "{"),
    "pace of a lane": ("lanes", "limited_urls", "[1"),
    "due time": ("feed_sched", "next_run_at", 9_000_000_000_000_000_000),
    "headers": ("header_blocks", "block", '[["a'),
    "fetch": ("fetches", "fetched_at", 9_000_000_000_000_000_000),
    "decision": ("fetches", "decision", '{"delay_sec": "soon"}'),
    "entry": ("entries", "authors", '[{"name": 1}]'),
    "article": ("articles", "first_seen", 9_000_000_000_000_000_000),
    "event": ("events", "data", "{"),
    "worker": ("workers", "seen_at", 9_000_000_000_000_000_000),
}


@pytest.mark.parametrize(("table", "column", "value"), ROWS.values(), ids=ROWS)
def test_check_names_table_row_and_column_of_what_cannot_be_read(
    tell: Tell, table: str, column: str, value: object
) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
        await store.save_worker(
            Worker(name="me", role="run", version="1", started_at=NOON, seen_at=NOON)
        )
        await store.last_seq()
        sound = await check_store(store)
        stored = "outbox" if table == "events" and isinstance(store, SqliteStore) else table
        before = await _set(store, stored, column, value)

        found = await check_store(store)

        assert sound.problems == ()
        assert found.rows == sound.rows
        assert any(
            one.startswith(f"{table}: the row with ") and f": {column} holds no valid value" in one
            for one in found.problems
        ), found.problems
        await _set(store, stored, column, before)

    tell(story)


def test_check_reads_large_tables_page_by_page_and_counts_what_it_does_not_name(
    tell: Tell,
) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        await poll(store, feed, 1, [an_entry(f"e{number}") for number in range(450)], at=NOON)
        before, pages = await _set(store, "entries", "authors", "["), list[int]()

        found = await check_store(store, on_rows=pages.append)
        quick = await check_store(store, quick=True)

        assert sum(pages) == found.rows
        assert max(pages) <= ROWS_AT_ONCE
        assert sum(": authors holds" in one for one in found.problems) == 100
        assert found.problems[-1] == "entries: 350 further values cannot be read"
        assert quick.problems == ()
        await _set(store, "entries", "authors", before)

    tell(story)


async def _set(store: Store, table: str, column: str, value: object) -> object:
    assert isinstance(store, SqlStore)

    def change() -> statements.Query[object]:
        before = yield from statements.value(f"SELECT {column} FROM {table} LIMIT 1")
        yield from statements.write(f"UPDATE {table} SET {column} = $1", value)
        return before

    return await store._write(change)


async def _change(store: Store, column: str, value: object, feed_id: str) -> object:
    assert isinstance(store, SqlStore)

    def change() -> statements.Query[object]:
        before = yield from statements.value(f"SELECT {column} FROM feeds WHERE id = $1", feed_id)
        yield from statements.write(f"UPDATE feeds SET {column} = $1 WHERE id = $2", value, feed_id)
        return before

    return await store._write(change)
