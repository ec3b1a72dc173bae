"""Figures of one poll and whose fault a failed one is; sums of them, and the latency histogram by the hour.

The buckets are fixed, so that histograms of different processes, hours and versions can be added:
bucket n holds latencies above 2 ** ((n - 1) / 4) up to 2 ** (n / 4) milliseconds, about 19 % wide.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate
from math import ceil, log2
from typing import Any, Final, TypeVar

from msgspec.structs import astuple, replace

from feedmill.model.feed import FetchRecord
from feedmill.model.fetch import HOST_FAILURES, REFUSED_URLS
from feedmill.model.running.figures import Fault, Figures, PayloadClass, Totals
from feedmill.model.schedule import ScheduleState

K = TypeVar("K")

LATE_LAG: Final = 1.0  # polled later than twice the interval
MOST_NEW: Final = 10  # the last class of `Totals.new_entries` is this many or more
_BUCKETS_PER_DOUBLING: Final = 4
_MOST_BUCKETS: Final = 80  # 2 ** 20 ms, about 17 minutes
_SECOND: Final = timedelta(seconds=1)
SUCCESSFUL_OUTCOMES: Final = frozenset({"fresh", "unchanged", "same-body", "pushed"})

_HOST: Final = HOST_FAILURES | {"bad-address", "rate-limited"}
# Our settings: an address that the guard refuses, or a limit that the operator can raise.
_OURS: Final = REFUSED_URLS | {"host-not-listed", "content-type", "too-large", "headers-too-large"}
# The server understood who asked, and says that the request was wrong (RFC 9110 15.5).
_BAD_REQUEST: Final = frozenset({400, 405, 406, 411, 412, 413, 414, 415, 416, 417, 421, 422, 431})


def poll_values(fetch: FetchRecord, schedule: ScheduleState | None = None) -> tuple[Any, ...]:
    """The figures of one poll as the fields of `Figures` in their order; quicker than a value.

    `schedule` is what was decided after the poll.
    """
    outcome, elapsed_ms = fetch.outcome, fetch.elapsed_ms
    fault = fault_of(outcome, fetch.http_status)
    lag = lag_of(fetch)
    return (
        1,
        int(outcome == "unchanged"),
        int(outcome == "same-body"),
        int(fault == "ours"),
        int(fault == "theirs"),
        int(fault == "host"),
        fetch.wire_length or 0,
        fetch.content_length or 0,
        fetch.saved_bytes or 0,
        fetch.entries_new,
        fetch.entries_updated,
        elapsed_ms,
        elapsed_ms,
        lag,
        lag,
        int(lag > LATE_LAG),
        fetch.retries,
        None if schedule is None else schedule.interval_sec,
        None if schedule is None or schedule.cadence is None else schedule.cadence.ewma_sec,
    )


def lag_of(fetch: FetchRecord) -> float:
    """How late the poll was, in intervals; 0 where no interval was waited for."""
    if not fetch.interval_sec:
        return 0.0
    lag = (fetch.fetched_at - fetch.scheduled_at) / _SECOND / fetch.interval_sec
    return max(round(lag, 4), 0.0)


def sum_values(rows: Sequence[Sequence[Any]]) -> Figures:
    """The figures of all rows together, the latest row last."""
    if not rows:
        return Figures()
    columns = zip(Figures.__struct_fields__, zip(*rows, strict=True), strict=True)
    return Figures(**{name: _COMBINE.get(name, sum)(column) for name, column in columns})


def sum_figures(several: Iterable[Figures]) -> Figures:
    """All of them together, the latest last."""
    return sum_values([astuple(one) for one in several])


def _last(column: Iterable[float | None]) -> float | None:
    return next((one for one in reversed(tuple(column)) if one is not None), None)


# How a field of several figures becomes one; all others are added.
_COMBINE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "elapsed_ms_max": max,
    "lag_max": max,
    "interval_sec": _last,
    "ewma_sec": _last,
}


def payload_class(length: int | None) -> PayloadClass:
    """The class of a body by its decoded length."""
    if not length:
        return "none"
    if length <= 100_000:
        return "100kB"
    return "1MB" if length <= 1_000_000 else "larger"


def latency_bucket(elapsed_ms: int) -> int:
    """The bucket that a latency falls into."""
    if elapsed_ms <= 1:
        return 0
    return min(ceil(log2(elapsed_ms) * _BUCKETS_PER_DOUBLING), _MOST_BUCKETS)


def bucket_limit_ms(bucket: int) -> float:
    """The largest latency that the bucket holds."""
    return float(2 ** (bucket / _BUCKETS_PER_DOUBLING))


def quantile_ms(histogram: Mapping[int, int], share: float) -> float | None:
    """The latency that the share of polls kept, at most 19 % too high; None without polls."""
    wanted = share * sum(histogram.values())
    buckets = sorted(histogram)
    counted = accumulate(histogram[bucket] for bucket in buckets)
    reached = (bucket for bucket, count in zip(buckets, counted, strict=True) if count >= wanted)
    first = next(reached, None)
    return None if first is None else round(bucket_limit_ms(first), 1)


class TotalsCounter:
    """Adds up polls of all feeds; `totals` is the sum so far."""

    def __init__(self) -> None:
        self._rows: list[Sequence[Any]] = []
        self._outcomes: dict[str, int] = {}
        self._latency: dict[PayloadClass, dict[int, int]] = {}
        self._new_entries: dict[int, int] = {}

    def add_poll(self, fetch: FetchRecord, values: Sequence[Any]) -> None:
        """Count one poll with its `poll_values`."""
        self._rows.append(values)
        _add(self._outcomes, f"{fetch.outcome} {fetch.http_status or '-'}", 1)
        if fetch.outcome in SUCCESSFUL_OUTCOMES:
            latency = self._latency.setdefault(payload_class(fetch.content_length), {})
            _add(latency, latency_bucket(fetch.elapsed_ms), 1)
            _add(self._new_entries, min(fetch.entries_new, MOST_NEW), 1)

    def add_totals(self, totals: Totals) -> None:
        """Count what another counter has counted."""
        self._rows.append(astuple(totals.figures))
        for outcome, count in totals.outcomes.items():
            _add(self._outcomes, outcome, count)
        for number, count in totals.new_entries.items():
            _add(self._new_entries, number, count)
        for payload, counts in totals.latency.items():
            latency = self._latency.setdefault(payload, {})
            for bucket, count in counts.items():
                _add(latency, bucket, count)

    @property
    def totals(self) -> Totals:
        """The sum; there is no interval, because each feed has its own."""
        figures = replace(sum_values(self._rows), interval_sec=None, ewma_sec=None)
        self._rows = [astuple(figures)]
        return Totals(
            figures=figures,
            outcomes=self._outcomes,
            latency=self._latency,
            new_entries=self._new_entries,
        )


def sum_totals(several: Iterable[Totals]) -> Totals:
    """All of them together."""
    counter = TotalsCounter()
    for one in several:
        counter.add_totals(one)
    return counter.totals


def _add(counts: dict[K, int], key: K, count: int) -> None:
    counts[key] = counts.get(key, 0) + count


def fault_of(outcome: str, status: int | None) -> Fault | None:
    """The fault class of a poll's outcome; None when it did not fail."""
    if outcome in SUCCESSFUL_OUTCOMES:
        return None
    if outcome in _OURS or (outcome == "client-error" and status in _BAD_REQUEST):
        return "ours"
    return "host" if outcome in _HOST else "theirs"
