"""Signals: the first asks a run to end and finish what is under way, the second ends it at once.

Whoever watches over a process may send the same signal twice in a row, once to it and once to its
group, as `timeout` does: that is one wish.
"""

import asyncio
import signal
from typing import Final

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.interfaces.cli.early_signals import SIGNALS

_ONE_WISH_SEC: Final = 0.1  # a person who presses Ctrl-C again is slower


class SignalHandler:
    """Which signal asked for the end, if any."""

    def __init__(self, watch: Lifecycle) -> None:
        self.by: signal.Signals | None = None
        self._watch = watch
        self._task = asyncio.current_task()
        self._asked_sec = 0.0

    def ask(self, number: signal.Signals) -> None:
        """Stop after what is under way; asked again, stop now."""
        now_sec = asyncio.get_running_loop().time()
        is_new = self.by is None
        if not is_new and self._task is not None and now_sec - self._asked_sec > _ONE_WISH_SEC:
            self._task.cancel()
        if is_new:
            self._asked_sec = now_sec
        self.by = number
        self._watch.stop()


def stop_on_signals(watch: Lifecycle) -> SignalHandler:
    """Let SIGTERM and Ctrl-C end the run of this task."""
    stopping = SignalHandler(watch)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.ask, number)
    return stopping
