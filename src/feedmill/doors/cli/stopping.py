"""Signals: the first asks a run to end and finish what is under way, the second ends it at once."""

import asyncio
import signal
from typing import Final

from feedmill.engine.watch import Watch

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Stopping:
    """Which signal asked for the end, if any."""

    def __init__(self, watch: Watch) -> None:
        self.by: signal.Signals | None = None
        self._watch = watch
        self._task = asyncio.current_task()

    def ask(self, number: signal.Signals) -> None:
        """Stop after what is under way; asked again, stop now."""
        if self.by is not None and self._task is not None:
            self._task.cancel()
        self.by = number
        self._watch.stop()


def stop_on_signals(watch: Watch) -> Stopping:
    """Let SIGTERM and Ctrl-C end the run of this task."""
    stopping = Stopping(watch)
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.ask, number)
    return stopping
