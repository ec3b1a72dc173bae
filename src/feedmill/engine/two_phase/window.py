"""Parses the time window to collect: half-open, in UTC (001)."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from feedmill.engine.two_phase.candidate_file import raise_candidate_error
from feedmill.model.candidate import Window

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_HINT: Final = "write a day like 2026-01-05 or an instant like 2026-01-05T08:00Z"


def window_between(start: str, end: str | None, *, now: datetime) -> Window:
    """From a day or an instant up to another, or up to now.

    A day begins at midnight UTC, and an end that is a day includes it: it means the next midnight.
    """
    since = _instant(start, "start")
    until = now.astimezone(UTC) if end is None else _instant(end, "end", days=1)
    return _checked(since, until)


def window_of_last(span: timedelta, *, now: datetime) -> Window:
    """The time up to now."""
    until = now.astimezone(UTC)
    try:
        return _checked(until - span, until)
    except OverflowError:
        raise_candidate_error("bad-window", "the window begins before the year 1", _HINT)


def is_within(window: Window, at: datetime) -> bool:
    """Whether an instant lies in the window: its start does, its end does not."""
    return window.start <= at < window.end


def _checked(start: datetime, end: datetime) -> Window:
    if end <= start:
        message = f"the window from {_shown(start)} to {_shown(end)} is empty"
        raise_candidate_error("bad-window", message, "its end has to be after its start")
    return Window(start=start, end=end)


def _instant(text: str, name: str, *, days: int = 0) -> datetime:
    """An instant, or the midnight so many days after the one that a day begins with."""
    words = text.strip()
    try:
        if _DAY.fullmatch(words):
            midnight = datetime.combine(date.fromisoformat(words), time(), UTC)
            return midnight + timedelta(days=days)
        found = datetime.fromisoformat(words)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise_candidate_error(
            "bad-window", f"the {name} {words[:40]!r} is neither a day nor an instant", _HINT
        )


def _shown(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
