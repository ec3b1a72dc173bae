"""Parses durations of the command line: 90d, 12h, 30m, 45s, 0."""

import re
from datetime import timedelta
from typing import Final

import click

_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_SPELLING: Final = re.compile(r"([0-9]{1,6})([dhms])")


def parse_duration(text: str) -> timedelta:
    """The duration; BadParameter when the unit is missing."""
    if text == "0":
        return timedelta(0)
    match = _SPELLING.fullmatch(text)
    if match is None:
        message = f"{text!r} is not a duration; use a format like 90d, 12h, 30m or 45s"
        raise click.BadParameter(message)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
