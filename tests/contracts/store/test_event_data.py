"""Readers get the data of an event as it was given, though SQLite stores once what its columns say."""

from datetime import timedelta, timezone
from typing import Any

import msgspec
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON

from feedmill.adapters.store import statements as sql
from feedmill.model.event import NewEvent

AT = NOON + timedelta(microseconds=921_593)
HERE = timezone(timedelta(hours=2))
OWN = {"entry_uid": "guid:1", "feed_id": "feed-1", "ingested_at": AT}
DATA: tuple[dict[str, Any], ...] = (
    {**OWN, "title": "A title"},
    {"title": "A title", "ingested_at": AT, "feed_id": "feed-1", "entry_uid": "guid:1"},
    {"entry_uid": "guid:2", "feed_id": "feed-2", "ingested_at": AT + timedelta(seconds=1)},
    {"ingested_at": AT.astimezone(HERE)},
    {"entry_uid": None, "feed_id": "", "ingested_at": None},
    {"is_new": True},
    {},
)


def event(data: dict[str, Any]) -> NewEvent:
    return NewEvent(
        type="new_entry", feed_id="feed-1", entry_uid="guid:1", occurred_at=AT, data=data
    )


def test_data_comes_back_as_it_was_given_in_its_order(tell: Tell) -> None:
    async def story(store: Any) -> None:
        given = [event(data) for data in DATA]
        given += [NewEvent(type="host.state", feed_id="", occurred_at=AT, data=DATA[4])]
        await store._write(lambda: sql.append_events(given, "a test"))

        found = await store.events(after=0)

        texts = [msgspec.json.encode(one.data) for one in found]
        assert texts == [msgspec.json.encode(one.data) for one in given]

    tell(story)


def test_data_of_an_earlier_version_is_read(tell: Tell) -> None:
    async def story(store: Any) -> None:
        await store._write(lambda: sql.append_events([event({**OWN})], "a test"))
        (before,) = await store.events(after=0)
        whole = msgspec.json.encode(before.data).decode()

        await store._write(
            lambda: sql.write("UPDATE @numbered_events SET data = $1 WHERE seq = 1", whole)
        )

        assert await store.events(after=0) == (before,)

    tell(story)
