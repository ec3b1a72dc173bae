"""How every command speaks: colour for people on a terminal, JSON for programs, errors that help."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import click
import msgspec


def paint(text: str, *, bold: bool | None = None, fg: str | None = None) -> str:
    """Text with emphasis on a terminal; plain anywhere else and where NO_COLOR is set."""
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, bold=bold, fg=fg)


def shorten(text: str, width: int) -> str:
    """One line of at most `width` characters, safe to print: no control characters survive."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: width * 4]).split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def show_json(value: object) -> None:
    """One JSON document on standard output."""
    encoded = msgspec.json.encode(value)
    click.echo(msgspec.json.format(encoded, indent=2) if sys.stdout.isatty() else encoded)


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: fitted to a terminal by rich, tab-separated in a pipe."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(shorten(cell, 400) for cell in row))
        return
    from rich.console import Console  # noqa: PLC0415  # only where somebody looks
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for name in head:
        table.add_column(name, overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(escape(shorten(cell, 120)) for cell in row))
    Console(no_color=bool(os.environ.get("NO_COLOR"))).print(table)


@contextmanager
def progress(total: int, what: str, *, hide: bool = False) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error while long work goes on; nothing in a pipe."""
    if hide or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def fail(code: str, message: str, hint: str = "", *, as_json: bool, status: int = 1) -> NoReturn:
    """Say what went wrong, where and what to do about it, on standard error, and leave."""
    if as_json:
        error = {"code": code, "message": message, "hint": hint or None}
        click.echo(msgspec.json.encode({"error": error}), err=True)
    else:
        click.echo(f"feedmill: {message}" + (f" ({hint})" if hint else ""), err=True)
    sys.exit(status)
