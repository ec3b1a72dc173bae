from datetime import UTC, datetime

import pytest

from feedmill.adapters.store.tables.codec import (
    FEED_COLUMNS,
    Column,
    RowCodec,
    feed_of,
    given_row,
    micros,
    state_row,
)
from feedmill.model.base import Value
from feedmill.model.feed import Feed, FeedOverrides, MoveCandidate, QuotaUse
from feedmill.model.fetch import Validators
from feedmill.model.schedule import Cadence, Hint, Hints, ScheduleState

AT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)


class Part(Value):
    name: str


class Whole(Value):
    id: int
    at: datetime | None
    flag: bool
    words: tuple[str, ...]
    part: Part | None
    data: dict[str, int]
    state: str = "new"


CODEC = RowCodec(Whole, "id at flag words part data")


@pytest.mark.parametrize(
    ("value", "row"),
    [
        pytest.param(
            Whole(id=1, at=AT, flag=True, words=("a", "b"), part=Part(name="x"), data={"n": 1}),
            (1, micros(AT), 1, '["a","b"]', '{"name":"x"}', '{"n":1}'),
            id="everything is there",
        ),
        pytest.param(
            Whole(id=2, at=None, flag=False, words=(), part=None, data={}),
            (2, None, 0, None, None, "{}"),
            id="an empty tuple and None are NULL, an empty mapping is not",
        ),
    ],
)
def test_the_type_of_a_field_says_how_it_is_kept(value: Whole, row: tuple[object, ...]) -> None:
    kept = CODEC.row(value)
    read = CODEC.value(kept)

    assert kept == row
    assert [type(one) for one in kept] == [type(one) for one in row]  # a flag is no bool
    assert read == value


def test_some_columns_fields_from_elsewhere_and_ways_of_its_own() -> None:
    others = ("at", "words", "part", "data")
    codec = RowCodec(Whole, "id flag state", *others, state=Column(str.upper, str.lower))

    value = codec.value((3, 0, "OLD"), None, (), None, {})

    assert value == Whole(id=3, state="old", at=None, flag=False, words=(), part=None, data={})
    assert codec.row(value, "state") == ("OLD",)
    assert codec.names("t.") == "t.id, t.flag, t.state"


@pytest.mark.parametrize("known", [True, False], ids=["polled", "never polled"])
def test_a_feed_comes_back_as_it_was_stored(known: bool) -> None:
    feed = Feed(
        id="f",
        url="https://example.org/feed",
        feed_key="https://example.org/feed",
        created_at=AT,
        next_poll_at=AT,
        schedule=ScheduleState(interval_sec=60.0),
    )
    if known:
        feed = Feed(
            id="f",
            url="https://example.org/feed",
            feed_key="https://example.org/old",
            created_at=AT,
            next_poll_at=AT,
            schedule=ScheduleState(
                interval_sec=1.5,
                consecutive_failures=2,
                health="backing-off",
                gone_seen_at=AT,
                cadence=Cadence(ewma_sec=3.0, last_published_at=AT),
            ),
            type="rss",
            tags=("a",),
            paused=True,
            overrides=FeedOverrides(headers=(("X-Key", "1"),)),
            validators=Validators(etag='"1"', url="https://example.org/feed", vary_any=True),
            hints=Hints(ttl_sec=Hint(value=60, source="ttl", seen_at=AT)),
            quota=QuotaUse(day=1),
            hubs=("https://hub.example.org/",),
            move=MoveCandidate(
                url="https://example.net/", source="redirect", first_seen_at=AT, last_seen_at=AT
            ),
            https_probed_at=AT,
        )
    columns = [name.partition(".")[2] for name in FEED_COLUMNS.split(", ")]
    given, state = given_row(feed), state_row(feed)

    row = (*given, micros(AT), micros(AT) if known else None, *state)

    assert len(columns) == len(row)
    assert feed_of(row) == feed
