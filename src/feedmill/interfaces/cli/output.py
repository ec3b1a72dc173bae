"""Output of commands: colours and tables on a terminal, JSON for programs.

Text from feeds goes through `shorten` before it reaches a terminal: no control character, no line
end and no reversal of the writing direction survives.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, Protocol

import click
import msgspec

from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import list_request

_NARROW: Final = 24  # columns up to here are shown whole on a terminal
_LEAST: Final = 12  # columns that a text needs at least
_BEGIN, _END = "\x01", "\x02"


class ProgressStep(Protocol):
    """Advance a progress bar."""

    def __call__(self, count: int = 1) -> None: ...


def style_text(text: str, *, bold: bool | None = None, fg: str | None = None) -> str:
    """Text with emphasis on a terminal; plain anywhere else and where NO_COLOR is set."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, bold=bold, fg=fg)


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters, safe to print: no control characters survive."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: width * 4]).split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def pad_text(text: str, width: int) -> str:
    """The text with spaces behind it, so many that the next column begins at its place: Chinese is twice as wide."""
    from unicodedata import east_asian_width  # noqa: PLC0415  # most texts are ASCII

    wide = 0 if text.isascii() else sum(east_asian_width(one) in "WF" for one in text)
    return text + " " * (width - len(text) - wide)


def format_duration(wait: timedelta) -> str:
    """A duration as text: 40 s, 15 min, 12.5 h, 3 d."""
    seconds = max(wait.total_seconds(), 0.0)
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} d"


def format_bytes(count: int) -> str:
    """A size as text: 900 B, 12.3 kB, 4.5 GB."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1_000:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} TB"


def format_count(number: int, noun: str, many: str | None = None) -> str:
    """A number with its noun: 1 feed, 2 feeds."""
    return f"{number} {noun}" if number == 1 else f"{number} {many or noun + 's'}"


def show_json(value: object) -> None:
    """One JSON document on standard output."""
    encoded = msgspec.json.encode(value)
    click.echo(msgspec.json.format(encoded, indent=2) if sys.stdout.isatty() else encoded)


def show_json_line(value: object) -> None:
    """One JSON document on one line, for streams."""
    click.echo(msgspec.json.encode(value))


def show_list(
    items: Sequence[object],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    empty: str = "",
    following: str | None = None,
    whole: object = None,
    show: Callable[[], None] | None = None,
) -> None:
    """A list as a table, as JSON with the cursor of the next page, or as lines of JSON.

    `whole` is the JSON document of a list that says more than its items; `show` prints a terminal's own form.
    """
    if list_request().as_lines:
        for item in items:
            show_json_line(item)
    elif is_json():
        show_json({"items": items, "next": following} if whole is None else whole)
    elif empty and not items:
        click.echo(empty)
    elif show is not None:
        show()
    else:
        show_table(head, rows)
    if following is not None and not is_json():
        # On standard error: a pipe holds the list alone.
        click.echo(f"next page: --after {following}", err=True)


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: bool = False) -> None:
    """A table: fitted to a terminal by rich, tab-separated in a pipe.

    What is too long is cut, or with `wrap` goes on in the next line. A terminal is shown no column that is empty or
    repeats another, and one line per cell where it is too narrow for a table.
    """
    if not sys.stdout.isatty():
        if list_request().has_header:
            click.echo("\t".join(head))
        for row in rows:
            click.echo("\t".join(shorten(cell, 400) for cell in row))
        return
    filled = [
        place
        for place in range(len(head))
        if head[place] not in head[:place] and (not rows or any(row[place] for row in rows))
    ]
    head, rows = (
        [head[place] for place in filled],
        [[row[place] for place in filled] for row in rows],
    )
    widest = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    # rich takes from every column alike; an id without its last digit is no id.
    elastic = [width > _NARROW for width in widest]
    elastic[-1] = elastic[-1] or not any(elastic)
    fixed = sum(width for width, gives in zip(widest, elastic, strict=True) if not gives)
    columns, lines = shutil.get_terminal_size()
    if fixed + 2 * len(head) + _LEAST * sum(elastic) > columns:
        _show_records(head, rows)
        return
    from rich.console import Console  # noqa: PLC0415  # only on a terminal
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for name, gives in zip(head, elastic, strict=True):
        table.add_column(name, no_wrap=not wrap and not gives)
    for row in rows:
        cells = (shorten(cell, 400 if wrap else 120) for cell in row)
        if wrap:
            table.add_row(*(Text(cell, overflow="fold") for cell in cells))
        else:
            table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
    # Both, or rich takes a terminal that it calls dumb for one of 80 columns.
    Console(width=columns, height=lines, no_color=bool(os.environ.get("NO_COLOR"))).print(table)


def _show_records(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows as paragraphs, one cell a line."""
    width = max(map(len, head)) + 2
    for number, row in enumerate(rows):
        if number:
            click.echo()
        for name, cell in zip(head, row, strict=True):
            if cell:
                show_line(name, shorten(cell, 400), width=width, bold=True)


def show_line(
    name: str,
    text: str,
    *,
    width: int = 26,
    indent: str = "",
    bold: bool | None = None,
    fg: str | None = None,
) -> None:
    """A name and its text beside it; on a terminal the text is wrapped at words, below the name where it is narrow."""
    label = f"{indent}{name:<{width - len(indent)}}"
    if not sys.stdout.isatty():
        click.echo(label + text)
        return
    columns = shutil.get_terminal_size().columns
    beside = columns - width >= 2 * _LEAST
    hang = width if beside else len(indent) + 2
    lines = wrap_text(text, columns - hang) or [""]
    shown = style_text(label, bold=bold, fg=fg)
    click.echo(shown + lines.pop(0) if beside else shown)
    for line in lines:
        click.echo(" " * hang + line)


def show_text(text: str, *, first: str = "  ", fg: str | None = None) -> None:
    """Text behind an indent; a terminal gets it wrapped at words. What `emphasised` returned stands out."""
    lines = [text]
    if sys.stdout.isatty():
        lines = wrap_text(text, shutil.get_terminal_size().columns - 2) or [""]
    begin, end = style_text(_END, bold=True, fg=fg).split(_END)
    for number, line in enumerate(lines):
        shown = line.replace(_BEGIN, begin).replace(_END, end)
        click.echo(("  " if number else first) + shown)


def emphasised(text: str) -> str:
    """The text between two marks that `show_text` makes colours of; no printable text has them."""
    return f"{_BEGIN}{text}{_END}"


def wrap_text(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters; an address is never cut."""
    from textwrap import wrap  # noqa: PLC0415  # only on a terminal

    return wrap(text, max(width, _LEAST), break_long_words=False, break_on_hyphens=False)


def show_facts(facts: Mapping[str, Any], *, indent: str = "") -> None:
    """One fact a line; what is empty is left out, what is nested is indented."""
    for key, value in facts.items():
        if _is_empty(value):
            continue
        if isinstance(value, Mapping):
            click.echo(indent + style_text(key, bold=True))
            show_facts(value, indent=indent + "  ")
        else:
            show_line(key, shorten(_plain(value), 400), indent=indent)


def _is_empty(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
    return value in (None, "", (), [])


@contextmanager
def progress(total: int | None, what: str, *, hide: bool = False) -> Iterator[ProgressStep]:
    """A progress bar on standard error while long work goes on; nothing in a pipe."""
    if hide or is_json() or not sys.stderr.isatty():
        yield _no_step
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(count: int = 1) -> None:
            bar.advance(task, count)

        yield advance


def _no_step(count: int = 1) -> None:
    """Do nothing: standard error is not a terminal."""


def _plain(value: object) -> str:
    """A value without brackets and quotes."""
    if isinstance(value, Mapping):
        return " ".join(f"{_plain(one)}" for one in value.values() if one is not None)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_plain, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return str(value)
