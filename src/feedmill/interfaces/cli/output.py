"""Output of commands: colours and tables on a terminal, JSON for programs.

Text from feeds goes through `shorten` before it reaches a terminal: no control character, no line
end and no reversal of the writing direction survives.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final, Protocol

import click
import msgspec

_NARROW: Final = 24  # columns up to here are shown whole on a terminal


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


def show_result(value: object, words: str, *, as_json: bool) -> None:
    """The result of a command: as JSON, or in words."""
    if as_json:
        show_json(value)
    else:
        click.echo(words)


def show_list(
    items: Sequence[object],
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    as_json: bool,
    empty: str = "",
    following: str | None = None,
) -> None:
    """A page of a list: as JSON with the cursor of the next page, or as a table."""
    if as_json:
        show_json({"items": items, "next": following})
    elif empty and not rows:
        click.echo(empty)
    else:
        show_table(head, rows)


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: bool = False) -> None:
    """A table: fitted to a terminal by rich, tab-separated in a pipe.

    What is too long is cut, or with `wrap` goes on in the next line.
    """
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(shorten(cell, 400) for cell in row))
        return
    from rich.console import Console  # noqa: PLC0415  # only on a terminal
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(head):
        widest = max((len(row[place]) for row in rows), default=0)
        # rich takes from every column alike; an id without its last digit is no id.
        table.add_column(name, no_wrap=not wrap and widest <= _NARROW)
    for row in rows:
        table.add_row(
            *(
                Text(
                    shorten(cell, 400 if wrap else 120),
                    no_wrap=not wrap,
                    overflow="fold" if wrap else "ellipsis",
                )
                for cell in row
            )
        )
    Console(no_color=bool(os.environ.get("NO_COLOR"))).print(table)


def show_facts(facts: Mapping[str, Any], *, indent: str = "") -> None:
    """One fact a line; what is empty is left out, what is nested is indented."""
    for key, value in facts.items():
        if value in (None, "", (), [], {}):
            continue
        if isinstance(value, Mapping):
            click.echo(indent + style_text(key, bold=True))
            show_facts(value, indent=indent + "  ")
        else:
            click.echo(f"{indent}{key:<{26 - len(indent)}}{shorten(_plain(value), 400)}")


@contextmanager
def progress(total: int | None, what: str, *, hide: bool = False) -> Iterator[ProgressStep]:
    """A progress bar on standard error while long work goes on; nothing in a pipe."""
    if hide or not sys.stderr.isatty():
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
    return str(value)
