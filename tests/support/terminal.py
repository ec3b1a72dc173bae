"""A command of feedmill at a terminal, with a person who types."""

import os
import pty
from pathlib import Path

from tests.support.command_line import COMMAND
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import WarmPopen


def at_terminal(
    *words: str, typed: str = "", folder: Path | None = None, **environment: str
) -> tuple[int, str]:
    """The status of a command, and what it wrote to a terminal of 120 columns in colour where somebody types this."""
    ours, theirs = pty.openpty()
    own = {"TERM": "xterm-256color", "COLUMNS": "120", **environment}
    process = WarmPopen(
        [COMMAND, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=os.environ | own,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    written = b""
    while piece := _read(ours):
        written += piece
    os.close(ours)
    return process.wait(HANG_GUARD_SEC), written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so when the other side is closed
        return b""
