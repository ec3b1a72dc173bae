"""Events on standard output, one line each, for a pipe."""

import asyncio
import sys
from collections.abc import Sequence

from feedmill.model.event import Event
from feedmill.publish.lines import event_line


class StdoutTap:
    """Writes and flushes; a closed pipe ends the program as it does any other."""

    def __init__(self, name: str = "stdout") -> None:
        self.name = name

    async def deliver(self, events: Sequence[Event]) -> None:
        """Print the events."""
        await asyncio.to_thread(_write, b"".join(event_line(event) for event in events))

    async def close(self) -> None:
        """Nothing to close: the stream is not ours."""


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
