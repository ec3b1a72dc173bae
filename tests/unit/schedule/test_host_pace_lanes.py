"""Lanes of big hosts as the settings say it, and pauses that are more than a gap."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.config import HostConfig
from feedmill.errors import ConfigError
from feedmill.model.feed import HostPace, Lane
from feedmill.model.schedule import Outcome
from feedmill.schedule.host_pace import MAX_LANES, lanes_by_host, pace_after, pause_until

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONFIG = HostConfig(min_gap_ms=1000, rps=1.0)
URL = "https://host.example/feed"


def test_no_host_is_big_by_default() -> None:
    assert lanes_by_host(HostConfig()) == {}


def test_a_big_host_is_named_with_its_number_of_lanes() -> None:
    config = HostConfig(lanes=("WWW.example.com=4", " other.example:8080=64 "))

    assert lanes_by_host(config) == {"www.example.com": 4, "other.example:8080": 64}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("www.example.com", id="without a number"),
        pytest.param("=4", id="without a host"),
        pytest.param("www.example.com=", id="an empty number"),
        pytest.param("www.example.com=four", id="a word"),
        pytest.param("www.example.com=0", id="no lane at all"),
        pytest.param("www.example.com=-1", id="less than none"),
        pytest.param(f"www.example.com={MAX_LANES + 1}", id="too many"),
        pytest.param("www.example.com=" + "9" * 5_000, id="more digits than Python converts"),
        pytest.param("www.example.com=²", id="a digit of another kind"),
    ],
)
def test_what_is_no_host_and_number_is_told(entry: str) -> None:
    with pytest.raises(ConfigError, match=r"like www\.example\.com=4"):
        lanes_by_host(HostConfig(lanes=(entry,)))


def test_every_mistake_is_told_at_once_and_a_host_has_one_number() -> None:
    with pytest.raises(ConfigError) as caught:
        lanes_by_host(HostConfig(lanes=("a.example=2", "x", "A.example=3")))

    assert len(caught.value.mistakes) == 2
    assert caught.value.mistakes[1] == "lanes names a.example twice"


def test_an_ordinary_gap_is_no_pause() -> None:
    calm = pace_after(
        HostPace(gap_ms=1_000), URL, Outcome(kind="unchanged"), ended_at=NOON, config=CONFIG
    )

    assert pause_until(calm, ended_at=NOON) is None
    assert pause_until(HostPace(gap_ms=1_000), ended_at=NOON) is None


def test_a_gap_that_trouble_has_doubled_is_no_pause_either() -> None:
    outcome = Outcome(kind="failed", reason="server-error", http_status=500)

    troubled = pace_after(HostPace(gap_ms=1_000), URL, outcome, ended_at=NOON, config=CONFIG)

    assert troubled.slow_down == 2.0
    assert pause_until(troubled, ended_at=NOON) is None


def test_a_retry_after_and_an_incident_are_pauses() -> None:
    limited = Outcome(kind="failed", reason="rate-limited", http_status=429, retry_after_sec=600.0)
    down = Outcome(kind="failed", reason="timeout-connect")
    failing = HostPace(gap_ms=1_000, failures=2, failing_with="timeout-connect")

    asked = pace_after(HostPace(gap_ms=1_000), URL, limited, ended_at=NOON, config=CONFIG)
    incident = pace_after(failing, URL, down, ended_at=NOON, config=CONFIG)

    assert pause_until(asked, ended_at=NOON) == NOON + timedelta(seconds=600)
    assert pause_until(incident, ended_at=NOON) == NOON + timedelta(seconds=60)


def test_a_lane_knows_whether_it_is_one_of_several() -> None:
    pace = HostPace(gap_ms=1_000)

    assert Lane(id=1, key="big.example#0", epoch=1, pace=pace).has_siblings
    assert not Lane(id=1, key="small.example:8080", epoch=1, pace=pace).has_siblings
