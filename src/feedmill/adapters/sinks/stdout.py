"""Standard output sink: one line per event, for a pipe."""

import asyncio
import sys
from collections.abc import Callable, Sequence

from feedmill.model.event import Event
from feedmill.publish.ndjson import event_line


def write_stdout(data: bytes) -> None:
    """Write and flush, so that a reader sees each delivery at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


class StdoutSink:
    """Writes and flushes; a closed pipe ends the program as it does any other."""

    def __init__(
        self,
        name: str = "stdout",
        write: Callable[[bytes], None] = write_stdout,
        line: Callable[[Event], bytes] = event_line,
    ) -> None:
        self.name = name
        self._write = write
        self._line = line

    async def deliver(self, events: Sequence[Event]) -> None:
        """Print the events."""
        await asyncio.to_thread(self._write, b"".join(self._line(event) for event in events))

    async def close(self) -> None:
        """Nothing to close: the stream is not ours."""
