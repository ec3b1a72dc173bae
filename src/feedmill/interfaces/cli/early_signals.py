"""SIGTERM and Ctrl-C that arrive while a long-running command is still being imported.

Without a handler they would end the process at once, with the exit code of a crash, and the
supervisor that stops a service it has just started would report a failure.
"""

import signal
from types import FrameType
from typing import Final

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_received: list[signal.Signals] = []


def remember_signals() -> None:
    """Record SIGTERM and SIGINT until the event loop of the command handles them."""
    for number in SIGNALS:
        signal.signal(number, _record)


def early_signal() -> signal.Signals | None:
    """The first signal that arrived before the event loop handled signals, if any did."""
    return _received[0] if _received else None


def _record(number: int, _: FrameType | None) -> None:
    _received.append(signal.Signals(number))
