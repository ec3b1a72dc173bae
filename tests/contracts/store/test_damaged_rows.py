"""Rows that cannot be read: each costs its feed alone, in every store."""

import pytest
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, new_feed

from feedmill.adapters.store import statements
from feedmill.adapters.store.sql_store import SqlStore
from feedmill.engine.ports.store import Store
from feedmill.errors import DamagedRowError

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


async def _change(store: Store, column: str, value: object, feed_id: str) -> object:
    assert isinstance(store, SqlStore)

    def change() -> statements.Query[object]:
        before = yield from statements.value(f"SELECT {column} FROM feeds WHERE id = $1", feed_id)
        yield from statements.write(f"UPDATE feeds SET {column} = $1 WHERE id = $2", value, feed_id)
        return before

    return await store._write(change)
