"""The virtual publisher and its figures: what is seen, when, and what rolls out of the document."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from feedmill.config import ScheduleConfig
from feedmill.schedule.simulation import Series, VirtualPoll, own_policy, simulate, summarise

START = datetime(2025, 10, 13, tzinfo=UTC).timestamp()
HOUR, DAY = 3_600.0, 86_400.0


def a_series(*times: float, window: int = 3, days: float = 1.0, ttl: int | None = None) -> Series:
    return Series(
        id="s",
        times=tuple(START + at for at in times),
        start=START,
        end=START + days * DAY,
        window=window,
        ttl_sec=ttl,
    )


def test_entries_are_found_at_the_next_poll_and_the_rest_is_304() -> None:
    series = a_series(-HOUR, 1.5 * HOUR, 23.5 * HOUR)

    done = simulate(series, lambda _poll: HOUR)

    assert len(done.polls) == 25
    assert done.delays == (0.5 * HOUR, 0.5 * HOUR)
    assert (done.unchanged, done.missed) == (22, 0)


def test_an_entry_that_is_found_after_the_end_still_has_its_delay() -> None:
    done = simulate(a_series(23 * HOUR), lambda _poll: 20 * HOUR)

    assert (len(done.polls), done.delays, done.missed) == (2, (17 * HOUR,), 0)


def test_entries_that_leave_the_document_unseen_are_missed() -> None:
    series = a_series(*(HOUR + at for at in range(5)))

    done = simulate(series, lambda _poll: 12 * HOUR)

    assert (done.missed, len(done.delays)) == (2, 3)


def test_a_policy_sees_the_dates_that_entries_state() -> None:
    polls: list[VirtualPoll] = []
    stated = Series(
        id="s",
        times=(START - HOUR, START + HOUR),
        dates=(None, START - DAY),
        start=START,
        end=START + 3 * HOUR,
        window=5,
    )

    def note(poll: VirtualPoll) -> float:
        polls.append(poll)
        return 2 * HOUR

    simulate(stated, note)

    assert [(one.is_first, one.dates, one.window) for one in polls] == [
        (True, (None,), 1),
        (False, (START - DAY,), 2),
    ]


@pytest.mark.parametrize("policy", ["budget", "seed"])
def test_the_schedulers_own_policy_polls_within_its_floor_and_ceiling(policy: str) -> None:
    config = ScheduleConfig(policy=policy, jitter_ratio=0.0)  # type: ignore[arg-type]  # one of both
    series = a_series(*(at * 6 * HOUR for at in range(-20, 40)), days=10, ttl=7_200)

    done = simulate(series, own_policy(series, config))
    gaps = [later - earlier for earlier, later in pairwise(done.polls)]

    assert min(gaps) >= 7_200
    assert max(gaps) <= DAY
    assert len(done.delays) == 39


def test_the_summary_counts_over_feeds_and_over_entries() -> None:
    one = simulate(a_series(0.5 * HOUR, 2 * HOUR), lambda _poll: HOUR)
    other = simulate(a_series(), lambda _poll: 12 * HOUR)

    total = summarise([one, other])

    assert (total.feeds, total.requests, total.entries, total.missed) == (2, 28, 2, 0)
    assert total.requests_per_day == 14
    assert total.mean_delay_sec == total.median_delay_sec == 0.25 * HOUR
    assert total.p90_delay_sec == pytest.approx(0.45 * HOUR)
    assert total.unchanged_share == pytest.approx(24 / 28)


def test_the_summary_of_nothing_has_no_delays() -> None:
    assert summarise([]).requests_per_day == 0
    quiet = summarise([simulate(a_series(), lambda _poll: DAY)])
    assert (quiet.mean_delay_sec, quiet.p90_delay_sec, quiet.feed_median_delay_sec) == (None,) * 3
    single = summarise([simulate(a_series(HOUR), lambda _poll: DAY)])
    assert single.p90_delay_sec == 23 * HOUR
