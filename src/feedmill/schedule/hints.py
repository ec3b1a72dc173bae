"""Publisher and server hints about when to poll, stored with their source and age (D22).

A publisher's hints stand in the document, so they are replaced only when a document was read;
a 304 and an error leave them as they are. What a server says about an answer counts from the
instant of that answer and fades by itself.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from feedmill.model.parsed import PublisherHints
from feedmill.model.schedule import Hint, Hints, HintSource

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_PERIOD_SEC = {
    "hourly": 3_600,
    "daily": 86_400,
    "weekly": 604_800,
    "monthly": 2_592_000,
    "yearly": 31_536_000,
}

# max-age=31536000 is how "for ever" is written. More says no more, and a number that a
# publisher chose must fit into every store.
_LONGEST_SEC = 31_536_000


def merge_hints(
    stored: Hints,
    *,
    seen_at: datetime,
    publisher: PublisherHints | None = None,
    freshness_sec: float | None = None,
    freshness_source: Literal["max-age", "expires"] = "max-age",
    retry_after_sec: float | None = None,
) -> Hints:
    """The stored hints with what one answer brought; `None` means that it said nothing.

    A freshness of nought ("Expires: 0") withdraws an earlier one.
    """
    merged = stored if publisher is None else _from_publisher(stored, publisher, seen_at)
    if freshness_sec is not None:
        merged = replace(merged, freshness_sec=_seconds(freshness_sec, freshness_source, seen_at))
    if retry_after_sec is not None:
        merged = replace(merged, retry_after_sec=_seconds(retry_after_sec, "retry-after", seen_at))
    return merged


def read_update_period(period: str | None, frequency: int | None) -> int | None:
    """The seconds between two updates by sy:updatePeriod and sy:updateFrequency.

    The module's defaults are daily and once; a period or frequency that means nothing makes
    the whole hint void.
    """
    if period is None and frequency is None:
        return None
    length = _PERIOD_SEC.get(period.strip().lower()) if period is not None else _PERIOD_SEC["daily"]
    times = 1 if frequency is None else frequency
    if length is None or times < 1:
        return None
    return length // times or None  # more often than every second is no hint


def read_skip_hours(hours: Iterable[int]) -> tuple[int, ...]:
    """The hours 0..23 among those given, in order; 24 is midnight, as in RSS 0.91."""
    return tuple(sorted({hour % 24 for hour in hours if 0 <= hour <= 24}))


def read_skip_days(names: Iterable[str]) -> tuple[str, ...]:
    """The days Mon..Sun that were named, in the order of the week; case and length are free."""
    wanted = {name.strip().rstrip(".").lower() for name in names}
    if not wanted:
        return ()
    return tuple(
        day[:3] for day in _DAYS if any(day[:end].lower() in wanted for end in range(3, 10))
    )


def _from_publisher(stored: Hints, said: PublisherHints, seen_at: datetime) -> Hints:
    period = read_update_period(said.update_period, said.update_frequency)
    hours = read_skip_hours(said.skip_hours)
    days = read_skip_days(said.skip_days)
    return replace(
        stored,
        ttl_sec=_seconds((said.ttl_minutes or 0) * 60, "ttl", seen_at),
        update_period_sec=_seconds(period or 0, "sy", seen_at),
        skip_hours=Hint(value=hours, source="skipHours", seen_at=seen_at) if hours else None,
        skip_days=Hint(value=days, source="skipDays", seen_at=seen_at) if days else None,
    )


def _seconds(seconds: float, source: HintSource, seen_at: datetime) -> Hint[int] | None:
    """A hint of whole seconds, as long as anything can mean; None for less than one."""
    if seconds >= 1:  # written so that NaN fails it
        return Hint(value=int(min(seconds, _LONGEST_SEC)), source=source, seen_at=seen_at)
    return None
