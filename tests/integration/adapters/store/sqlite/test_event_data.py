"""SQLite stores once what an event says in its columns and in its data; readers see no difference (the contract suite)."""

import sqlite3
from contextlib import closing

import msgspec
from tests.support.sample_refreshes import NOON

from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite.event_log import append_events
from feedmill.model.event import NewEvent


def test_ids_and_time_of_an_event_are_stored_once() -> None:
    data = {"entry_uid": "guid:1", "feed_id": "feed-1", "ingested_at": NOON, "title": "A title"}
    event = NewEvent(
        type="new_entry", feed_id="feed-1", entry_uid="guid:1", occurred_at=NOON, data=data
    )

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        migrate(store)
        append_events(store, [event], "a test")
        (text,) = store.execute("SELECT data FROM outbox").fetchone()

    assert msgspec.json.decode(text) == {
        "entry_uid": True,
        "feed_id": True,
        "ingested_at": True,
        "title": "A title",
    }
