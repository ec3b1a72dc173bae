"""The periods of archive documents (RFC 5005 section 4): years, months, days, hours and minutes in UTC.

An archive document holds what came in during its period. Where that is more than a page, the next shorter
period is used instead. So the address of a document says what belongs to it: entries that come in later or
are removed never move another entry into another document.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from feedmill.model.base import Value

_FORMS: Final = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d", 13: "%Y-%m-%dT%H", 16: "%Y-%m-%dT%H:%M"}
_LENGTHS: Final = {10: timedelta(days=1), 13: timedelta(hours=1), 16: timedelta(minutes=1)}
_FIRST_YEAR: Final = 1970


class Period(Value):
    """From `start` until before `end`."""

    name: str  # "2026", "2026-11", "2026-11-16", "2026-11-16T09", "2026-11-16T09:30"
    start: datetime
    end: datetime

    @property
    def is_shortest(self) -> bool:
        """A minute is not split, however much came in."""
        return len(self.name) == max(_FORMS)


def read_period(name: str) -> Period | None:
    """The period of that name; None when it is no name of one."""
    form = _FORMS.get(len(name))
    try:
        start = datetime.strptime(name, form or "").replace(tzinfo=UTC)
        if start.year < _FIRST_YEAR or start.strftime(form or "") != name:
            return None
        return Period(name=name, start=start, end=_end(start, len(name)))
    except (ValueError, OverflowError):
        return None


def periods_around(at: datetime) -> tuple[Period, ...]:
    """The periods that hold an instant, the longest first."""
    found = (read_period(at.astimezone(UTC).strftime(form)) for form in _FORMS.values())
    return tuple(period for period in found if period is not None)


def _end(start: datetime, chars: int) -> datetime:
    if chars in _LENGTHS:
        return start + _LENGTHS[chars]
    is_year = chars == min(_FORMS)
    months = start.year * 12 + (12 if is_year else start.month)
    return start.replace(year=months // 12, month=months % 12 + 1)
