"""How a host is treated after each fetch (D24)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from feedmill.config import HostConfig
from feedmill.model.feed import HostPace
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import (
    host_of_lane,
    host_state,
    host_wait_sec,
    initial_pace,
    is_incident,
    limited_until,
    mark_trouble,
    pace_after,
    shift_pace,
)

NOW = datetime(2025, 10, 14, 9, 30, 5, tzinfo=UTC)
CONFIG = HostConfig(min_gap_ms=1000, rps=1.0)
URL = "https://example.com/feed"
OTHER = "https://example.com/other"
GOOD = Outcome(kind="unchanged", http_status=304)


def may_fetch(pace: HostPace, url: str, now: datetime) -> bool:
    """True when neither the host nor this URL is waiting."""
    return host_wait_sec(pace, now) == 0 and limited_until(pace, url, now) is None


def failed(reason: str, retry_after_sec: float | None = None) -> Outcome:
    return Outcome(kind="failed", reason=reason, retry_after_sec=retry_after_sec)


def seconds(pace: HostPace) -> float:
    assert pace.next_ok_at is not None
    return (pace.next_ok_at - NOW).total_seconds()


def after(pace: HostPace, outcome: Outcome, url: str = URL) -> HostPace:
    return pace_after(pace, url, outcome, ended_at=NOW, config=CONFIG)


@pytest.mark.parametrize(
    ("min_gap_ms", "rps", "gap"),
    [
        pytest.param(1000, 1.0, 1000, id="both say the same"),
        pytest.param(200, 2.0, 500, id="the rate asks for more"),
        pytest.param(3000, 2.0, 3000, id="the minimum gap asks for more"),
        pytest.param(0, 0.0, 0, id="no limit at all"),
    ],
)
def test_the_gap_honours_both_the_minimum_and_the_rate(
    min_gap_ms: int, rps: float, gap: int
) -> None:
    config = HostConfig(min_gap_ms=min_gap_ms, rps=rps)

    pace = initial_pace(config)

    assert pace.gap_ms == gap


def test_the_gap_is_counted_from_the_end_of_the_fetch() -> None:
    pace = after(initial_pace(CONFIG), GOOD)

    assert seconds(pace) == 1.0
    assert not may_fetch(pace, URL, NOW + timedelta(seconds=0.9))
    assert may_fetch(pace, URL, NOW + timedelta(seconds=1.0))


def test_trouble_doubles_the_gap_and_calm_gives_it_back_step_by_step() -> None:
    pace = initial_pace(CONFIG)

    troubled = after(pace, failed("server-error"))
    calm = after(troubled, GOOD)

    assert troubled.slow_down == 2.0
    assert seconds(troubled) == 2.0
    assert calm.slow_down == 1.75
    assert calm.failures == 0


def test_the_slow_down_has_a_ceiling() -> None:
    pace = initial_pace(CONFIG)

    for _ in range(20):
        pace = after(pace, failed("server-error"))

    assert pace.slow_down == CONFIG.max_slow_down


def test_a_429_binds_the_whole_host_at_once() -> None:
    pace = after(initial_pace(CONFIG), failed("rate-limited", 120.0))

    assert seconds(pace) == 120.0
    assert pace.blocked_reason == "rate-limited"
    assert not may_fetch(pace, OTHER, NOW + timedelta(seconds=119))


@pytest.mark.parametrize("asked", [None, 0.0])
def test_a_429_without_a_pause_still_pauses_the_host(asked: float | None) -> None:
    first = after(initial_pace(CONFIG), failed("rate-limited", asked))
    second = after(first, failed("rate-limited", asked))

    assert seconds(first) == 120.0
    assert seconds(second) == 240.0
    assert second.failures == 2


def test_a_retry_after_beyond_the_ceiling_is_read_as_the_ceiling() -> None:
    pace = after(initial_pace(CONFIG), failed("rate-limited", 10**9))

    assert seconds(pace) == CONFIG.retry_after_max_sec


def test_a_503_with_retry_after_binds_its_own_url_first() -> None:
    pace = after(initial_pace(CONFIG), failed("unavailable", 300.0))

    later = NOW + timedelta(seconds=60)
    assert not may_fetch(pace, URL, later)
    assert may_fetch(pace, OTHER, later)


def test_a_second_url_with_503_widens_the_pause_to_the_host() -> None:
    first = after(initial_pace(CONFIG), failed("unavailable", 300.0))

    both = after(first, failed("unavailable", 100.0), url=OTHER)

    assert seconds(both) == 300.0
    assert both.blocked_reason == "unavailable"
    assert not may_fetch(both, "https://example.com/third", NOW + timedelta(seconds=200))


def test_a_pause_of_a_url_is_forgotten_once_it_is_over() -> None:
    pace = after(initial_pace(CONFIG), failed("unavailable", 10.0))

    later = pace_after(pace, OTHER, GOOD, ended_at=NOW + timedelta(seconds=11), config=CONFIG)

    assert later.limited_urls == ()


def test_feeds_that_fail_alike_one_after_the_other_are_an_incident_of_the_host() -> None:
    pace = initial_pace(CONFIG)

    for _ in range(CONFIG.incident_after):
        assert not is_incident(pace, "dns-failure", CONFIG)
        pace = after(pace, failed("dns-failure"))

    assert is_incident(pace, "dns-failure", CONFIG)
    assert not is_incident(pace, "tls-failure", CONFIG)
    assert seconds(pace) == 60.0
    assert pace.blocked_reason == "dns-failure"


def test_an_incident_backs_off_up_to_its_cap() -> None:
    pace = initial_pace(CONFIG)

    for _ in range(30):
        pace = after(pace, failed("dns-failure"))

    assert seconds(pace) == CONFIG.incident_cap_sec


def test_another_kind_of_failure_starts_the_count_anew() -> None:
    pace = after(after(initial_pace(CONFIG), failed("timeout")), failed("tls-failure"))

    assert pace.failures == 1
    assert pace.failing_with == "tls-failure"


def test_a_missing_feed_says_nothing_about_its_host() -> None:
    troubled = after(initial_pace(CONFIG), failed("timeout"))

    pace = after(troubled, failed("not-found"))

    assert pace.failures == 0
    assert pace.slow_down == troubled.slow_down


@given(
    outcomes=st.lists(
        st.sampled_from(
            [
                GOOD,
                failed("timeout"),
                failed("rate-limited"),
                failed("rate-limited", 30.0),
                failed("unavailable", 30.0),
                failed("not-found"),
            ]
        ),
        max_size=30,
    )
)
def test_whatever_happens_the_next_fetch_keeps_the_gap(outcomes: list[Outcome]) -> None:
    pace = initial_pace(CONFIG)

    for number, outcome in enumerate(outcomes):
        pace = after(pace, outcome, url=f"https://example.com/{number % 3}")

        assert seconds(pace) >= 1.0
        assert 1.0 <= pace.slow_down <= CONFIG.max_slow_down


def test_pauses_keep_their_length_when_the_clock_is_set() -> None:
    day, until = timedelta(days=1), NOW + timedelta(hours=1)
    paused = replace(
        initial_pace(HostConfig()), next_ok_at=until, limited_urls=(("https://a.example", until),)
    )

    shifted = shift_pace(paused, -day)

    assert shifted.next_ok_at == until - day
    assert shifted.limited_urls == (("https://a.example", until - day),)
    assert shift_pace(initial_pace(HostConfig()), day) == initial_pace(HostConfig())


@pytest.mark.parametrize(
    ("pace", "state"),
    [
        pytest.param(replace(initial_pace(CONFIG), failures=99, failing_with="timeout"), "incident", id="fails alike"),
        pytest.param(replace(initial_pace(CONFIG), blocked_reason="rate-limited"), "paused", id="asked to be left alone"),
        pytest.param(initial_pace(CONFIG), "well", id="well"),
    ],
)  # fmt: skip
def test_the_state_of_a_host_is_read_from_its_pace(pace: HostPace, state: str) -> None:
    assert host_state(pace, CONFIG) == state


def test_trouble_is_marked_with_its_beginning_and_its_canary_until_it_ends() -> None:
    well = initial_pace(CONFIG)
    failing = replace(well, failing_with="timeout")

    troubled = mark_trouble(well, failing, "feed", at=NOW)
    longer = mark_trouble(troubled, failing, "other", at=NOW + timedelta(hours=1))

    assert (troubled.troubled_since, troubled.canary) == (NOW, "feed")
    assert (longer.troubled_since, longer.canary) == (NOW, "other")
    assert mark_trouble(well, well, "feed", at=NOW) is well
    ended = mark_trouble(troubled, replace(troubled, failing_with=None), "feed", at=NOW)
    assert (ended.troubled_since, ended.canary) == (None, None)


def test_one_of_several_lanes_of_a_host_has_a_number() -> None:
    assert [host_of_lane(key) for key in ("a.example", "a.example#2")] == ["a.example"] * 2
