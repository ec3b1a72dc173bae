"""Figures of one feed, of all feeds, and top lists, with their rates, shared by every interface (002 §4.9)."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import asdict

from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import counts, require_feed
from feedmill.errors import RangeError
from feedmill.fetch.figures import fault_of, quantile_ms, sum_figures, sum_totals
from feedmill.model.addresses import mask_address
from feedmill.model.running.figures import (
    FailureCount,
    FeedRank,
    Figures,
    FiguresAt,
    Granularity,
    PayloadClass,
    TopBy,
    Totals,
    TotalsAt,
)
from feedmill.publish import figure_shapes
from feedmill.publish.figure_shapes import FeedFigures, FiguresPoint, Stats, TopFeeds, TotalFigures

TOP_ITEMS: Final = 20
MAX_TOP_ITEMS: Final = 500
_MAX_POINTS: Final = 2_000  # of one answer
_SPANS: Final[dict[Granularity, timedelta]] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
_DEFAULT: Final[dict[Granularity, timedelta]] = {
    "hour": timedelta(days=1),
    "day": timedelta(days=30),
}


class Range(NamedTuple):
    """Whole hours or days: `since` is the start of the first, `until` the end of the last."""

    since: datetime
    until: datetime
    granularity: Granularity


async def feed_figures(
    feed_id: str,
    services: Services,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    granularity: Granularity = "day",
) -> FeedFigures:
    """The figures of one feed; hours reach back as far as its fetches are kept."""
    feed = await require_feed(feed_id, services)
    asked = whole_range(services.clock.now(), since, until, granularity)
    store = services.store
    read = store.feed_hours if granularity == "hour" else store.feed_days
    found = await read(feed.id, since=asked.since, until=asked.until)
    failures = await store.feed_failures(
        feed.id, since=asked.since, until=asked.until - timedelta(microseconds=1)
    )
    return FeedFigures(
        feed_id=feed.id,
        granularity=granularity,
        since=asked.since,
        until=asked.until,
        total=figures_shape(sum_figures(one.figures for one in found)),
        points=_points(found),
        failures=tuple(map(failure_shape, failures)),
    )


async def total_figures(
    services: Services,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    granularity: Granularity = "hour",
    failures: int = TOP_ITEMS,
) -> TotalFigures:
    """The figures of all feeds; `failures` is how many ways to fail are listed, by host."""
    asked = whole_range(services.clock.now(), since, until, granularity)
    found = await services.store.poll_totals(since=asked.since, until=asked.until)
    failed = await services.store.host_failures(
        since=asked.since, until=asked.until - timedelta(microseconds=1), limit=failures
    )
    totals = sum_totals(one.totals for one in found)
    return TotalFigures(
        granularity=granularity,
        since=asked.since,
        until=asked.until,
        total=figures_shape(totals.figures),
        points=_points(_by_span(found, granularity)),
        outcomes=outcome_counts(totals),
        failures=tuple(map(failure_shape, failed)),
        latency=latency_shapes(totals),
        new_entries={str(number): count for number, count in sorted(totals.new_entries.items())},
    )


async def stats(
    services: Services,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    granularity: Granularity = "hour",
) -> Stats:
    """The figures of all feeds, and the counts of rows."""
    figures = await total_figures(services, since=since, until=until, granularity=granularity)
    counted = await counts(services)
    return Stats(**asdict(figures), **asdict(counted))


async def top_feeds(
    by: TopBy,
    services: Services,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = None,
) -> TopFeeds:
    """The feeds with the most of something over whole days: today, unless `since` is given."""
    now = services.clock.now()
    asked = whole_range(now, now if since is None else since, until, "day")
    found = await services.store.top_feeds(
        by,
        since=asked.since,
        until=asked.until - timedelta(microseconds=1),
        limit=TOP_ITEMS if limit is None else min(max(limit, 1), MAX_TOP_ITEMS),
    )
    return TopFeeds(
        by=by, since=asked.since, until=asked.until, items=tuple(map(rank_shape, found))
    )


def whole_range(
    now: datetime, since: datetime | None, until: datetime | None, granularity: Granularity
) -> Range:
    """The whole hours or days that hold the range; RangeError when it is empty, too long or in no calendar."""
    span = _SPANS[granularity]
    try:
        last = _floor((now if until is None else until) - timedelta(microseconds=1), span) + span
        first = last - _DEFAULT[granularity] if since is None else _floor(since, span)
    except OverflowError:
        message = "the range reaches beyond the years 1 to 9999"
        raise RangeError(message) from None
    if first >= last:
        message = f"since ({first.isoformat()}) is not before until ({last.isoformat()})"
        raise RangeError(message)
    if (last - first) / span > _MAX_POINTS:
        other = ", or for days" if granularity == "hour" else ""
        message = (
            f"the range has more than {_MAX_POINTS:,} {granularity}s: ask for a shorter one{other}"
        )
        raise RangeError(message)
    return Range(first, last, granularity)


def _floor(at: datetime, span: timedelta) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (at - epoch) // span * span


def _by_span(found: Iterable[TotalsAt], granularity: Granularity) -> list[FiguresAt]:
    """Hours as they are, or added up by the day."""
    spans: dict[datetime, list[TotalsAt]] = {}
    for one in found:
        spans.setdefault(_floor(one.start, _SPANS[granularity]), []).append(one)
    return [
        FiguresAt(start=start, figures=sum_figures(one.totals.figures for one in several))
        for start, several in spans.items()
    ]


def _points(found: Iterable[FiguresAt]) -> tuple[FiguresPoint, ...]:
    return tuple(FiguresPoint(start=one.start, figures=figures_shape(one.figures)) for one in found)


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
