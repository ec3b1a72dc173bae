"""The day in a date: which of its numbers is the year, the month and the day.

A month by name settles the order. Without one, a year of four digits in front settles it, and
otherwise the numbers must leave one reading: 10/14/2025 is a day, 03/04/2025 is not. Dots are
written day first wherever dots are written.
"""
# Tested in tests/unit/normalise/dates/test_parse.py

import re
from datetime import date

from feedmill.normalise.dates.months import month_number


def read_day(text: str, *, whole: bool) -> date | None:
    """Return the day of a folded text; None if it names none or leaves two readings.

    Unless a `whole` day is asked for, a year or a month stands for its first day (W3CDTF). A day
    that the calendar lacks is a ValueError.
    """
    if _SIGNED_NUMBER.search(text) or _STRANGE.search(text):
        return None  # the year -0001 is what PHP makes of a zero date
    numbers, words = _NUMBERS.findall(text), _WORDS.findall(text)
    months = [month for word in words if (month := month_number(word))]
    if len(words) > _MAX_WORDS:
        return None
    if months:
        # "mar, 14 ott": of two months, the first is a Tuesday in four languages.
        return _named_day(numbers, months[1] if len(months) > 1 else months[0], whole=whole)
    if len(numbers) == 3:
        return _numeric_day(*numbers, dotted="." in text)
    return None if whole or words else _first_day(numbers)


def _named_day(numbers: list[str], month: int, *, whole: bool) -> date | None:
    if len(numbers) == 2:
        day, year = numbers if len(numbers[0]) <= 2 else reversed(numbers)
        return date(_full_year(year), month, _field(day))
    if len(numbers) == 1 and len(numbers[0]) == 4 and not whole:
        return date(int(numbers[0]), month, 1)
    return None


def _numeric_day(first: str, second: str, third: str, *, dotted: bool) -> date | None:
    if len(first) == 4:
        return date(int(first), _field(second), _field(third))
    if len(third) not in {2, 4}:
        return None
    orders = [(third, second, first), (third, first, second)]
    if len(third) == 2:
        orders.append((first, second, third))
    days = [day for order in orders if (day := _day_or_none(*order))]
    return days[0] if days and (dotted or len(set(days)) == 1) else None


def _first_day(numbers: list[str]) -> date | None:
    match [len(number) for number in numbers]:
        case [4]:
            return date(int(numbers[0]), 1, 1)
        case [4, 1 | 2]:
            return date(int(numbers[0]), int(numbers[1]), 1)
    return None


def _day_or_none(year: str, month: str, day: str) -> date | None:
    try:
        return date(_full_year(year), _field(month), _field(day))
    except ValueError:
        return None


def _full_year(digits: str) -> int:
    """Return the year that two, three or four digits mean (RFC 2822 section 4.3)."""
    match len(digits):
        case 2:
            return int(digits) + (2000 if int(digits) < 50 else 1900)
        case 3:
            return int(digits) + 1900
        case 4:
            return int(digits)
    raise ValueError(digits)


def _field(digits: str) -> int:
    """Return a day or a month; one digit or two, never more."""
    if len(digits) > 2:
        raise ValueError(digits)
    return int(digits)


_MAX_WORDS = 8  # "posted on Tuesday the 14th of October at"; more is prose

_NUMBERS = re.compile("[0-9]+")
_WORDS = re.compile(r"[^\W\d_]+")
_SIGNED_NUMBER = re.compile(r"(?:^|[\s-])[-+][0-9]")
_STRANGE = re.compile(r"[^\w\s.,/:°-]|//")
