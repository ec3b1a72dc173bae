"""How a command leaves early: with an error that helps, on an interrupt, or because nobody reads."""

import json
import os
import sys
from typing import NoReturn

import click


def exit_with_error(
    code: str, message: str, hint: str = "", *, as_json: bool, status: int = 1
) -> NoReturn:
    """Say what went wrong, where and what to do about it, on standard error, and leave."""
    if as_json:
        error = {"code": code, "message": message, "hint": hint or None}
        click.echo(json.dumps({"error": error}), err=True)
    else:
        click.echo(f"feedmill: {message}" + (f"\n  {hint}" if hint else ""), err=True)
    sys.exit(status)


def exit_interrupted(words: str = "interrupted", *, as_json: bool) -> NoReturn:
    """Leave as shells expect it after Ctrl-C."""
    exit_with_error("interrupted", words, as_json=as_json, status=130)


def mute_stdout() -> None:
    """Let nothing more be written to a standard output that nobody reads."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
