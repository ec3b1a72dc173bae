"""The system's clock and fresh ids: the only place that looks at either."""

import asyncio
import os
import time
from datetime import UTC, datetime


class SystemClock:
    """Wall clock for instants, monotonic clock for waits, UUIDv7 for ids."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  # this is the one place

    def monotonic(self) -> float:
        """Seconds that never jump."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def new_id(self) -> str:
        """A UUID of version 7 (RFC 9562): random, and ordered by time for the index's sake."""
        milliseconds = int(time.time() * 1000)  # noqa: TID251  # this is the one place
        tail = int.from_bytes(os.urandom(10), "big")
        number = (milliseconds & (1 << 48) - 1) << 80
        number |= 0x7 << 76 | (tail >> 68 & 0xFFF) << 64
        number |= 0b10 << 62 | tail & (1 << 62) - 1
        text = f"{number:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
