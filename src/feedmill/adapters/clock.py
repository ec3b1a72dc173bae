"""System clock and random ids: the only place that reads either."""

import asyncio
import os
import time
from array import array
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from threading import Lock
from typing import Final

_RANDOM_BYTES: Final = 2_048
_random: Final[list[int]] = []
os.register_at_fork(after_in_child=_random.clear)  # a forked process draws its own
_TICKS: Final = 4096  # of one millisecond: the 12 bits that RFC 9562 calls rand_a
_HEAD, _TAIL, _VARIANT = (1 << 60) - 1, (1 << 62) - 1, 1 << 63  # bits of an id around its version


class SystemClock:
    """Wall clock for instants, monotonic clock for waits, UUIDv7 for ids."""

    def __init__(self) -> None:
        self._last_tick = 0
        self._lock = Lock()

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  # this is the one place

    # Seconds that never jump; not a method of ours, because a poll asks sixteen times.
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def new_id(self) -> str:
        """A UUID of version 7 (RFC 9562): random, and in the order in which they were made.

        The index likes that order; a person tells two feeds of one import apart by the random
        ends of their ids.
        """
        tick = time.time_ns() * _TICKS // 1_000_000 & _HEAD
        with self._lock:  # greater than the last, whatever the wall clock says
            tick = self._last_tick = max(tick, self._last_tick + 1)
        head, tail = f"{tick:015x}", f"{_draw() & _TAIL | _VARIANT:016x}"
        return f"{head[:8]}-{head[8:12]}-7{head[12:]}-{tail[:4]}-{tail[4:]}"

    def new_secret(self) -> str:
        """256 random bits, in letters that need no escaping anywhere."""
        return urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()


def _draw() -> int:
    """64 random bits, drawn in advance: a system call for each id hands the interpreter to another thread."""
    try:
        return _random.pop()
    except IndexError:
        drawn = array("Q", os.urandom(_RANDOM_BYTES))
        _random.extend(drawn[1:])
        return drawn[0]
