"""Parses the dates of feeds into instants in UTC, or None.

The specifications say RFC 822 (RSS), RFC 3339 (Atom, JSON Feed) or W3CDTF (dc:date). Two strict
patterns read those; the lenient grammar below reads everything else. No reading
depends on the clock, the local zone or the locale, so a replay gives what the first run gave.

Rules that are the same everywhere: no zone means UTC; an unknown zone name means UTC (RFC 2822
section 4.3); the day name is never used; a date alone is its midnight; years of two digits turn at
50 and years of three digits count from 1900 (RFC 2822 section 4.3); a fraction is cut to
microseconds; an instant outside the years 1 to 9999 is no date.

Lenient date parser: every order, language and habit that real feeds show.

The text is tidied (comments, marks, accents, shorthand of ISO 8601 and of East Asia), the clock is
found in it, and what stands before and after the clock is read as a day and as a zone:

    Tue, 14 Oct 2025     09:30:05     +0200 (CEST)        mail, RFC 850, cookies
    Tue Oct 14           09:30:05     PDT 2025            asctime, date(1), Ruby
                         09:30,       14 October 2025     clock first
    2025-10-14 T         09:30:05     Z                   ISO 8601, W3CDTF
    14.10.2025                                            no clock: midnight

Digits are those of ASCII only. The text is short (`dates.MAX_CHARS`), so nothing here can be slow.
"""

import re
from datetime import UTC, date, datetime, time, timedelta

from feedmill.normalise.date_fields import (
    find_time,
    fold_accents,
    fraction_to_micros,
    is_zone_name,
    read_am_pm,
    read_day,
    since_midnight,
    zone_minutes,
)

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

# The hour stops at 23 and the second at 59: the lenient parser reads 24:00 and leap seconds.
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


def parse_lenient_date(text: str) -> datetime | None:
    """Return the instant in UTC, or None; a day or hour that does not exist is a ValueError."""
    if any(char.isdecimal() and not char.isascii() for char in text):
        return None  # ٢٠٢٥ or ２０２５: readable perhaps, but not by accident
    plain = _spell_out(_tidy(text))
    clock = find_time(plain)
    if clock is None:
        day_text, zone = _peel_zone(plain)
        return _instant(read_day(day_text, whole=False), timedelta(), zone)
    before, after = plain[: clock.start()], plain[clock.end() :]
    half, after = read_am_pm(before, after)
    if _DIGIT.search(before):
        day_text, zone = _move_year(before, after)
    else:
        day_text, zone = _peel_zone(after)
    if not zone.strip() and _KOREAN.search(text):
        zone = "kst"  # Korean software writes the local clock without a zone
    return _instant(read_day(day_text, whole=True), since_midnight(clock, half), zone)


def _instant(day: date | None, clock: timedelta, zone: str) -> datetime | None:
    if day is None:
        return None
    ahead = _read_zone(zone, day)
    if ahead is None:
        return None
    # One addition: 24:00 at +0100 on the last day of 9999 is still a date, 23:00 at -0100 is not.
    return datetime.combine(day, time(), UTC) + (clock - timedelta(minutes=ahead))


def _tidy(text: str) -> str:
    """Return the text folded, on one line, without comments, quotes and invisible marks."""
    tidy = fold_accents(text.translate(_MARKS))
    while (shorter := _COMMENT.sub(" ", tidy)) != tidy:  # RFC 822 comments nest
        tidy = shorter
    return " ".join(tidy.split())


def _spell_out(tidy: str) -> str:
    """Return the text with the shorthand of ISO 8601, logs and other scripts in plain fields."""
    for pattern, plain in () if tidy.isascii() else _OTHER_SCRIPTS:
        tidy = pattern.sub(plain, tidy)
    if _THAI.search(tidy):
        tidy = _BUDDHIST_YEAR.sub(lambda found: str(int(found[0]) - 543), tidy)
    tidy = _VIETNAMESE.sub(r"\3-\2-\1", tidy)
    tidy = _WEEK_DAY.sub(_from_week, tidy)
    tidy = _ORDINAL_DAY.sub(_from_ordinal, tidy)
    tidy = _COMPACT_DAY.sub(r"\1-\2-\3 ", tidy)
    tidy = _COMPACT_CLOCK.sub(_from_compact_clock, tidy)
    tidy = _LOG_COLON.sub(" ", tidy)
    return _HALF_DOTS.sub(r"\1m", tidy)  # a.m., p. m.


def _from_week(found: re.Match[str]) -> str:
    year, week, day = found.groups(default="1")
    return f"{date.fromisocalendar(int(year), int(week), int(day))} "


def _from_ordinal(found: re.Match[str]) -> str:
    year, number = int(found[1]), int(found[2])
    day = date(year, 1, 1) + timedelta(days=number - 1)
    return f"{day} " if day.year == year else found[0]


def _from_compact_clock(found: re.Match[str]) -> str:
    day, hour, minute, second = found.groups(default="00")
    return f"{day} {hour}:{minute}:{second}"


def _move_year(before: str, after: str) -> tuple[str, str]:
    """Return the day and the zone, with a year that stands behind the clock put to its day."""
    found = _LONE_NUMBER.search(after)
    if found is None:
        return before, after
    head, tail = after[: found.start()], after[found.end() :]
    if not _FULL_YEAR.search(before):
        return f"{before} {found[0]}", head + tail
    # Next to a full year, four digits are an offset that lost its plus on the way.
    return before, f"{head}+{found[0]}{tail}" if len(found[0]) == 4 else after


def _peel_zone(text: str) -> tuple[str, str]:
    """Return a day and the zone behind it: 2025-10-14Z, 14 Oct 2025 +0200, 14 Oct 2025 EST."""
    if found := _TAIL_OFFSET.search(text):
        return text[: found.start()], found[0]
    head, _, tail = text.rpartition(" ")
    return (head, tail) if is_zone_name(tail) else (text, "")


def _read_zone(text: str, day: date) -> int | None:
    """Return minutes east of UTC: a number counts most, then a known name, then UTC.

    None for what cannot be a zone at all: a sign without a number, digits, markup, prose.
    """
    words = _SPACED_SIGN.sub(r"\1", text.replace(",", " ")).split()
    offsets = [found for word in words if (found := _OFFSET.fullmatch(word))]
    names = [word.rstrip(".") for word in words if not _OFFSET.fullmatch(word)]
    if len(words) > _MAX_ZONE_WORDS or not all(_NAME.fullmatch(name) for name in names):
        return None
    if offsets:
        return _offset_minutes(offsets[0])
    known = (zone_minutes(name, day) for name in (" ".join(names), *names))
    return next((minutes for minutes in known if minutes is not None), 0)


def _offset_minutes(found: re.Match[str]) -> int | None:
    name, sign, hours, rest = found.groups(default="0")
    minutes = int(hours) * 60 + int(rest)
    if int(hours) > 23 or int(rest) > 59:
        return None
    # The names Etc/GMT+3 follow POSIX, where a plus is west.
    return minutes if (sign == "+") != name.startswith("etc/") else -minutes


_MAX_ZONE_WORDS = 5

_DIGIT = re.compile("[0-9]")
_FULL_YEAR = re.compile("[0-9]{4}")
_KOREAN = re.compile("년|오전|오후")

_MARKS = str.maketrans(
    dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u202a\u202c\ufeff")
    | dict.fromkeys("\"'`´‘’“”«»_|@·•;،，、–—", " ")
    | {"−": "-", "‐": "-", "‑": "-", "（": "(", "）": ")", "：": ":", "／": "/", "．": "."}
)

# An RFC 822 comment, closed or cut off, and the suffix of RFC 9557.
_COMMENT = re.compile(r"\([^()]*(?:\)|$)|\[[^\[\]]*\]")

_VIETNAMESE = re.compile("([0-9]{1,2}),? thang ([0-9]{1,2})(?:,| nam)* ([0-9]{4})")
_OTHER_SCRIPTS = (
    # The months that the Levant names with two words, and halves of the day without an m.
    (re.compile("تشرين الاول"), "اكتوبر"),
    (re.compile("تشرين الثاني"), "نوفمبر"),
    (re.compile("كانون الاول"), "ديسمبر"),
    (re.compile("كانون الثاني"), "يناير"),
    (re.compile(r"(?<=:[0-9]{2}) ?(?:صباحا|ص|π\. ?μ\.?)(?!\w)"), " am"),
    (re.compile(r"(?<=:[0-9]{2}) ?(?:مساء|م|μ\. ?μ\.?)(?!\w)"), " pm"),
    # 12 5월 2008: the day before a month that is a number.
    (re.compile("([0-9]{1,2}),? ([0-9]{1,2}) ?[월月],? ([0-9]{4})(?![0-9])"), r"\3-\2-\1"),
    (re.compile("(?<=[0-9]) ?[年년月월] ?"), "-"),
    (re.compile("(?<=[0-9]) ?[日일号號]"), " "),
    (re.compile("(?<=[0-9]) ?[時时点點시] ?(?=[0-9]+ ?[分분])"), ":"),
    (re.compile("(?<=[0-9]) ?[時时点點시]"), ":00"),
    (re.compile("(?<=[0-9]) ?[分분] ?(?=[0-9]+ ?[秒초])"), ":"),
    (re.compile("(?<=[0-9]) ?[分분秒초]"), " "),
)

_THAI = re.compile("[\u0e01-\u0e2e]")
_BUDDHIST_YEAR = re.compile("(?<![0-9])2[45][0-9]{2}(?![0-9])")

_WEEK_DAY = re.compile(r"^([0-9]{4})-?w([0-9]{2})(?:-?([1-7]))?(?![0-9-])")
_ORDINAL_DAY = re.compile(r"^([0-9]{4})-?([0-9]{3})(?![0-9-])")
_COMPACT_DAY = re.compile(r"^([0-9]{4})([0-9]{2})([0-9]{2})(?=(?:[0-9]{4}(?:[0-9]{2})?)?(?![0-9]))")
_COMPACT_CLOCK = re.compile(
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?: ?t ?| (?=[0-9]{4}))([0-9]{2})"
    r"(?:([0-9]{2})([0-9]{2})?)?(?![0-9:])"
)
_LOG_COLON = re.compile("(?<=[0-9]{4}):(?=[0-9]{2}:[0-9]{2}:[0-9]{2})")

_HALF_DOTS = re.compile(r"(?<![a-z])([ap])(?:\. ?m\.?| m\.)(?![a-z])")
_LONE_NUMBER = re.compile(r"(?<!\S)(?:[0-9]{4}|[0-9]{2})(?!\S)")
_TAIL_OFFSET = re.compile(
    r"(?<=[0-9])(?: ?z|[+-][0-9]{2}:[0-9]{2})$"
    r"| (?:(?:gmt|utc) ?)?[+-][0-9]{1,2}(?::?[0-9]{2})?$"
)
_SPACED_SIGN = re.compile(r"([+-]) (?=[0-9])")
_OFFSET = re.compile(r"([a-z/]*)([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_NAME = re.compile(r"[^\W\d_][\w./-]*")
