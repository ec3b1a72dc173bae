"""Options that several commands share, and durations as the command line spells them: 90d, 12h, 0."""
# Tested in tests/integration/interfaces/cli/

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from feedmill.interfaces.cli.exit import JSON_FORM

_HEADER: Final = "feedmill.header"
_LIMIT: Final = "feedmill.limit"
_AFTER: Final = "feedmill.after"


def option(*names: str, default: object = None, **more: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # of click
    """An option; the last of its names is its help. A default is shown there."""
    *spelt, about = names
    shown: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    return click.option(*spelt, help=about, **(shown | more))


def flag(*names: str, **more: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # of click
    """An option without a value; the last of its names is its help."""
    return option(*names, is_flag=True, **more)


def _kept(name: str, value: object = None) -> Callable[..., None]:
    """A callback that keeps the value of an option in the context, for who prints: no command passes it on."""

    def keep(ctx: click.Context, _: click.Parameter, given: Any) -> None:  # noqa: ANN401  # of any option
        if given:
            ctx.meta[name] = given if value is None else value

    return keep


def _flag(name: str, help_text: str, key: str, value: object = None) -> Callable[[Any], Any]:
    keep = _kept(key, value)
    return click.option(name, is_flag=True, expose_value=False, callback=keep, help=help_text)


json_option = _flag("--json", "Print JSON.", JSON_FORM, "json")
_ndjson_option = _flag(
    "--ndjson",
    "Print one line of JSON per item, of all pages unless --limit is given.",
    JSON_FORM,
    "ndjson",
)
_header_option = _flag("--header", "Print the names of the columns also into a pipe.", _HEADER)
_after_option = click.option(
    "--after",
    metavar="CURSOR",
    expose_value=False,
    callback=_kept(_AFTER),
    help="Continue after the previous page.",
)


class ListRequest(NamedTuple):
    """What a list was asked for; `limit` None: everything."""

    limit: int | None
    after: str | None
    as_lines: bool
    has_header: bool


def list_options(limit: int | None = None) -> Callable[[Any], Any]:
    """The options of a list: --json, --ndjson and --header; with a limit also --limit and --after, for its pages."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = _header_option(_ndjson_option(json_option(command)))
        if limit is None:
            return command
        help_text = f"Maximum number of items; 0: all.  [default: {limit}]"
        number = click.option(
            "--limit",
            type=click.IntRange(min=0),
            metavar="N",
            expose_value=False,
            callback=_kept_limit(limit),
            help=help_text,
        )
        return number(_after_option(command))

    return add


def list_request() -> ListRequest:
    """What the list that runs was asked for."""
    meta = click.get_current_context().meta
    as_lines = meta.get(JSON_FORM) == "ndjson"
    given, usual = meta.get(_LIMIT, (None, None))
    limit = given if given is not None else None if as_lines else usual
    return ListRequest(limit or None, meta.get(_AFTER), as_lines, bool(meta.get(_HEADER)))


def _kept_limit(usual: int) -> Callable[..., None]:
    def keep(ctx: click.Context, _: click.Parameter, given: int | None) -> None:
        ctx.meta[_LIMIT] = (given, usual)

    return keep


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


def parse_time(text: str) -> datetime:
    """The time of an option."""
    from feedmill.normalise.dates.parse import parse_date  # noqa: PLC0415  # few commands have one

    moment = parse_date(text)
    if moment is None:
        message = f"{text!r} is not a time; use a format like 2025-10-14 or 2025-10-14T09:30:00Z"
        raise click.BadParameter(message)
    return moment


def parse_duration(text: str) -> timedelta:
    """The duration; BadParameter when the unit is missing."""
    if text == "0":
        return timedelta(0)
    match = _SPELLING.fullmatch(text)
    if match is None:
        message = f"{text!r} is not a duration; use a format like 90d, 12h, 30m or 45s"
        raise click.BadParameter(message)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
