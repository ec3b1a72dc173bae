"""Figures of polls, their sums, and latency histograms."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.fetch.figures import (
    TotalsCounter,
    bucket_limit_ms,
    fault_of,
    lag_of,
    latency_bucket,
    payload_class,
    poll_values,
    quantile_ms,
    sum_figures,
    sum_totals,
    sum_values,
)
from feedmill.model.feed import FetchRecord
from feedmill.model.fetch import FailureReason, RefusalReason
from feedmill.model.running.figures import Figures, Totals
from feedmill.model.schedule import Cadence, ScheduleState


def figures_of(values: Sequence[Any]) -> Figures:
    """The figures of values in the order of their fields."""
    return Figures(**dict(zip(Figures.__struct_fields__, values, strict=True)))


_NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_poll(
    outcome: str = "unchanged",
    *,
    status: int | None = 304,
    late_sec: float = 0.0,
    interval_sec: float | None = 900.0,
    length: int | None = None,
    saved: int | None = None,
    elapsed_ms: int = 40,
    new: int = 0,
) -> FetchRecord:
    return FetchRecord(
        fetch_id="f",
        feed_id="a",
        scheduled_at=_NOON,
        fetched_at=_NOON + timedelta(seconds=late_sec),
        url="https://a.example/",
        final_url="https://a.example/",
        outcome=outcome,
        http_status=status,
        wire_length=length,
        content_length=length,
        elapsed_ms=elapsed_ms,
        entries_new=new,
        interval_sec=interval_sec,
        saved_bytes=saved,
    )


def test_a_304_counts_what_it_saved() -> None:
    figures = figures_of(poll_values(a_poll(saved=5_000)))

    assert (figures.polls, figures.unchanged, figures.bytes_saved) == (1, 1, 5_000)
    assert (figures.failed, figures.fresh, figures.bytes_in) == (0, 0, 0)


def test_a_document_counts_bytes_entries_and_the_interval_chosen_after_it() -> None:
    state = ScheduleState(interval_sec=600.0, cadence=Cadence(ewma_sec=7_200.0))
    fetch = a_poll("fresh", status=200, length=2_000, new=3)

    figures = figures_of(poll_values(fetch, state))

    assert (figures.fresh, figures.bytes_in, figures.bytes_decoded) == (1, 2_000, 2_000)
    assert (figures.entries_new, figures.interval_sec, figures.ewma_sec) == (3, 600.0, 7_200.0)


def test_a_schedule_without_cadence_has_no_estimate() -> None:
    figures = figures_of(poll_values(a_poll(), ScheduleState(interval_sec=600.0)))

    assert figures.ewma_sec is None


@pytest.mark.parametrize(
    ("late_sec", "interval_sec", "lag", "late"),
    [
        pytest.param(0, 900.0, 0.0, 0, id="on time"),
        pytest.param(90, 900.0, 0.1, 0, id="a tenth of the interval"),
        pytest.param(900, 900.0, 1.0, 0, id="twice the interval is still within"),
        pytest.param(901, 900.0, 1.0011, 1, id="a second more is late"),
        pytest.param(-5, 900.0, 0.0, 0, id="a clock that stepped back"),
        pytest.param(500, None, 0.0, 0, id="not scheduled"),
    ],
)
def test_lag(late_sec: float, interval_sec: float | None, lag: float, late: int) -> None:
    fetch = a_poll(late_sec=late_sec, interval_sec=interval_sec)

    assert lag_of(fetch) == lag
    assert figures_of(poll_values(fetch)).late == late


def test_sums_add_counts_and_keep_maxima_and_the_last_interval() -> None:
    first = Figures(polls=2, elapsed_ms=100, elapsed_ms_max=90, lag_max=0.5, interval_sec=300.0)
    second = Figures(polls=1, elapsed_ms=10, elapsed_ms_max=10, lag_max=2.0)

    total = sum_figures([first, second])

    assert total == Figures(
        polls=3, elapsed_ms=110, elapsed_ms_max=90, lag_max=2.0, interval_sec=300.0
    )


def test_the_sum_of_nothing_is_zero() -> None:
    assert sum_values([]) == Figures()
    assert sum_totals([]) == Totals()


@pytest.mark.parametrize(
    ("length", "payload"),
    [(None, "none"), (0, "none"), (1, "100kB"), (100_000, "100kB"), (100_001, "1MB"),
     (1_000_000, "1MB"), (1_000_001, "larger")],
)  # fmt: skip
def test_payload_class(length: int | None, payload: str) -> None:
    assert payload_class(length) == payload


@given(st.integers(min_value=0, max_value=1_000_000))
def test_a_bucket_holds_its_latencies_and_is_a_fifth_wide(elapsed_ms: int) -> None:
    limit = bucket_limit_ms(latency_bucket(elapsed_ms))

    assert elapsed_ms <= limit * 1.000001
    assert elapsed_ms <= 1 or limit / elapsed_ms < 1.2


def test_latencies_beyond_the_last_bucket_stay_in_it() -> None:
    assert latency_bucket(10**9) == latency_bucket(10**8)


def test_quantile_is_the_limit_of_the_bucket_that_reaches_the_share() -> None:
    histogram = {latency_bucket(10): 98, latency_bucket(1_000): 1, latency_bucket(9_000): 1}

    assert quantile_ms(histogram, 0.99) == round(bucket_limit_ms(latency_bucket(1_000)), 1)
    assert quantile_ms(histogram, 1.0) == round(bucket_limit_ms(latency_bucket(9_000)), 1)
    assert quantile_ms({}, 0.99) is None


def test_totals_count_outcomes_exactly_and_latency_of_answers_only() -> None:
    counter = TotalsCounter()
    for fetch in (
        a_poll(),
        a_poll("fresh", status=200, length=500, new=25, elapsed_ms=200),
        a_poll("timeout", status=None, elapsed_ms=30_000),
    ):
        counter.add_poll(fetch, poll_values(fetch))

    totals = counter.totals

    assert totals.outcomes == {"unchanged 304": 1, "fresh 200": 1, "timeout -": 1}
    assert totals.latency == {"none": {latency_bucket(40): 1}, "100kB": {latency_bucket(200): 1}}
    assert totals.new_entries == {0: 1, 10: 1}
    assert totals.figures.polls == 3
    assert totals.figures.failed_host == 1


def test_totals_of_two_counters_are_the_totals_of_one() -> None:
    polls = [a_poll(elapsed_ms=number) for number in range(1, 40)]
    whole, first, second = TotalsCounter(), TotalsCounter(), TotalsCounter()
    for number, fetch in enumerate(polls):
        values = poll_values(fetch, ScheduleState(interval_sec=300.0))
        whole.add_poll(fetch, values)
        (first if number % 3 else second).add_poll(fetch, values)

    assert sum_totals([first.totals, second.totals]) == whole.totals
    assert whole.totals.figures.interval_sec is None


@pytest.mark.parametrize(
    ("outcome", "status", "fault"),
    [
        pytest.param("fresh", 200, None, id="a document is no failure"),
        pytest.param("unchanged", 304, None, id="neither is a 304"),
        pytest.param("same-body", 200, None, id="nor a 200 with the same body"),
        pytest.param("private-address", None, "ours", id="our guard refuses the address"),
        pytest.param("too-large", 200, "ours", id="a limit of ours that can be raised"),
        pytest.param("client-error", 406, "ours", id="the server says our request is wrong"),
        pytest.param("client-error", 402, "theirs", id="another 4xx is about the address"),
        pytest.param("not-found", 404, "theirs", id="the publisher took the feed away"),
        pytest.param("gone", 410, "theirs", id="and said so"),
        pytest.param("malformed", 200, "theirs", id="what is served is no feed"),
        pytest.param("truncated", 200, "theirs", id="the body was cut"),
        pytest.param("redirect-loop", 302, "theirs", id="the address leads nowhere"),
        pytest.param("server-error", 500, "host", id="the server failed"),
        pytest.param("rate-limited", 429, "host", id="the host asks for patience"),
        pytest.param("timeout-connect", None, "host", id="the host does not answer"),
        pytest.param("dns-failure", None, "host", id="the host has no address"),
        pytest.param("a-reason-of-tomorrow", None, "theirs", id="unknown reasons are not ours"),
    ],
)
def test_fault_of_an_outcome(outcome: str, status: int | None, fault: str | None) -> None:
    assert fault_of(outcome, status) == fault


def test_every_reason_of_a_failure_has_a_fault() -> None:
    reasons = (*get_args(FailureReason), *get_args(RefusalReason))

    assert {fault_of(reason, None) for reason in reasons} == {"ours", "theirs", "host"}
