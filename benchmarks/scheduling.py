"""`make bench-scheduling`: policies of polling over real publication times, with confidence intervals.

    python -m benchmarks.scheduling SERIES.json [--json] [--check] [--quick]

SERIES.json holds `{"series": [{"id", "window", "ttl_sec", "start", "end", "times", "cls"}]}` with times in
Unix seconds. Every policy polls the same virtual publisher (`feedmill/schedule/simulation.py`). Points are
as configured; ratios are requests at equal mean delay per entry, read from a curve of each policy with its
intervals (for `budget` its price) scaled. Intervals are 90 %, by bootstrap over feeds.
"""

import argparse
import json
import math
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha512
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Arrivals, Hint, Hints
from feedmill.schedule.decide import decide_again, decide_next_poll, outcome_of_status
from feedmill.schedule.delay import jitter_share
from feedmill.schedule.interval import ewma_of_gaps, initial_state
from feedmill.schedule.simulation import (
    Policy,
    Series,
    Simulation,
    VirtualPoll,
    own_policy,
    simulate,
    summarise,
)

MINUTE: Final = 60.0
HOUR: Final = 3_600.0
DAY: Final = 86_400.0
PRICE: Final = ScheduleConfig().price_sec
_SCALES: Final = (0.2, 0.35, 0.6, 1.0, 1.7, 2.9, 5.0)
_PRICES: Final = (0.25, 0.6, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_RESAMPLES: Final = 400

Maker = Callable[[Series, float], Policy]  # of a series and a scale


def budget(series: Series, scale: float) -> Policy:
    """The default policy; the scale is of its price."""
    return own_policy(series, ScheduleConfig(price_sec=PRICE * scale))


def seed_as_written(series: Series, scale: float) -> Policy:
    """002 §6.2 to the letter: no guard, no silence, jitter beyond the ceiling."""
    interval, known = 900.0, list[float]()

    def decide(poll: VirtualPoll) -> float:
        nonlocal interval
        known.extend(at for at in poll.dates if at is not None)
        del known[:-20]
        factor = 0.75 if poll.dates else 1.25
        interval = min(max(interval * factor, 300.0), DAY)
        ewma = ewma_of_gaps([_at(at) for at in known], alpha=0.3)
        if ewma is not None:
            interval = min(max(0.5 * min(max(ewma, 300.0), DAY) + 0.5 * interval, 300.0), DAY)
        interval = max(interval, float(series.ttl_sec or 0))
        return scale * interval * (1 + 0.15 * jitter_share(series.id, _at(poll.now)))

    return decide


def first_version(series: Series, scale: float) -> Policy:
    """What feedmill 0.1 did: the guarded seed with stated dates, and silence counted as a gap."""
    config = ScheduleConfig(policy="seed")
    state, known = initial_state(config), list[datetime]()

    def decide(poll: VirtualPoll) -> float:
        nonlocal state
        now = _at(poll.now)
        known.extend(now if at is None else _at(at) for at in poll.dates)
        del known[:-40]
        status = 200 if poll.dates or poll.is_first else 304
        ttl = series.ttl_sec
        decision = decide_next_poll(
            state,
            outcome_of_status(status, new_entries=len(poll.dates)),
            Hints(ttl_sec=Hint(value=ttl, source="ttl", seen_at=now)) if ttl else Hints(),
            now=now,
            feed_id=series.id,
            config=config,
            publications=known if poll.dates else None,
        )
        state = decision.state
        return scale * decision.delay_sec

    return decide


def seed(series: Series, scale: float) -> Policy:
    """The policy `seed` of today: guarded, with event times that are not taken on trust."""
    own = own_policy(series, ScheduleConfig(policy="seed"))
    return lambda poll: scale * own(poll)


def miniflux_entry_frequency(series: Series, scale: float) -> Policy:
    """A week divided by the entries of a week; 5 minutes to 24 hours, not below ttl."""
    known = list[float]()

    def decide(poll: VirtualPoll) -> float:
        known.extend(at for at in poll.dates if at is not None)
        weekly = len(known) - bisect_left(known, poll.now - 7 * DAY)
        interval = min(max(7 * DAY / weekly, 5 * MINUTE), DAY) if weekly else DAY
        return scale * min(max(interval, float(series.ttl_sec or 0)), DAY)

    return decide


def newsblur(series: Series, scale: float) -> Policy:
    """The table of NewsBlur for a feed with one premium subscriber, with its random quarter."""
    known = list[float]()

    def decide(poll: VirtualPoll) -> float:
        known.extend(at for at in poll.dates if at is not None)
        daily = (len(known) - bisect_left(known, poll.now - 30 * DAY)) / 30
        if daily >= 1:
            minutes = 60.0
        elif daily > 0:
            minutes = 720 - daily * 720
        else:
            minutes = 720 * max(1.0, (poll.now - (known[-1] if known else poll.now)) / (30 * DAY))
        quarter = (1 + jitter_share(series.id, _at(poll.now))) / 8
        return scale * max(1.0, min(minutes, 720.0)) * MINUTE * (1 + quarter)

    return decide


def commafeed(series: Series, scale: float) -> Policy:
    """CommaFeed's empirical interval: half the average gap of the document, 5 minutes to 4 hours."""
    known = list[float]()

    def decide(poll: VirtualPoll) -> float:
        known.extend(at for at in poll.dates if at is not None)
        shown = known[-poll.window :]
        days = (poll.now - shown[-1]) // DAY if shown else 99
        if days >= 30 or len(shown) < 2:
            wait = 4 * HOUR
        elif days >= 14:
            wait = 2 * HOUR
        elif days >= 7:
            wait = HOUR
        else:
            average = (shown[-1] - shown[0]) / (len(shown) - 1)
            wait = min(max(average / 2, 5 * MINUTE), HOUR)
        return scale * min(max(wait, float(series.ttl_sec or 0)), 4 * HOUR)

    return decide


def oracle(series: Series, scale: float) -> Policy:
    """Knows the next publication, and polls a moment after it; at least 5 minutes apart, at most a day."""

    def decide(poll: VirtualPoll) -> float:
        after = bisect_right(series.times, poll.now)
        due = series.times[after] + 1.0 if after < len(series.times) else math.inf
        return scale * min(max(due - poll.now, 300.0, float(series.ttl_sec or 0)), DAY)

    return decide


def fixed(minutes: float) -> Maker:
    """The same interval for every feed; miniflux's round-robin is 60 minutes."""
    return lambda _series, scale: lambda _poll: scale * minutes * MINUTE


POLICIES: Final[dict[str, Maker]] = {
    "budget": budget,
    "seed": seed,
    "seed 002 §6.2 as written": seed_as_written,
    "first version": first_version,
    "miniflux entry-frequency": miniflux_entry_frequency,
    "miniflux round-robin (60 min)": fixed(60),
    "fixed 15 min": fixed(15),
    "NewsBlur, one subscriber": newsblur,
    "CommaFeed empirical": commafeed,
    "oracle": oracle,
}
RIVALS: Final = ("seed 002 §6.2 as written", "first version")


# --- what is measured ---


def run_policy(
    maker: Maker, series: Sequence[Series], scale: float = 1.0
) -> tuple[Simulation, ...]:
    """The policy over all series."""
    return tuple(simulate(one, maker(one, scale)) for one in series)


class Curve:
    """Requests and delays of one policy at several scales, per feed, so that feeds can be resampled."""

    def __init__(self, maker: Maker, series: Sequence[Series], scales: Sequence[float]) -> None:
        self.rows: list[list[tuple[float, float, int]]] = []
        for scale in scales:
            runs = run_policy(maker, series, scale)
            self.rows.append(
                [(len(run.polls) / run.days, sum(run.delays), len(run.delays)) for run in runs]
            )

    def point(self, chosen: Sequence[int], at: int) -> tuple[float, float]:
        """Mean delay per entry and mean requests per feed-day of the chosen feeds at one scale."""
        rows = self.rows[at]
        entries = sum(rows[i][2] for i in chosen)
        delay = sum(rows[i][1] for i in chosen) / max(1, entries)
        return delay, fmean(rows[i][0] for i in chosen)

    def requests_at(self, delay: float, chosen: Sequence[int]) -> float:
        """Requests per feed-day at that mean delay: interpolated, both on a logarithmic scale."""
        points = sorted(self.point(chosen, at) for at in range(len(self.rows)))
        pairs = [(math.log(d), math.log(r)) for d, r in points if d > 0]
        want = math.log(delay)
        for (d0, r0), (d1, r1) in pairwise(pairs):
            if want <= d1 or (d1, r1) == pairs[-1]:
                slope = (r1 - r0) / (d1 - d0) if d1 > d0 else 0.0
                return math.exp(r0 + slope * (want - d0))
        return math.exp(pairs[0][1])


def ratio_at_equal_delay(
    own: Curve, rival: Curve, rival_at: int, feeds: int
) -> tuple[float, float, float]:
    """Requests of `own` over those of the rival at the rival's own delay: value and 90 % interval."""

    def ratio(chosen: Sequence[int]) -> float:
        delay, requests = rival.point(chosen, rival_at)
        return own.requests_at(delay, chosen) / requests

    drawn = sorted(ratio(_resample(feeds, number)) for number in range(_RESAMPLES))
    return ratio(range(feeds)), drawn[len(drawn) // 20], drawn[-len(drawn) // 20]


def _resample(feeds: int, number: int) -> list[int]:
    """As many feeds, drawn with replacement; the same ones in every run, so that runs compare."""
    drawn = sha512(f"{number}".encode()).digest()
    while len(drawn) < 4 * feeds:
        drawn += sha512(drawn[-64:]).digest()
    return [int.from_bytes(drawn[4 * i : 4 * i + 4]) % feeds for i in range(feeds)]


# --- dates that lie ---


def _lag(hours: float) -> Callable[[Series], Series]:
    return lambda one: _dated(one, [at - hours * HOUR for at in one.times])


def _dated(one: Series, dates: Sequence[float | None]) -> Series:
    return Series(
        id=one.id, times=one.times, start=one.start, end=one.end, window=one.window,
        ttl_sec=one.ttl_sec, dates=tuple(dates),
    )  # fmt: skip


def _bulk(one: Series) -> Series:
    """A third of the way in, a document's worth of old entries is imported at once."""
    at = one.start + (one.end - one.start) / 3
    index = bisect_right(one.times, at)
    many = one.window
    return Series(
        id=one.id,
        times=(*one.times[:index], *[at] * many, *one.times[index:]),
        dates=(*one.times[:index], *[at - (n + 30) * DAY for n in range(many)], *one.times[index:]),
        start=one.start, end=one.end, window=one.window, ttl_sec=one.ttl_sec,
    )  # fmt: skip


LIES: Final[dict[str, Callable[[Series], Series]]] = {
    "dates lag 8 h": _lag(8),
    "backdated by 3 days": _lag(72),
    "dated 1 day ahead": _lag(-24),
    "undated": lambda one: _dated(one, [None] * len(one.times)),
    "all dates equal": lambda one: _dated(one, [one.times[0]] * len(one.times)),
    "date without time": lambda one: _dated(one, [at - at % DAY for at in one.times]),
    "every other undated": lambda one: _dated(
        one, [None if i % 2 else at for i, at in enumerate(one.times)]
    ),
    "local time as UTC (+9 h)": _lag(-9),
    "bulk import of old entries": _bulk,
}


def robustness(series: Sequence[Series]) -> dict[str, tuple[float, float]]:
    """For each lie: requests and mean delay relative to true dates."""
    true = summarise(run_policy(budget, series))
    found: dict[str, tuple[float, float]] = {}
    for name, lie in LIES.items():
        got = summarise(run_policy(budget, [lie(one) for one in series]))
        delay = (got.mean_delay_sec or 0.0) / (true.mean_delay_sec or 1.0)
        found[name] = (got.requests_per_day / true.requests_per_day, delay)
    return found


def decision_cost_us() -> float:
    """CPU time of one decision that a forecast makes, in microseconds: the median of 21 batches."""
    now = datetime(2026, 3, 3, 10, 20, tzinfo=UTC)
    arrivals = Arrivals(
        opened=now.timestamp() - 90 * DAY, last=now.timestamp() - 2 * DAY, entries=120, events=90,
        window=20, counts=(0.4, 3.1, 20.2), hours=tuple(float(i % 5) for i in range(24)),
        weekdays=(3.0, 4.0, 5.0, 4.0, 3.0, 1.0, 0.5),
    )  # fmt: skip
    state = initial_state(ScheduleConfig())
    decision = decide_next_poll(
        type(state)(interval_sec=state.interval_sec, arrivals=arrivals),
        outcome_of_status(304),
        now=now,
        feed_id="feed",
    )
    config, times = ScheduleConfig(), []
    for _ in range(21):
        began = time.process_time()
        for _ in range(2_000):
            decide_again(decision.inputs, config)
        times.append((time.process_time() - began) / 2_000 * 1e6)
    return median(times)


# --- the report ---


def measure(series: Sequence[Series], classes: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """Everything this benchmark says, as one value."""
    points = {name: summarise(run_policy(maker, series)) for name, maker in POLICIES.items()}
    report: dict[str, Any] = {
        name: {
            "requests_per_day": one.requests_per_day,
            "mean_delay_min": (one.mean_delay_sec or 0) / MINUTE,
            "feed_median_delay_min": (one.feed_median_delay_sec or 0) / MINUTE,
            "missed_percent": 100 * one.missed_share,
        }
        for name, one in points.items()
    }
    own = Curve(budget, series, _PRICES[2:7:2] if quick else _PRICES)
    ratios = {
        name: ratio_at_equal_delay(own, Curve(POLICIES[name], series, (1.0,)), 0, len(series))
        for name in RIVALS
    }
    dead = [one for one, kind in zip(series, classes, strict=True) if kind == "dead"]
    quiet = ScheduleConfig(quiet_max_interval_sec=7 * 86_400)
    return {
        "feeds": len(series),
        "policies": report,
        "requests_at_equal_delay": ratios,
        "dead_requests_per_day": summarise(run_policy(budget, dead)).requests_per_day,
        "dead_requests_per_day_quiet": summarise(
            simulate(one, own_policy(one, quiet)) for one in dead
        ).requests_per_day,
        "robustness": robustness(series[:: 4 if quick else 1]),
        "decision_us": decision_cost_us(),
    }


def failures(report: dict[str, Any]) -> list[str]:
    """The promises that this run does not keep."""
    ratios = report["requests_at_equal_delay"]
    figures = [
        ("requests of the seed's at equal delay", ratios[RIVALS[0]][0], 0.42),
        ("requests of the first version's at equal delay", ratios[RIVALS[1]][0], 0.72),
        ("missed entries, %", report["policies"]["budget"]["missed_percent"], 0.45),
        ("requests a day of dead feeds", report["dead_requests_per_day"], 1.2),
        ("the same with a quiet ceiling", report["dead_requests_per_day_quiet"], 0.4),
        ("µs of a decision", report["decision_us"], 40.0),
        *(
            (f"{name}: {what}", value, 1.5)
            for name, pair in report["robustness"].items()
            for what, value in zip(("requests", "delay"), pair, strict=True)
        ),
    ]
    return [f"{what}: {value:.3g} > {limit}" for what, value, limit in figures if value > limit]


def print_report(report: dict[str, Any]) -> None:
    """The report as a table."""
    print(f"{report['feeds']} feeds")
    print(f"{'policy':32} {'requests/day':>12} {'mean min':>9} {'median':>7} {'missed %':>9}")
    for name, one in report["policies"].items():
        print(
            f"{name:32} {one['requests_per_day']:12.2f} {one['mean_delay_min']:9.1f}"
            f" {one['feed_median_delay_min']:7.1f} {one['missed_percent']:9.2f}"
        )
    for name, (value, low, high) in report["requests_at_equal_delay"].items():
        print(f"budget / {name}, equal mean delay: {value:.2f} [{low:.2f} to {high:.2f}]")
    print(
        f"dead feeds: {report['dead_requests_per_day']:.2f} requests a day,"
        f" {report['dead_requests_per_day_quiet']:.2f} with a quiet ceiling of 7 days"
    )
    for name, (requests, delay) in report["robustness"].items():
        print(f"{name:32} requests × {requests:.2f}, delay × {delay:.2f}")
    print(f"one decision: {report['decision_us']:.1f} µs")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 when --check finds a promise that is not kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("series", type=Path, help="a file of series, as described above")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise is not kept")
    parser.add_argument("--quick", action="store_true", help="fewer points and cases")
    args = parser.parse_args(argv)
    rows = json.loads(args.series.read_text())["series"]
    series = [_series(row) for row in rows]
    report = measure(series, [row.get("cls", "") for row in rows], quick=args.quick)
    if args.json:
        json.dump(report, sys.stdout, indent=1)
        print()
    else:
        print_report(report)
    broken = failures(report) if args.check else []
    for line in broken:
        print(f"not kept: {line}", file=sys.stderr)
    return 1 if broken else 0


def _series(row: dict[str, Any]) -> Series:
    return Series(
        id=row["id"],
        times=tuple(float(at) for at in sorted(row["times"])),
        start=float(row["start"]),
        end=float(row["end"]),
        window=row["window"],
        ttl_sec=row.get("ttl_sec"),
    )


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


if __name__ == "__main__":
    sys.exit(main())
