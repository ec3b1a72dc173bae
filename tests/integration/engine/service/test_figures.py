"""Figures as every interface gets them, from real polls."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.engine_harness import NOON, Play, Stage
from tests.support.feed_documents import paper, said

from feedmill.engine.service.figures import (
    feed_figures,
    stats,
    top_feeds,
    total_figures,
    whole_range,
)
from feedmill.errors import NotFoundError, RangeError
from feedmill.model.running.figures import Granularity

_DAY = timedelta(days=1)


def test_figures_of_a_feed_by_day_and_hour_agree(play: Play) -> None:
    async def story(stage: Stage) -> None:
        feed = await stage.add(
            "/feed", paper(1, 2, etag='"1"'), said(304), said(304), said(502), said(404)
        )
        for _ in range(5):
            await stage.poll(feed)
            stage.later(hours=1)

        days = await feed_figures(feed.id, stage.services)
        hours = await feed_figures(feed.id, stage.services, granularity="hour")

        total = days.total
        assert (total.polls, total.fresh, total.unchanged, total.failed) == (5, 1, 2, 2)
        assert (total.failed_host, total.failed_theirs, total.failed_ours) == (1, 1, 0)
        assert (total.entries_new, total.success_rate) == (2, 0.6)
        assert total.bytes_saved == 2 * total.bytes_in > 0
        assert [point.figures.polls for point in hours.points] == [1, 1, 1, 1, 1]
        assert hours.total.bytes_saved == total.bytes_saved
        failures = {(one.outcome, one.status, one.fault) for one in days.failures}
        assert failures == {("server-error", 502, "host"), ("not-found", 404, "theirs")}

    play(story)


def test_figures_of_all_feeds_are_the_sum(play: Play) -> None:
    async def story(stage: Stage) -> None:
        one = await stage.add("/one", paper(1, etag='"1"'), said(304))
        await stage.add("/two", said(500))
        await stage.poll(one)  # and the other, which is due as well
        await stage.poll(one)

        found = await total_figures(stage.services)
        whole = await stats(stage.services, granularity="day")

        assert (found.total.polls, whole.total.polls, len(whole.points)) == (3, 3, 1)
        assert [(item.outcome, item.status, item.count) for item in found.outcomes] == [
            ("fresh", 200, 1), ("server-error", 500, 1), ("unchanged", 304, 1),
        ]  # fmt: skip
        assert [(item.outcome, item.count, item.feeds) for item in found.failures] == [
            ("server-error", 1, 1)
        ]
        assert {item.payload: item.polls for item in found.latency} == {"none": 1, "100kB": 1}
        assert found.new_entries == {"0": 1, "1": 1}
        assert whole.counts["feeds"] == 2

    play(story)


def test_top_feeds_of_today(play: Play) -> None:
    async def story(stage: Stage) -> None:
        quiet = await stage.add("/quiet", paper(1))
        busy = await stage.add("/busy", paper(2, 3, 4))
        await stage.poll(quiet)  # and the other, which is due as well

        found = await top_feeds("new", stage.services)

        assert [(item.feed_id, item.value) for item in found.items] == [(busy.id, 3), (quiet.id, 1)]
        stage.later(days=1)
        assert (await top_feeds("new", stage.services)).items == ()
        yesterday = await top_feeds("new", stage.services, since=NOON, limit=1)
        assert [item.feed_id for item in yesterday.items] == [busy.id]

    play(story)


def test_a_feed_that_is_not_there_has_no_figures(play: Play) -> None:
    async def story(stage: Stage) -> None:
        with pytest.raises(NotFoundError):
            await feed_figures("nothing", stage.services)

    play(story)


@pytest.mark.parametrize(
    ("since", "until", "granularity", "first", "last"),
    [
        pytest.param(None, None, "hour", NOON - _DAY, NOON, id="the last 24 hours"),
        pytest.param(
            None, None, "day", NOON.replace(hour=0) - 29 * _DAY, NOON.replace(hour=0) + _DAY,
            id="the last 30 days",
        ),
        pytest.param(
            NOON - timedelta(minutes=90), NOON - timedelta(minutes=10), "hour",
            NOON - timedelta(hours=2), NOON, id="whole hours",
        ),
    ],
)  # fmt: skip
def test_ranges_are_whole_hours_or_days(
    since: datetime | None,
    until: datetime | None,
    granularity: Granularity,
    first: datetime,
    last: datetime,
) -> None:
    found = whole_range(NOON, since, until, granularity)

    assert (found.since, found.until) == (first, last)


@pytest.mark.parametrize(
    ("since", "until"),
    [
        pytest.param(NOON, NOON - _DAY, id="until before since"),
        pytest.param(datetime(1990, 1, 1, tzinfo=UTC), NOON, id="too many hours"),
        pytest.param(None, datetime.min.replace(tzinfo=UTC), id="before the first hour"),
        pytest.param(NOON, datetime.max.replace(tzinfo=UTC), id="after the last hour"),
    ],
)
def test_an_empty_or_endless_range_is_refused(since: datetime | None, until: datetime) -> None:
    with pytest.raises(RangeError):
        whole_range(NOON, since, until, "hour")
