"""Durations and instants as a person would say them."""

from datetime import UTC, datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def duration_in_words(seconds: float) -> str:
    """The two largest units of a duration that is not negative: 1 h 15 min."""
    left = round(seconds)
    for index, (size, unit) in enumerate(_UNITS):
        if left >= size:
            smaller = left % size // _UNITS[index + 1][0] if index + 1 < len(_UNITS) else 0
            tail = f" {smaller} {_UNITS[index + 1][1]}" if smaller else ""
            return f"{left // size} {unit}{tail}"
    return "0 s"


def instant_in_words(instant: datetime) -> str:
    """The instant in UTC, to the second."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
