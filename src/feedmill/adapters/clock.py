"""System clock and random ids: the only place that reads either."""

import asyncio
import os
import time
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from threading import Lock
from typing import Final

_RANDOM_BYTES: Final = 2_048
_TICKS: Final = 4096  # of one millisecond: the 12 bits that RFC 9562 calls rand_a


class SystemClock:
    """Wall clock for instants, monotonic clock for waits, UUIDv7 for ids."""

    def __init__(self) -> None:
        self._last_tick = 0
        self._lock = Lock()
        self._random, self._random_of = b"", 0  # bytes for ids, and the process that drew them

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
        """A UUID of version 7 (RFC 9562): random, and in the order in which they were made.

        The index likes that order; a person tells two feeds of one import apart by the random
        ends of their ids.
        """
        tick = self._next_tick()
        tail = int.from_bytes(self._draw(8), "big")
        number = (tick >> 12 & (1 << 48) - 1) << 80
        number |= 0x7 << 76 | (tick & 0xFFF) << 64
        number |= 0b10 << 62 | tail & (1 << 62) - 1
        text = f"{number:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def new_secret(self) -> str:
        """256 random bits, in letters that need no escaping anywhere."""
        return urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()

    def _draw(self, count: int) -> bytes:
        """Random bytes, drawn in advance: a system call for each id hands the interpreter to another thread.

        A forked process draws its own.
        """
        with self._lock:
            if len(self._random) < count or self._random_of != os.getpid():
                self._random, self._random_of = os.urandom(_RANDOM_BYTES), os.getpid()
            drawn, self._random = self._random[:count], self._random[count:]
            return drawn

    def _next_tick(self) -> int:
        """The wall clock in 4096ths of a millisecond; greater than the last, whatever it says."""
        tick = time.time_ns() * _TICKS // 1_000_000
        with self._lock:
            self._last_tick = max(tick, self._last_tick + 1)
            return self._last_tick
