"""Replays publication times under a policy: requests, delays and entries missed (D23).

A virtual publisher shows the newest `window` entries at the times at which they came out, and answers
304 when nothing is new. An entry that rolled out of the window before it was seen is missed. Polling
starts at `start` with the document of that time, and ends at `end`; an entry that is seen only after
that still has its delay.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from statistics import fmean, median, quantiles

from feedmill.config import ScheduleConfig
from feedmill.model.base import Value
from feedmill.model.schedule import Hint, Hints, Outcome
from feedmill.schedule.decide import decide_next_poll, learn_entries
from feedmill.schedule.interval import initial_state

USUAL_WINDOW = 20
_DAY = 86_400.0


class Series(Value):
    """The publication times of one feed, in order, and what a poll of it would show."""

    id: str
    times: tuple[float, ...]  # Unix seconds; those before `start` are in the first document
    start: float
    end: float
    window: int = USUAL_WINDOW  # entries in one document
    ttl_sec: int | None = None
    dates: tuple[float | None, ...] | None = None  # what the entries say, where it is not the truth


class VirtualPoll(Value):
    """One answer of the virtual publisher."""

    now: float
    dates: tuple[float | None, ...]  # of the entries that are new since the last poll
    window: int  # entries in the document
    is_first: bool


class Simulation(Value):
    """What a policy did with one series."""

    id: str
    days: float
    polls: tuple[float, ...]
    unchanged: int  # of the polls, how many were answered 304
    delays: tuple[float, ...]  # of the entries that were found, in seconds
    missed: int


class Summary(Value):
    """One line of a comparison: what a policy asks for, and what it costs."""

    feeds: int
    requests: int
    requests_per_day: float  # of a feed, on average
    mean_delay_sec: float | None  # per entry
    median_delay_sec: float | None  # per entry
    p90_delay_sec: float | None  # per entry
    feed_median_delay_sec: float | None  # the median of the feeds' own medians
    entries: int
    missed: int
    missed_share: float
    unchanged_share: float  # of the requests, how many were answered 304


Policy = Callable[[VirtualPoll], float]  # the delay until the next poll, in seconds


def simulate(series: Series, policy: Policy) -> Simulation:
    """Poll the virtual publisher of the series as the policy says."""
    times, window = series.times, max(1, series.window)
    dates = times if series.dates is None else series.dates
    counted = bisect_right(times, series.end)
    now, seen = series.start, bisect_right(times, series.start)
    first = VirtualPoll(
        now=now, dates=dates[max(0, seen - window) : seen], window=min(seen, window), is_first=True
    )
    polls, delays, missed, unchanged = [now], list[float](), 0, 0
    now += policy(first)
    while True:
        out = bisect_right(times, now)
        shown = max(seen, out - window)
        missed += max(0, min(shown, counted) - seen)
        delays.extend(now - at for at in times[shown : min(out, counted)])
        if now > series.end:
            break
        polls.append(now)
        unchanged += out == seen
        answer = VirtualPoll(
            now=now, dates=dates[shown:out], window=min(out, window), is_first=False
        )
        seen = out
        now += policy(answer)
    return Simulation(
        id=series.id,
        days=(series.end - series.start) / _DAY,
        polls=tuple(polls),
        unchanged=unchanged,
        delays=tuple(delays),
        missed=missed,
    )


def own_policy(series: Series, config: ScheduleConfig) -> Policy:
    """The scheduler's own decisions, as a poll of the engine makes them."""
    state = initial_state(config)
    previous_at: datetime | None = None

    def decide(poll: VirtualPoll) -> float:
        nonlocal state, previous_at
        now = datetime.fromtimestamp(poll.now, UTC)
        if poll.dates:
            dates = [None if at is None else datetime.fromtimestamp(at, UTC) for at in poll.dates]
            state, _ = learn_entries(
                state, dates, previous_at=previous_at, now=now, window=poll.window, config=config
            )
        is_304 = not poll.dates and not poll.is_first
        outcome = Outcome(
            kind="unchanged" if is_304 else "fresh",
            http_status=304 if is_304 else 200,
            new_entries=len(poll.dates),
        )
        ttl = series.ttl_sec
        hints = Hints(ttl_sec=Hint(value=ttl, source="ttl", seen_at=now)) if ttl else Hints()
        decision = decide_next_poll(
            state, outcome, hints, now=now, feed_id=series.id, config=config
        )
        state, previous_at = decision.state, now
        return max(1.0, decision.delay_sec)

    return decide


def summarise(simulations: Iterable[Simulation]) -> Summary:
    """All simulations of one policy as one line."""
    runs = tuple(simulations)
    delays = sorted(delay for run in runs for delay in run.delays)
    requests = sum(len(run.polls) for run in runs)
    missed = sum(run.missed for run in runs)
    entries = len(delays) + missed
    return Summary(
        feeds=len(runs),
        requests=requests,
        requests_per_day=fmean(
            [len(run.polls) / run.days for run in runs if run.days > 0] or [0.0]
        ),
        mean_delay_sec=fmean(delays) if delays else None,
        median_delay_sec=median(delays) if delays else None,
        p90_delay_sec=_p90(delays),
        feed_median_delay_sec=_median([median(run.delays) for run in runs if run.delays]),
        entries=entries,
        missed=missed,
        missed_share=missed / entries if entries else 0.0,
        unchanged_share=sum(run.unchanged for run in runs) / requests if requests else 0.0,
    )


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _p90(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=10, method="inclusive")[8]
