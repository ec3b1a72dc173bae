"""SQLite keeps the digests of an entry's fields in their short form."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll

from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.identify.hashes import field_digests
from feedmill.model.identity import digests_text


def test_new_entries_have_short_digests(tmp_path: Path) -> None:
    async def story() -> None:
        store = await SqliteStore.open(tmp_path / "store.db")
        feed, _ = await store.add_feed(new_feed(1))
        await poll(store, feed, 1, [an_entry("a")], at=NOON)
        await store.close()

    asyncio.run(story())

    with closing(sqlite3.connect(tmp_path / "store.db")) as store:
        (text,) = store.execute("SELECT field_digests FROM entries").fetchone()
    assert text == digests_text(field_digests(an_entry("a")))
    assert len(text) < 100
