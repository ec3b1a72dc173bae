"""Parses the dates of feeds into instants in UTC, or None.

The specifications say RFC 822 (RSS), RFC 3339 (Atom, JSON Feed) or W3CDTF (dc:date). Two strict
patterns read those; the lenient grammar in `lenient.py` reads everything else. No reading
depends on the clock, the local zone or the locale, so a replay gives what the first run gave.

Rules that are the same everywhere: no zone means UTC; an unknown zone name means UTC (RFC 2822
section 4.3); the day name is never used; a date alone is its midnight; years of two digits turn at
50 and years of three digits count from 1900 (RFC 2822 section 4.3); a fraction is cut to
microseconds; an instant outside the years 1 to 9999 is no date.
"""

import re
from datetime import UTC, datetime, timedelta

from feedmill.normalise.dates.lenient import parse_lenient_date
from feedmill.normalise.dates.times import fraction_to_micros

MAX_DATE_CHARS = 200  # several times a wordy date with its comment


def parse_date(text: str | None) -> datetime | None:
    """Return the instant that the text names, aware and in UTC; None if it names none."""
    if text is None:
        return None
    text = text.strip()
    if len(text) > MAX_DATE_CHARS:
        return None
    try:
        return _read(text)
    except (ValueError, OverflowError):  # 30 February; or the last hour of the year 9999
        return None


def _read(text: str) -> datetime | None:
    if found := _RFC_822.fullmatch(text):
        day, month, year, hour, minute, second, zone = found.groups()
        number, ahead = _MONTHS.get(month), _AHEAD.get(zone)
        if number is not None and ahead is not None:
            local = datetime(
                int(year), number, int(day), int(hour), int(minute), int(second), 0, UTC
            )
            return local - ahead
    elif _RFC_3339.fullmatch(text):
        return datetime.fromisoformat(text).astimezone(UTC)
    elif found := _NUMBER.fullmatch(text):
        sign, whole, fraction = found.groups(default="")
        instant = _read_epoch(sign, whole, fraction)
        if instant is not None or sign or fraction:
            return instant
    return parse_lenient_date(text)


def _read_epoch(sign: str, whole: str, fraction: str) -> datetime | None:
    """Return the instant of a Unix time in seconds, or in thousandths and so on by its length.

    No feed specification has it, some feeds do. The lengths that a calendar form has (2025,
    2025287, 20251014, 20251014093005) are left to the calendar.
    """
    if sign:
        per_second = 1 if len(whole) <= 11 and len(whole) not in {4, 8} else 0
    else:
        per_second = 1 if whole == "0" else _UNITS_PER_SECOND.get(len(whole), 0)
    if per_second == 0 or (fraction and per_second != 1):
        return None
    since = timedelta(
        microseconds=int(whole) * 1_000_000 // per_second + fraction_to_micros(fraction)
    )
    return _EPOCH - since if sign else _EPOCH + since


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_UNITS_PER_SECOND = {9: 1, 10: 1, 11: 1, 13: 1_000, 16: 1_000_000, 19: 1_000_000_000}

_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")

# The hour stops at 23 and the second at 59: `lenient.py` reads 24:00 and leap seconds.
_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"

_RFC_822 = re.compile(
    r"(?:[A-Za-z]{3}, )?([0-9]{1,2}) ([A-Z][a-z]{2}) ([0-9]{4}) "
    r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]) ([+-][0-9]{4}|[A-Z]{1,3})"
)

_RFC_3339 = re.compile(
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_CLOCK}:[0-5][0-9](?:\.[0-9]{{1,9}})?(?:Z|[+-]{_CLOCK})"
)

_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6,
    "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip

# The zones of RFC 822 section 5.1 and every quarter of an hour, ready to subtract.
_AHEAD = {
    zone: timedelta(hours=hours)
    for hours, zones in {
        0: "GMT UTC UT Z", -4: "EDT", -5: "EST CDT", -6: "CST MDT", -7: "MST PDT", -8: "PST",
    }.items()
    for zone in zones.split()
} | {
    f"{sign}{hours:02}{minutes:02}": int(f"{sign}1") * timedelta(hours=hours, minutes=minutes)
    for sign in "+-"
    for hours in range(24)
    for minutes in (0, 15, 30, 45)
}  # fmt: skip
