"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from feedmill.interfaces.cli.durations import parse_duration

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


def limit_option(default: int) -> Callable[[Any], Any]:
    """--limit: the size of a page."""
    return click.option(
        "--limit",
        type=click.IntRange(1, 1000),
        default=default,
        show_default=True,
        help="Maximum number of items.",
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
