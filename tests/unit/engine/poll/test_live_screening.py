"""Which new entries a live screen lets through, and what becomes of the others."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.sample_candidate_files import said

from feedmill.config import Config
from feedmill.engine.documents.read_document import (
    ComparedDocument,
    ParsedDocument,
    compare,
    read_document,
)
from feedmill.engine.poll.live_screening import is_accepted, screen_for, split_held
from feedmill.model.feed import Feed
from feedmill.model.fetch import RawDocument
from feedmill.model.identity import Added
from feedmill.model.refresh import ExistingEntries
from feedmill.model.schedule import ScheduleState
from feedmill.model.screening import LiveScreen

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
FEED = Feed(
    id="feed-1",
    url="https://paper.example/feed",
    feed_key="https://paper.example/feed",
    created_at=NOON,
    next_poll_at=NOON,
    schedule=ScheduleState(interval_sec=900.0),
    tags=("news", "green"),
)
ITEM = "<item><guid>{0}</guid><title>Title {0}</title><pubDate>Mon, 05 Jan 2026 0{0}:00:00 GMT</pubDate></item>"


def a_screen(name: str, **facts: Any) -> LiveScreen:
    return LiveScreen(id=name, created_at=NOON, **facts)


def a_reading() -> ComparedDocument:
    items = "".join(ITEM.format(number) for number in (1, 2, 3))
    body = f"<rss version='2.0'><channel><title>Paper</title>{items}</channel></rss>".encode()
    made = read_document(RawDocument(body=body, url=FEED.url), FEED, (), Config(), NOON)
    assert isinstance(made, ParsedDocument)
    return compare(made, ExistingEntries(), FEED, Config())


def added(read: ComparedDocument) -> list[Added]:
    return [change for change in read.changes.changes if isinstance(change, Added)]


def test_a_feeds_own_screen_comes_before_that_of_a_tag_and_an_older_one_first() -> None:
    tagged, later = a_screen("tag", tag="green"), a_screen("later", tag="news")
    own, other = a_screen("own", feed_id="feed-1"), a_screen("other", feed_id="feed-2")

    assert screen_for((tagged, later, other, own), FEED) == own
    assert screen_for((tagged, later, other), FEED) == tagged
    assert screen_for((other, a_screen("none", tag="sport")), FEED) is None


@pytest.mark.parametrize(
    ("keep_at", "facts", "expected"),
    [
        (0.8, {}, True),  # exactly at the bar
        (0.81, {}, False),
        (None, {"score": 1.0}, False),  # the rule is that everything waits
        (0.1, {"suggestion": "unsure"}, False),
        (0.1, {"suggestion": "drop"}, False),
        (0.1, {"is_suspicious": True}, False),  # it tries to steer
        (0.1, {"is_degraded": True}, False),  # half of the judgement is missing
    ],
)
def test_whatever_is_doubtful_waits(
    keep_at: float | None, facts: dict[str, Any], expected: bool
) -> None:
    screening = replace(said(0), **facts)

    assert is_accepted(a_screen("s", tag="green", keep_at=keep_at), screening) is expected


def test_what_is_not_let_through_leaves_the_changes_and_is_noted() -> None:
    read = a_reading()
    first, second, third = added(read)

    apart = split_held(read, {second.entry_uid}, {}, {third.entry_uid: said(0)})

    assert added(apart) == [second]
    assert apart.changes.summary.added == 1
    assert [one.change for one in apart.held] == [first, third]
    assert [one.screening for one in apart.held] == [None, said(0)]


def test_what_begins_to_wait_still_counts_as_published() -> None:
    read = a_reading()

    apart = split_held(read, set(), {}, {})

    assert apart.newly_held == 3
    assert set(apart.new_dates) == set(read.new_dates)


def test_what_waits_already_is_noted_again_only_in_other_words() -> None:
    read = a_reading()
    first, second, third = added(read)
    before = {
        first.entry_uid: first.seen.content_hash,
        second.entry_uid: "other words",
    }

    apart = split_held(read, {third.entry_uid}, before, {})

    assert added(apart) == [third]
    assert [one.change for one in apart.held] == [second]
    assert apart.newly_held == 0
    assert apart.new_dates == (third.seen.entry.published_effective,)
