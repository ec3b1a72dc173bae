"""Which feeds and entries get a full text."""

from datetime import UTC, datetime

import pytest

from feedmill.config import FullTextConfig, IdentifyConfig
from feedmill.identify.keys import identify
from feedmill.model.entry import Entry
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.model.identity import Added, Change, FeedIdentity, Rekeyed
from feedmill.model.schedule import ScheduleState
from feedmill.schedule.follow_up import full_text_jobs, wants_full_text

NOW = datetime(2025, 10, 14, 12, tzinfo=UTC)


def feed_with(*tags: str, full_text: bool | None) -> Feed:
    return Feed(
        id="f",
        url="https://paper.example/feed",
        feed_key="k",
        created_at=NOW,
        next_poll_at=NOW,
        schedule=ScheduleState(interval_sec=900.0),
        tags=tags,
        overrides=FeedOverrides(full_text=full_text),
    )


def added(uid: str, link: str | None) -> Change:
    (seen,) = identify(
        (Entry(guid=uid, link=link),), FeedIdentity(feed_id="f", feed_key="k"), IdentifyConfig()
    )
    return Added(seen=seen, entry_uid=uid, new_keys=(), article="new")


@pytest.mark.parametrize(
    ("own", "tags", "wanted"),
    [(None, (), False), (None, ("news",), True), (True, (), True), (False, ("news",), False)],
)
def test_feed_opts_in_by_itself_or_by_a_tag(
    own: bool | None, tags: tuple[str, ...], *, wanted: bool
) -> None:
    assert (
        wants_full_text(feed_with(*tags, full_text=own), FullTextConfig(tags=("news",))) is wanted
    )


def test_new_entries_with_an_address_are_queued_up_to_the_limit() -> None:
    changes: tuple[Change, ...] = (
        added("a", "https://paper.example/a"),
        added("b", None),
        added("c", "mailto:x@paper.example"),
        Rekeyed(feed_id="f", remaps=()),
        added("d", "https://paper.example/d"),
        added("e", "https://paper.example/e"),
    )

    jobs = full_text_jobs(changes, feed_with(full_text=True), FullTextConfig(max_per_poll=2))

    assert [(job.kind, job.key, job.url, job.feed_id) for job in jobs] == [
        ("fulltext", "a", "https://paper.example/a", "f"),
        ("fulltext", "d", "https://paper.example/d", "f"),
    ]
    assert full_text_jobs(changes, feed_with(full_text=None), FullTextConfig()) == ()
