"""Early exits of a command: with an error, on a signal while it is imported, or on a closed pipe.

SIGTERM and Ctrl-C may arrive while a long-running command is still being imported. Without a handler
they would end the process at once, with the exit code of a crash, and the supervisor that stops a
service it has just started would report a failure.
"""
# Tested in tests/integration/interfaces/cli/

import json
import os
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

import click

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_received: list[signal.Signals] = []


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


def remember_signals() -> None:
    """Record SIGTERM and SIGINT until the event loop of the command handles them."""
    for number in SIGNALS:
        signal.signal(number, _record)


def early_signal() -> signal.Signals | None:
    """The first signal that arrived before the event loop handled signals, if any did."""
    return _received[0] if _received else None


def _record(number: int, _: FrameType | None) -> None:
    _received.append(signal.Signals(number))
