"""Figures to shapes: rates, fault classes and quantiles that follow from them."""

from feedmill.fetch.fault import fault_of
from feedmill.fetch.figures import quantile_ms
from feedmill.model.figures import (
    FailureCount,
    FeedRank,
    Figures,
    PayloadClass,
    Totals,
)
from feedmill.publish.figure_shapes import (
    FailureShape,
    FiguresShape,
    LatencyShape,
    OutcomeCount,
    RankShape,
)


def figures_shape(figures: Figures) -> FiguresShape:
    """The figures with their rates."""
    polls, answered = figures.polls, figures.polls - figures.failed
    return FiguresShape(
        polls=polls,
        fresh=figures.fresh,
        unchanged=figures.unchanged,
        same_body=figures.same_body,
        failed=figures.failed,
        failed_ours=figures.failed_ours,
        failed_theirs=figures.failed_theirs,
        failed_host=figures.failed_host,
        success_rate=_rate(answered, polls),
        not_modified_rate=_rate(figures.unchanged, answered),
        bytes_in=figures.bytes_in,
        bytes_decoded=figures.bytes_decoded,
        bytes_saved=figures.bytes_saved,
        compression_ratio=_rate(figures.bytes_decoded, figures.bytes_in),
        entries_new=figures.entries_new,
        entries_updated=figures.entries_updated,
        new_per_poll=_rate(figures.entries_new, polls),
        latency_ms=_rate(figures.elapsed_ms, polls),
        latency_max_ms=figures.elapsed_ms_max,
        lag=_rate(figures.lag, polls),
        lag_max=figures.lag_max,
        late=figures.late,
        retries=figures.retries,
        interval_sec=figures.interval_sec,
        ewma_sec=figures.ewma_sec,
    )


def failure_shape(failure: FailureCount) -> FailureShape:
    """The failure with its fault class."""
    return FailureShape(
        outcome=failure.outcome,
        status=failure.status,
        fault=fault_of(failure.outcome, failure.status),
        count=failure.count,
        host=failure.host,
        feeds=failure.feeds,
    )


def outcome_counts(totals: Totals) -> tuple[OutcomeCount, ...]:
    """How polls ended, the most frequent first."""
    found = []
    for key, count in sorted(totals.outcomes.items(), key=lambda one: (-one[1], one[0])):
        outcome, _, code = key.rpartition(" ")
        status = None if code == "-" else int(code)
        fault = fault_of(outcome, status)
        found.append(OutcomeCount(outcome=outcome, status=status, fault=fault, count=count))
    return tuple(found)


def latency_shapes(totals: Totals) -> tuple[LatencyShape, ...]:
    """Latency by payload class, the smallest first."""
    classes: tuple[PayloadClass, ...] = ("none", "100kB", "1MB", "larger")
    return tuple(
        LatencyShape(
            payload=payload,
            polls=sum(histogram.values()),
            p50_ms=quantile_ms(histogram, 0.5),
            p95_ms=quantile_ms(histogram, 0.95),
            p99_ms=quantile_ms(histogram, 0.99),
        )
        for payload in classes
        if (histogram := totals.latency.get(payload))
    )


def rank_shape(rank: FeedRank) -> RankShape:
    """A feed of a top list."""
    return RankShape(
        feed_id=rank.feed_id,
        url=rank.url,
        title=rank.title,
        host=rank.host,
        value=rank.value,
        figures=figures_shape(rank.figures),
    )


def _rate(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None
