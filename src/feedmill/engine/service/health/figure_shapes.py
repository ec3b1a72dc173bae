"""Figures to shapes: rates, fault classes and quantiles that follow from them."""

from typing import Final

from msgspec.structs import asdict

from feedmill.fetch.figures import fault_of, quantile_ms
from feedmill.model.addresses import mask_address
from feedmill.model.running.figures import FailureCount, FeedRank, Figures, PayloadClass, Totals
from feedmill.publish import figure_shapes

_SHOWN: Final = frozenset(figure_shapes.FiguresShape.__struct_fields__)


def figures_shape(figures: Figures) -> figure_shapes.FiguresShape:
    """The figures with their rates."""
    polls, answered = figures.polls, figures.polls - figures.failed
    known = {name: value for name, value in asdict(figures).items() if name in _SHOWN}
    rates = {
        "success_rate": _rate(answered, polls),
        "not_modified_rate": _rate(figures.unchanged, answered),
        "compression_ratio": _rate(figures.bytes_decoded, figures.bytes_in),
        "new_per_poll": _rate(figures.entries_new, polls),
        "latency_ms": _rate(figures.elapsed_ms, polls),
        "lag": _rate(figures.lag, polls),
    }
    return figure_shapes.FiguresShape(
        **known | rates,
        fresh=figures.fresh,
        failed=figures.failed,
        latency_max_ms=figures.elapsed_ms_max,
    )


def failure_shape(failure: FailureCount) -> figure_shapes.FailureShape:
    """The failure with its fault class."""
    return figure_shapes.FailureShape(
        **asdict(failure), fault=fault_of(failure.outcome, failure.status)
    )


def outcome_counts(totals: Totals) -> tuple[figure_shapes.OutcomeCount, ...]:
    """How polls ended, the most frequent first."""
    found = []
    for key, count in sorted(totals.outcomes.items(), key=lambda one: (-one[1], one[0])):
        outcome, _, code = key.rpartition(" ")
        status = None if code == "-" else int(code)
        fault = fault_of(outcome, status)
        found.append(
            figure_shapes.OutcomeCount(outcome=outcome, status=status, fault=fault, count=count)
        )
    return tuple(found)


def latency_shapes(totals: Totals) -> tuple[figure_shapes.LatencyShape, ...]:
    """Latency by payload class, the smallest first."""
    classes: tuple[PayloadClass, ...] = ("none", "100kB", "1MB", "larger")
    return tuple(
        figure_shapes.LatencyShape(
            payload=payload,
            polls=sum(histogram.values()),
            p50_ms=quantile_ms(histogram, 0.5),
            p95_ms=quantile_ms(histogram, 0.95),
            p99_ms=quantile_ms(histogram, 0.99),
        )
        for payload in classes
        if (histogram := totals.latency.get(payload))
    )


def rank_shape(rank: FeedRank) -> figure_shapes.RankShape:
    """A feed of a top list."""
    shown = {"url": mask_address(rank.url), "figures": figures_shape(rank.figures)}
    return figure_shapes.RankShape(**{**asdict(rank), **shown})


def _rate(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None
