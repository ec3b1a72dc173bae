"""Options that several commands share, and durations as the command line spells them: 90d, 12h, 0."""
# Tested in tests/integration/interfaces/cli/

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
after_option = click.option("--after", metavar="CURSOR", help="Continue after the previous page.")
duration_option = click.option(
    "--for",
    "duration",
    type=click.FloatRange(min=0),
    metavar="SEC",
    help="Stop after this many seconds.",
)
webhooks_option = click.option(
    "--webhooks/--no-webhooks", default=True, show_default=True, help="Deliver to webhooks."
)
topics_option = click.option(
    "--topics",
    "topic_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with topics, added to the bundled ones.",
)
topic_option = click.option(
    "--topic", "topic_names", multiple=True, metavar="NAME", help="Only this topic; repeatable."
)
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_SPELLING: Final = re.compile(r"([0-9]{1,6})([dhms])")


def context_and_json(command: Callable[..., Any]) -> Callable[..., Any]:
    """The context as the first argument, and --json as the last option."""
    return json_option(click.pass_context(command))


def limit_option(default: int) -> Callable[[Any], Any]:
    """--limit: the size of a page."""
    return click.option(
        "--limit",
        type=click.IntRange(1, 1000),
        default=default,
        show_default=True,
        help="Maximum number of items.",
    )


def out_option(default: str) -> Callable[[Any], Any]:
    """--out: the file that candidates are written to."""
    return click.option(
        "--out",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path(default),
        show_default=True,
        help="Output file for the candidates.",
    )


def overlap_option(help_text: str) -> Callable[[Any], Any]:
    """--overlap: how long an old secret stays valid."""
    return click.option(
        "--overlap",
        type=parse_duration,
        default="1d",
        show_default=True,
        metavar="DURATION",
        help=help_text,
    )


def parse_duration(text: str) -> timedelta:
    """The duration; BadParameter when the unit is missing."""
    if text == "0":
        return timedelta(0)
    match = _SPELLING.fullmatch(text)
    if match is None:
        message = f"{text!r} is not a duration; use a format like 90d, 12h, 30m or 45s"
        raise click.BadParameter(message)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
