"""Chance that can be replayed."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.schedule.delay import jitter_share, spread

NOW = datetime(2025, 10, 14, 9, 30, tzinfo=UTC)


def test_the_share_is_pinned_so_that_stored_decisions_can_be_replayed() -> None:
    share = jitter_share("feed-1", NOW)

    assert share == pytest.approx(-0.9204678525560244)


def test_the_zone_of_the_clock_does_not_change_the_share() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-7)))

    assert jitter_share("feed-1", elsewhere) == jitter_share("feed-1", NOW)


def test_feeds_and_runs_are_spread_over_the_whole_range() -> None:
    by_feed = [jitter_share(f"feed-{number}", NOW) for number in range(1_000)]
    by_run = [jitter_share("feed", NOW + timedelta(seconds=number)) for number in range(1_000)]

    for shares in (by_feed, by_run):
        assert len(set(shares)) == 1_000
        assert abs(sum(shares) / 1_000) < 0.1
        assert min(shares) < -0.9
        assert max(shares) > 0.9


@given(st.text(), st.datetimes(timezones=st.just(UTC)))
def test_the_share_stays_between_minus_one_and_one(feed_id: str, run_at: datetime) -> None:
    share = jitter_share(feed_id, run_at)

    assert -1 <= share < 1


@pytest.mark.parametrize(
    ("share", "seconds"),
    [
        pytest.param(-1.0, 850, id="earliest"),
        pytest.param(0.0, 1_000, id="not at all"),
        pytest.param(0.5, 1_075, id="half way later"),
    ],
)
def test_a_duration_moves_by_its_share_of_the_ratio(share: float, seconds: float) -> None:
    moved = spread(1_000, share=share, ratio=0.15)

    assert moved == pytest.approx(seconds)
