"""How every command speaks: colour for people on a terminal, JSON for programs, errors that help."""

import os
import sys
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


def fail(code: str, message: str, hint: str = "", *, as_json: bool, status: int = 1) -> NoReturn:
    """Say what went wrong, where and what to do about it, on standard error, and leave."""
    if as_json:
        error = {"code": code, "message": message, "hint": hint or None}
        click.echo(msgspec.json.encode({"error": error}), err=True)
    else:
        click.echo(f"feedmill: {message}" + (f" ({hint})" if hint else ""), err=True)
    sys.exit(status)
