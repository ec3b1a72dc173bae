"""Early exits of a command: with an error, on a signal while it is imported, or on a closed pipe.

SIGTERM, SIGHUP and Ctrl-C may arrive while a long-running command is still being imported. Without a handler
they would end the process at once, with the exit code of a crash, and the supervisor that stops a
service it has just started would report a failure.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

import click

JSON_FORM: Final = "feedmill.form"  # "json" or "ndjson", in the context of the command
# A terminal that is closed sends SIGHUP; `nohup` lets it be ignored, and so it stays.
_HANGUP: Final = () if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (signal.SIGHUP,)
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, *_HANGUP)
_received: list[signal.Signals] = []


def is_json() -> bool:
    """Whether the command that runs was called with --json or --ndjson."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(JSON_FORM))


def exit_with_error(
    code: str, message: str, hint: str = "", *, as_json: bool | None = None, status: int = 1
) -> NoReturn:
    """Print an error with a hint on standard error and exit; as JSON when the command speaks JSON."""
    if is_json() if as_json is None else as_json:
        error = {"code": code, "message": message, "hint": hint or None}
        click.echo(json.dumps({"error": error}), err=True)
    else:
        text = f"feedmill: {message}" + (f"\n  {hint}" if hint else "")
        click.echo("\n".join(map(_fitted, text.split("\n"))), err=True)
    sys.exit(status)


def _fitted(line: str) -> str:
    """The line for standard error; a terminal gets it wrapped at words, no address is cut."""
    if not sys.stderr.isatty():
        return line
    from shutil import get_terminal_size  # noqa: PLC0415  # only on a terminal
    from textwrap import fill  # noqa: PLC0415

    return fill(
        line,
        max(get_terminal_size().columns, 20),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def exit_interrupted(words: str = "interrupted", *, as_json: bool | None = None) -> NoReturn:
    """Exit with 130, as shells expect after Ctrl-C."""
    exit_with_error("interrupted", words, as_json=as_json, status=130)


@contextmanager
def ctrl_c_ends_prompt() -> Iterator[None]:
    """Let one Ctrl-C end a prompt: the event loop would only note it and wait for the answer."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def mute_stdout() -> None:
    """Redirect standard output to /dev/null once its reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def remember_signals() -> None:
    """Record SIGTERM, SIGINT and SIGHUP until the event loop of the command handles them."""
    for number in SIGNALS:
        signal.signal(number, _record)


def early_signal() -> signal.Signals | None:
    """The first signal that arrived before the event loop handled signals, if any did."""
    return _received[0] if _received else None


def _record(number: int, _: FrameType | None) -> None:
    _received.append(signal.Signals(number))
