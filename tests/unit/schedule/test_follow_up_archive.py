"""An archive is walked where the feed or one of its tags asks for it."""

from datetime import UTC, datetime

import pytest

from feedmill.config import BackfillConfig, ScheduleConfig
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.schedule.follow_up import backfill_job, is_backfilled
from feedmill.schedule.interval import initial_state

NOON = datetime(2025, 10, 13, 12, tzinfo=UTC)


def feed(*tags: str, asks: bool = False) -> Feed:
    return Feed(
        id="f",
        url="https://paper.example/feed",
        feed_key="k",
        created_at=NOON,
        next_poll_at=NOON,
        schedule=initial_state(ScheduleConfig()),
        tags=tags,
        overrides=FeedOverrides(archive_backfill=asks),
    )


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(feed(), False, id="nobody asks"),
        pytest.param(feed(asks=True), True, id="the feed asks"),
        pytest.param(feed("news", "old"), True, id="a tag asks"),
        pytest.param(feed("news"), False, id="another tag"),
    ],
)
def test_an_archive_is_wanted_by_feed_or_tag(found: Feed, wanted: bool) -> None:
    assert is_backfilled(found, BackfillConfig(tags=("old",))) is wanted


def test_the_job_of_a_feed_is_one_and_stays() -> None:
    assert backfill_job(feed()).payload == {}
    job = backfill_job(feed(), max_pages=3)

    assert (job.key, job.feed_id, job.url) == ("f", "f", "https://paper.example/feed")
    assert job.keep
    assert job.payload == {"max_pages": 3}
