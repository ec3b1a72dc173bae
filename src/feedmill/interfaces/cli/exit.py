"""Early exits of a command: with an error, on an interrupt, or on a closed pipe."""

import json
import os
import sys
from typing import NoReturn

import click


def exit_with_error(
    code: str, message: str, hint: str = "", *, as_json: bool, status: int = 1
) -> NoReturn:
    """Print an error with a hint on standard error and exit."""
    if as_json:
        error = {"code": code, "message": message, "hint": hint or None}
        click.echo(json.dumps({"error": error}), err=True)
    else:
        click.echo(f"feedmill: {message}" + (f"\n  {hint}" if hint else ""), err=True)
    sys.exit(status)


def exit_interrupted(words: str = "interrupted", *, as_json: bool) -> NoReturn:
    """Exit with 130, as shells expect after Ctrl-C."""
    exit_with_error("interrupted", words, as_json=as_json, status=130)


def mute_stdout() -> None:
    """Redirect standard output to /dev/null once its reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
