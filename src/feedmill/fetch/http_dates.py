"""Parses dates of HTTP headers: the three forms of RFC 9110 5.6.7, and common variations.

Only for header fields; the dates inside feeds have a grammar of their own.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

_MAX_CHARS = 64
_FLAGS = re.ASCII | re.IGNORECASE
_ZONE = r"(?: ?(?P<zone>gmt|utc|ut|z|[+-]\d\d:?\d\d))?"
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)"

_FORMS = (
    # Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
    re.compile(
        r"(?:[a-z]{3,9},? ?)?(?P<day>\d{1,2})[ -](?P<month>[a-z]{3})[ -]"
        rf"(?P<year>\d{{4}}|\d\d) {_TIME}{_ZONE}",
        _FLAGS,
    ),
    # Sun Nov  6 08:49:37 1994
    re.compile(
        rf"[a-z]{{3,9}} (?P<month>[a-z]{{3}}) (?P<day>\d{{1,2}}) {_TIME} (?P<year>\d{{4}}){_ZONE}",
        _FLAGS,
    ),
    # 1994-11-06T08:49:37Z is no HTTP-date, but its meaning is beyond doubt
    re.compile(
        r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[t ]"
        rf"{_TIME}(?:\.\d{{1,9}})?(?P<zone>z|[+-]\d\d:?\d\d)",
        _FLAGS,
    ),
)

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        start=1,
    )
}


def parse_http_date(value: str, now: datetime) -> datetime | None:
    """The instant in UTC, or None for anything that is no date.

    `now` places two-digit years. The day name is not looked at: servers get it wrong, and the
    rest says it all. A missing zone is GMT, the only one that HTTP has.
    """
    if len(value) > _MAX_CHARS:
        return None
    text = " ".join(value.split())
    for form in _FORMS:
        if (match := form.fullmatch(text)) is not None:
            return _instant(match, now)
    return None


def _instant(match: re.Match[str], now: datetime) -> datetime | None:
    if len(match["year"]) == 4:
        return _in_year(match, int(match["year"]))
    # The latest year with these two digits that is not over 50 years ahead (RFC 9110 5.6.7).
    century = now.year - now.year % 100
    for base in (century + 100, century, century - 100):
        moment = _in_year(match, base + int(match["year"]))
        if moment is not None and moment <= _years_later(now, 50):
            return moment
    return None


def _in_year(match: re.Match[str], year: int) -> datetime | None:
    month = match["month"].lower()
    second = int(match["second"])
    leap = second == 60  # RFC 9110 5.6.7 allows a leap second
    try:
        moment = datetime(
            year,
            int(month) if month.isdigit() else _MONTHS[month],
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            59 if leap else second,
            tzinfo=_zone(match["zone"]),
        )
        return moment.astimezone(UTC) + timedelta(seconds=int(leap))
    except (ValueError, KeyError, OverflowError):
        return None


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _years_later(moment: datetime, years: int) -> datetime:
    try:
        return moment.replace(year=moment.year + years)
    except ValueError:  # 29 February
        return moment.replace(year=moment.year + years, day=28)
