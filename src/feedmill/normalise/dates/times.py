"""The clock in a date: where it stands in the text, and how long after midnight it is.

09:30   9:30:05   09:30:05,5   09:30:05:123   09.30   9h30   9 pm   12:05 AM   24:00   23:59:60
"""
# Tested in tests/unit/normalise/dates/test_parse.py

import re
from datetime import time, timedelta


def find_time(plain: str) -> re.Match[str] | None:
    """Return where the clock stands in a tidied text, None if there is only a day."""
    found = _CLOCK.search(plain)
    if found is not None:
        # Behind a minus, hours and minutes are the offset of a bare date (XML Schema).
        is_offset = plain[: found.start()].endswith("-") and found["second"] is None
        return None if is_offset else found
    dotted = _DOTTED_CLOCK.search(plain)
    if dotted is not None and _FULL_YEAR.search(plain, 0, dotted.start()):
        return dotted
    return _LETTERED_CLOCK.search(plain)


def read_am_pm(before: str, after: str) -> tuple[str, str]:
    """Return am, pm or nothing, and the text after the clock without it."""
    if found := _HALF.match(after):
        return found[1], after[found.end() :]
    if found := _HALF_BEFORE.search(before):
        return ("am" if found[0] in _MORNINGS else "pm"), after
    return "", after


def since_midnight(clock: re.Match[str], half: str) -> timedelta:
    """Return how long after midnight the clock is; a ValueError if no clock shows that."""
    hour, minute, second, fraction = (clock[name] or "0" for name in _FIELDS)
    hours, minutes, seconds = _hour_of_day(int(hour), half), int(minute), int(second)
    microseconds = fraction_to_micros(fraction)
    if seconds == 60:  # a leap second, for which datetime has no name (RFC 3339 section 5.7)
        seconds, microseconds = 59, 0
    # ISO 8601 calls the end of a day 24:00.
    if (hours, minutes, seconds, microseconds) != (24, 0, 0, 0):
        time(hours, minutes, seconds)  # raises what this function promises
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds)


def fraction_to_micros(fraction: str) -> int:
    """Return the microseconds of the digits behind a decimal sign; finer ones are cut off."""
    return int(fraction[:6].ljust(6, "0"))


def _hour_of_day(hour: int, half: str) -> int:
    if half == "am" and hour > 12:
        raise ValueError(hour)
    if hour == 12 and half == "am":
        return 0
    return hour + 12 if half == "pm" and hour < 12 else hour  # 13:30 PM is seen, and is 13:30


_FIELDS = ("hour", "minute", "second", "fraction")

_CLOCK = re.compile(
    r"(?<![0-9:+])(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:[.,:](?P<fraction>[0-9]+))?)?(?![0-9:])"
)

# Dots divide dates too: this one counts only behind a year.
_DOTTED_CLOCK = re.compile(
    r"(?<= )(?P<hour>[0-9]{1,2})\.(?P<minute>[0-9]{2})(?:\.(?P<second>[0-9]{2}))?"
    r"(?P<fraction>)(?![.0-9])"
)

_LETTERED_CLOCK = re.compile(
    r"(?<![0-9:.])(?P<hour>[0-9]{1,2})(?: ?h ?(?P<minute>[0-9]{2})?(?P<second>)(?P<fraction>)"
    r"(?![a-z0-9])| ?(?=[ap]m(?![a-z])))"
)

_FULL_YEAR = re.compile("[0-9]{4}")

_HALF = re.compile(r" ?([ap]m)(?![a-z])")
_HALF_BEFORE = re.compile("오전|오후|上午|下午|午前|午後")
_MORNINGS = frozenset({"오전", "上午", "午前"})
