"""Options that several commands share, and durations as the command line spells them: 90d, 12h, 0."""
# Tested in tests/integration/interfaces/cli/

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import click

from feedmill.interfaces.cli.exit import JSON_FORM

_MAX_INTEGER: Final = 2**63 - 1
_HEADER: Final = "feedmill.header"
_LIMIT: Final = "feedmill.limit"
_AFTER: Final = "feedmill.after"


class Number(click.FloatRange):
    """A number within a range; nan, which compares with nothing, is in none."""

    name = "number"

    def convert(
        self,
        value: Any,  # noqa: ANN401  # of click
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number."""
        number: float = super().convert(value, param, ctx)
        if number != number:  # nan
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number within a range, and no larger than a store can hold."""

    def convert(
        self,
        value: Any,  # noqa: ANN401  # of click
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """The number."""
        number: int = super().convert(value, param, ctx)
        if number > _MAX_INTEGER:
            self.fail(f"{number} is too large", param, ctx)
        return number


FILE_TO_READ: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
FILE_TO_WRITE: Final = click.Path(dir_okay=False, path_type=Path)


def usage_error(message: str) -> NoReturn:
    """Refuse what the options say together."""
    raise click.UsageError(message)


def bad_value(message: str, option: str | None = None) -> NoReturn:
    """Refuse the value of an option; click names the one that it converts."""
    raise click.BadParameter(message, param_hint=option) from None


def parse_text(text: str) -> str:
    """The text of an option. An empty one is a variable that a script did not set, not "any"."""
    if not text.strip():
        bad_value("it is empty; leave the option out instead")
    return text


def option(
    *names: str,
    default: object = None,
    choices: Sequence[str] | None = None,
    least: int | None = None,
    most: int | None = None,
    **more: Any,  # noqa: ANN401  # of click
) -> Callable[[Any], Any]:
    """An option: `"--limit N", "Maximum number of feeds."`, with a parameter's name between the two if it differs.

    The help shows the default; `least` and `most` make a number of it. A text is not empty, but the name of a feed may
    be: then there is no such feed.
    """
    first, *others, about = names
    spelt, _, metavar = first.partition(" ")
    if choices is not None:
        more["type"] = click.Choice(choices)
    elif least is not None or most is not None:
        more["type"] = Whole(least, most)
    elif metavar and metavar != "FEED":
        more = {"type": parse_text} | more
    if metavar:
        more["metavar"] = metavar
    if default is not None:
        more = {"default": default, "show_default": True} | more
    return click.option(spelt, *others, help=about, **more)


def flag(*names: str, **more: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # of click
    """An option without a value; the last of its names is its help."""
    return option(*names, is_flag=True, **more)


def _kept(name: str, value: object = None) -> Callable[..., None]:
    """A callback that keeps the value of an option in the context, for who prints: no command passes it on."""

    def keep(ctx: click.Context, _: click.Parameter, given: Any) -> None:  # noqa: ANN401  # of any option
        if given is not None and given is not False:
            ctx.meta[name] = given if value is None else value

    return keep


def _kept_flag(name: str, about: str, key: str, value: object = None) -> Callable[[Any], Any]:
    return flag(name, about, expose_value=False, callback=_kept(key, value))


json_option = _kept_flag("--json", "Print JSON.", JSON_FORM, "json")
_ndjson_option = _kept_flag(
    "--ndjson",
    "Print one line of JSON per item, of all pages unless --limit is given.",
    JSON_FORM,
    "ndjson",
)
_header_option = _kept_flag("--header", "Print the names of the columns also into a pipe.", _HEADER)
_after_option = option(
    "--after CURSOR",
    "Continue after the previous page.",
    expose_value=False,
    callback=_kept(_AFTER),
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
        about = f"Maximum number of items; 0: all.  [default: {limit}]"
        number = option(
            "--limit N", about, least=0, expose_value=False, callback=_kept_limit(limit)
        )
        paged: Callable[..., Any] = number(_after_option(command))
        return paged

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


duration_option = option(
    "--for SEC", "duration", "Stop after this many seconds.", type=Number(min=0)
)
webhooks_option = option("--webhooks/--no-webhooks", "Deliver to webhooks.", default=True)
topics_option = option(
    "--topics", "topic_file", "A file with topics, added to the bundled ones.", type=FILE_TO_READ
)
topic_option = option("--topic NAME", "topic_names", "Only this topic; repeatable.", multiple=True)
feeds_argument = click.argument("feeds", nargs=-1, required=True, metavar="FEED...")
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_LONGEST: Final = timedelta(days=365_000)  # so that no instant leaves the calendar
_SPELLING: Final = re.compile(r"([0-9]{1,6})([dhms])")


def out_option(default: str) -> Callable[[Any], Any]:
    """--out: the file that candidates are written to."""
    about = "Output file for the candidates."
    return option("--out", "--output", about, type=FILE_TO_WRITE, default=Path(default))


def overlap_option(about: str) -> Callable[[Any], Any]:
    """--overlap: how long an old secret stays valid."""
    return option("--overlap DURATION", about, type=parse_duration, default="1d")


def check_options(**wished: Any) -> None:  # noqa: ANN401  # fields of a wish for a feed; None: not given
    """Refuse values of a feed that REST refuses, by the name of their option."""
    import msgspec  # noqa: PLC0415  # few commands set a feed up

    from feedmill.publish.mistakes import mistake_in_words  # noqa: PLC0415
    from feedmill.publish.shapes import FeedWish  # noqa: PLC0415

    given = {name: value for name, value in wished.items() if value is not None}
    try:
        msgspec.convert({"url": "https://example.com/", **given}, FeedWish)
    except msgspec.ValidationError as problem:
        words, _, field = mistake_in_words(problem, FeedWish).partition(" - at `$.")
        name = field.split("[")[0].removesuffix("`").removesuffix("_sec").removesuffix("s")
        hint = f"--{name.replace('_', '-')}"
        bad_value(words, hint)


def parse_time(text: str) -> datetime:
    """The time of an option."""
    from feedmill.normalise.dates import parse_date  # noqa: PLC0415  # few commands have one

    moment = parse_date(text)
    if moment is None:
        bad_value(f"{text!r} is not a time; use a format like 2025-10-14 or 2025-10-14T09:30:00Z")
    return moment


def parse_duration(text: str) -> timedelta:
    """The duration; BadParameter when the unit is missing."""
    if text == "0":
        return timedelta(0)
    match = _SPELLING.fullmatch(text)
    if match is None:
        bad_value(f"{text!r} is not a duration; use a format like 90d, 12h, 30m or 45s")
    duration = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if duration > _LONGEST:
        bad_value(f"{text!r} is too long: {_LONGEST.days}d is the most")
    return duration
