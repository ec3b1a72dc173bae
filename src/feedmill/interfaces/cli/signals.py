"""Graceful shutdown on SIGTERM and Ctrl-C; a second signal stops at once.

A supervisor may send the same signal twice in a row, once to the process and once to its group, as
`timeout` does: that counts as one.
"""

import asyncio
import signal
from typing import Final

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.cli.early_signals import SIGNALS

_ONE_WISH_SEC: Final = 0.1  # a person who presses Ctrl-C again is slower


class SignalHandler:
    """Stops a lifecycle on signals and remembers the signal."""

    def __init__(self, watch: Lifecycle) -> None:
        self.by: signal.Signals | None = None
        self._watch = watch
        self._task = asyncio.current_task()
        self._asked_sec = 0.0

    def ask(self, number: signal.Signals) -> None:
        """Stop gracefully; at the second signal, cancel the task."""
        now_sec = asyncio.get_running_loop().time()
        is_new = self.by is None
        if not is_new and self._task is not None and now_sec - self._asked_sec > _ONE_WISH_SEC:
            self._task.cancel()
        if is_new:
            self._asked_sec = now_sec
        self.by = number
        self._watch.stop()


def stop_on_signals(watch: Lifecycle) -> SignalHandler:
    """Install the handlers of SIGTERM and Ctrl-C for this task."""
    stopping = SignalHandler(watch)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.ask, number)
    return stopping
