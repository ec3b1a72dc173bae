"""How often and when a feed publishes: learnt from event times, and used to forecast (D34).

An event is one or more entries that came out together. Its time is never taken on trust: an entry that
was not in the document at the previous poll came out after it, whatever its date says. Counts decay with
three half-lives, so that the rate follows a change quickly and forgets a burst slowly; a profile of hours
and weekdays (UTC) tells busy times from quiet ones, held back by pseudo-counts while little is known.

The best time to poll is when the entries that we have probably not seen have together waited for the
price. At a constant rate that is the square-root law of optimal crawling: T = sqrt(2 * price / rate).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import exp, inf, log, sqrt
from typing import Final, Literal

from msgspec.structs import replace

from feedmill.model.base import Value
from feedmill.model.schedule import Arrivals

SAME_EVENT_SEC: Final = 60.0
_DAY: Final = 86_400.0
_HOUR: Final = 3_600.0
_LIVES: Final = tuple(days * _DAY / log(2) for days in (2, 10, 60))  # mean lives
_WEIGHTS: Final = (0.35, 0.40, 0.25)
_PRIOR_EVENTS: Final = 0.5
_PRIOR_SEC: Final = 2 * _DAY
_PRIOR_ENTRIES: Final = 2
_HOUR_WEIGHT: Final = 6.0
_WEEKDAY_WEIGHT: Final = 12.0
_NEIGHBOUR: Final = 0.15
_OWN: Final = 1.0 - 2 * _NEIGHBOUR
_WEEKDAY_OF_EPOCH: Final = 3  # 1970-01-01 was a Thursday; Monday is 0
_NO_WINDOW: Final = 1_000_000_000
_DIGITS: Final = 4  # of a count that is kept; the rest says nothing about a feed


class Forecast(Value):
    """When a poll is worth its price, and what is expected by then."""

    wait_sec: float
    unseen: float  # entries that will probably have come out by then
    limit: Literal["price", "window", "ceiling"]  # what ended the wait


def event_times(
    dates: Iterable[datetime | None], *, previous_at: datetime | None, now: datetime
) -> tuple[float, ...]:
    """When new entries came out, in Unix seconds and in order: after the previous poll, before now.

    An undated entry counts in the middle of that time. Without a previous poll the stated dates are
    all there is, and an undated entry says nothing.
    """
    end = now.timestamp()
    if previous_at is None:
        return tuple(sorted(min(at.timestamp(), end) for at in dates if at is not None))
    start = min(previous_at.timestamp(), end)
    middle = (start + end) / 2
    return tuple(
        sorted(middle if at is None else min(max(at.timestamp(), start), end) for at in dates)
    )


def distinct_events(times: Iterable[float], last: float | None = None) -> list[float]:
    """The times in order, less those within a minute of the one before: entries of one event."""
    found: list[float] = []
    for at in times:
        if last is None or at - last >= SAME_EVENT_SEC:
            found.append(at)
            last = at
    return found


def learn_arrivals(
    known: Arrivals | None, times: Sequence[float], *, now: float, window: int
) -> Arrivals:
    """What is known after entries came out at these times, which are in order.

    Without any time the feed is watched from now on.
    """
    known = known or _nothing_known(times[0] if times else now)
    events = distinct_events(times, known.last if known.events else None)
    if not events:
        return replace(known, entries=known.entries + len(times), window=window)
    newest = events[-1]
    fading = [exp((known.last - newest) / life) for life in _LIVES]
    counts = [count * fade for count, fade in zip(known.counts, fading, strict=True)]
    hours = [weight * fading[2] for weight in known.hours]
    weekdays = [weight * fading[2] for weight in known.weekdays]
    for at in events:
        weights = [exp((at - newest) / life) for life in _LIVES]
        for index, weight in enumerate(weights):
            counts[index] += weight
        hour = int(at // _HOUR)
        hours[hour % 24] += weights[2]
        weekdays[(hour // 24 + _WEEKDAY_OF_EPOCH) % 7] += weights[2]
    return Arrivals(
        opened=known.opened,
        last=newest,
        entries=known.entries + len(times),
        events=known.events + len(events),
        window=window,
        counts=(round(counts[0], _DIGITS), round(counts[1], _DIGITS), round(counts[2], _DIGITS)),
        hours=tuple([round(weight, _DIGITS) for weight in hours]),
        weekdays=tuple([round(weight, _DIGITS) for weight in weekdays]),
    )


def entry_rate(known: Arrivals, now: float) -> float:
    """Entries per second that are to be expected from now on, over all hours of the week."""
    silence = max(0.0, now - known.last)
    watched = max(0.0, now - known.opened)
    events = 0.0
    for count, life, weight in zip(known.counts, _LIVES, _WEIGHTS, strict=True):
        exposure = life * (1.0 - exp(-watched / life))
        events += weight * (count * exp(-silence / life) + _PRIOR_EVENTS) / (exposure + _PRIOR_SEC)
    return events * (known.entries + _PRIOR_ENTRIES) / (known.events + _PRIOR_ENTRIES)


def hour_factors(known: Arrivals) -> list[float]:
    """How much busier than on average each hour of the day is (UTC)."""
    hours = known.hours
    scale = 24.0 / (sum(hours) + _HOUR_WEIGHT)
    return [_busy(hours, hour) * scale for hour in range(24)]


def weekday_factors(known: Arrivals) -> list[float]:
    """How much busier than on average each day of the week is, from Monday (UTC)."""
    scale = 7.0 / (sum(known.weekdays) + _WEEKDAY_WEIGHT)
    return [(weight + _WEEKDAY_WEIGHT / 7.0) * scale for weight in known.weekdays]


def forecast(known: Arrivals, *, now: float, price_sec: float, ceiling_sec: float) -> Forecast:
    """The wait after which the entries not seen yet have together waited for the price.

    It ends early when half a document may have come out: what rolls out of it unseen is lost.
    """
    hours = known.hours
    days = weekday_factors(known)
    rate = entry_rate(known, now) * 24.0 / (sum(hours) + _HOUR_WEIGHT)
    room = max(1.0, known.window / 2)
    hour = int(now // _HOUR)
    day, of_day = hour // 24 + _WEEKDAY_OF_EPOCH, hour % 24
    step = (hour + 1) * _HOUR - now
    elapsed = waited = unseen = 0.0
    daily = rate * days[day % 7]
    while True:
        if step >= ceiling_sec - elapsed:
            step = ceiling_sec - elapsed
        pace = daily * _busy(hours, of_day)
        more = pace * step
        cost = (unseen + more / 2) * step
        if waited + cost >= price_sec or unseen + more >= room:
            return _within_step(elapsed, unseen, pace, price_sec - waited, room)
        elapsed += step
        unseen += more
        if elapsed >= ceiling_sec:
            return Forecast(wait_sec=ceiling_sec, unseen=unseen, limit="ceiling")
        waited += cost
        step = _HOUR
        of_day += 1
        if of_day == 24:
            of_day = 0
            day += 1
            daily = rate * days[day % 7]


def expected_unseen(known: Arrivals, *, now: float, wait_sec: float) -> float:
    """How many entries will probably have come out by then."""
    return forecast(
        replace(known, window=_NO_WINDOW), now=now, price_sec=inf, ceiling_sec=wait_sec
    ).unseen


def _busy(hours: Sequence[float], hour: int) -> float:
    """The weight of an hour, with a share of its neighbours and of the prior; 24 of them make a day."""
    return (
        _OWN * hours[hour] + _NEIGHBOUR * (hours[hour - 1] + hours[hour - 23]) + _HOUR_WEIGHT / 24.0
    )


def _within_step(
    elapsed: float, unseen: float, pace: float, price_left: float, room: float
) -> Forecast:
    """Where within a step of constant pace the price or half a window is reached first."""
    by_price = 2 * price_left / (unseen + sqrt(unseen * unseen + 2 * pace * price_left))
    by_window = (room - unseen) / pace
    if by_price <= by_window:
        return Forecast(wait_sec=elapsed + by_price, unseen=unseen + pace * by_price, limit="price")
    return Forecast(wait_sec=elapsed + by_window, unseen=room, limit="window")


def _nothing_known(opened: float) -> Arrivals:
    return Arrivals(
        opened=opened,
        last=opened,
        entries=0,
        events=0,
        window=0,
        counts=(0.0, 0.0, 0.0),
        hours=(0.0,) * 24,
        weekdays=(0.0,) * 7,
    )
