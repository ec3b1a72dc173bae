"""Quiet windows: the hours and days at which a publisher does not want to be asked.

RSS 2.0 names hours and days in GMT. An hour is excluded from its first second to its last.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_HOUR = timedelta(hours=1)


def excludes_everything(hours: Collection[int], days: Collection[str]) -> bool:
    """Whether no hour of the week is left; such a hint is nonsense and nobody can follow it."""
    return set(range(24)) <= set(hours) or set(DAY_NAMES) <= set(days)


def is_quiet(instant: datetime, hours: Collection[int], days: Collection[str]) -> bool:
    """Whether the instant lies in an excluded hour or on an excluded day."""
    at = instant.astimezone(UTC)
    return at.hour in hours or DAY_NAMES[at.weekday()] in days


def leave_quiet_window(
    instant: datetime, hours: Collection[int], days: Collection[str]
) -> datetime | None:
    """The instant itself, or the start of the next open hour; None when there is none."""
    if excludes_everything(hours, days):
        return None
    at = instant
    while is_quiet(at, hours, days):
        at = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + _HOUR
    return at
