"""Figures with the rates, fault classes and quantiles that follow from them."""

from feedmill.engine.service.figures import (
    failure_shape,
    figures_shape,
    latency_shapes,
    outcome_counts,
)
from feedmill.fetch.figures import bucket_limit_ms, latency_bucket
from feedmill.model.running.figures import FailureCount, Figures, Totals


def test_rates_follow_from_the_counts() -> None:
    shape = figures_shape(
        Figures(
            polls=10,
            unchanged=6,
            failed_host=2,
            bytes_in=1_000,
            bytes_decoded=4_000,
            entries_new=5,
            elapsed_ms=1_000,
            lag=0.5,
        )
    )

    assert (shape.fresh, shape.failed) == (2, 2)
    assert (shape.success_rate, shape.not_modified_rate) == (0.8, 0.75)
    assert (shape.compression_ratio, shape.new_per_poll) == (4.0, 0.5)
    assert (shape.latency_ms, shape.lag) == (100.0, 0.05)


def test_a_rate_of_nothing_is_unknown() -> None:
    shape = figures_shape(Figures())

    assert (shape.success_rate, shape.compression_ratio, shape.latency_ms) == (None, None, None)


def test_a_failure_says_whose_fault_it_is() -> None:
    shape = failure_shape(FailureCount(outcome="server-error", status=502, count=3, host="a"))

    assert (shape.fault, shape.host, shape.count) == ("host", "a", 3)


def test_outcomes_are_ordered_by_how_often_they_came() -> None:
    totals = Totals(outcomes={"timeout -": 1, "unchanged 304": 9, "not-found 404": 1})

    found = [(one.outcome, one.status, one.fault) for one in outcome_counts(totals)]

    assert found == [
        ("unchanged", 304, None),
        ("not-found", 404, "theirs"),
        ("timeout", None, "host"),
    ]


def test_latency_is_told_by_payload_class_in_their_order() -> None:
    fast, slow = latency_bucket(10), latency_bucket(3_000)
    totals = Totals(latency={"1MB": {slow: 1}, "none": {fast: 99, slow: 1}})

    none, large = latency_shapes(totals)

    assert (none.payload, none.polls, none.p99_ms) == ("none", 100, round(bucket_limit_ms(fast), 1))
    assert (large.payload, large.p50_ms) == ("1MB", round(bucket_limit_ms(slow), 1))
