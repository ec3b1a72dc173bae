"""Windows as people write them: half-open, in UTC."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.engine.two_phase.candidates import is_within, window_between, window_of_last
from feedmill.errors import CandidateError
from feedmill.model.candidate import Window

NOW = datetime(2026, 1, 20, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-01-05", "2026-01-11", ("2026-01-05T00:00Z", "2026-01-12T00:00Z")),  # the day counts
        ("2026-01-05", "2026-01-05", ("2026-01-05T00:00Z", "2026-01-06T00:00Z")),  # one day
        ("2026-01-05", None, ("2026-01-05T00:00Z", "2026-01-20T15:30Z")),  # up to now
        ("2026-01-05T08:00Z", "2026-01-05T09:00Z", ("2026-01-05T08:00Z", "2026-01-05T09:00Z")),
        ("2026-01-05T08:00", "2026-01-05T09:00", ("2026-01-05T08:00Z", "2026-01-05T09:00Z")),
        ("2026-01-05T08:00+08:00", "2026-01-06", ("2026-01-05T00:00Z", "2026-01-07T00:00Z")),
        (" 2024-02-28 ", " 2024-02-28 ", ("2024-02-28T00:00Z", "2024-02-29T00:00Z")),  # leap year
        ("20260105", "20260111", ("2026-01-05T00:00Z", "2026-01-12T00:00Z")),  # ISO 8601, basic
        ("2026-W02-1", "2026-W02-7", ("2026-01-05T00:00Z", "2026-01-12T00:00Z")),  # by its week
        ("2025-12-31", "2025-12-31", ("2025-12-31T00:00Z", "2026-01-01T00:00Z")),
    ],
)
def test_a_window_is_read_in_utc_and_a_day_as_its_end_is_included(
    start: str, end: str | None, expected: tuple[str, str]
) -> None:
    window = window_between(start, end, now=NOW)

    assert (window.start, window.end) == tuple(map(datetime.fromisoformat, expected))
    assert window.start.tzinfo is UTC


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-01-11", "2026-01-05"),  # the wrong way round
        ("2026-01-05T08:00Z", "2026-01-05T08:00Z"),  # nothing lies in it
        ("2026-01-21", None),  # it begins after now
        ("2026-02-30", "2026-03-01"),  # no such day
        ("yesterday", None),
        ("", None),
        ("2026-01-05", "soon"),
        ("9999-12-31", "9999-12-31"),  # the next midnight is beyond the calendar
    ],
)
def test_a_window_that_cannot_be_read_or_is_empty_is_refused(start: str, end: str | None) -> None:
    with pytest.raises(CandidateError) as refused:
        window_between(start, end, now=NOW)

    assert refused.value.reason == "bad-window"
    assert refused.value.hint


def test_the_last_days_end_now() -> None:
    assert window_of_last(timedelta(days=7), now=NOW) == Window(
        start=NOW - timedelta(days=7), end=NOW
    )


@pytest.mark.parametrize("span", [timedelta(0), timedelta(days=999_999)])
def test_a_span_without_a_window_is_refused(span: timedelta) -> None:
    with pytest.raises(CandidateError, match="window"):
        window_of_last(span, now=NOW)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-01-04T23:59:59.999999Z", False),
        ("2026-01-05T00:00:00Z", True),  # its start lies in it
        ("2026-01-11T23:59:59.999999Z", True),
        ("2026-01-12T00:00:00Z", False),  # its end does not
        ("2026-01-05T07:59:59+08:00", False),  # the same instants on other clocks
        ("2026-01-05T08:00:00+08:00", True),
    ],
)
def test_a_window_is_half_open(at: str, expected: bool) -> None:
    window = window_between("2026-01-05", "2026-01-11", now=NOW)

    assert is_within(window, datetime.fromisoformat(at)) is expected
