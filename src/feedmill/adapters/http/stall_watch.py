"""Ends stalled transfers: servers that are silent, below the minimum throughput, or send framing without end.

libcurl's own low-speed limit is an average that can be kept happy; this one is a window. One
round over all transfers per interval costs less than a timer for each.
"""

import asyncio
from collections.abc import Callable

import msgspec

from feedmill.adapters.http.response_buffer import ResponseBuffer
from feedmill.engine.ports.io import Clock
from feedmill.model.fetch import FetchLimits

_ROUNDS_PER_LIMIT = 10
_SOCKETS_INTERVAL_SEC = 0.1  # in that time libcurl reads some 40 MB of framing


class _Watched(msgspec.Struct, eq=False):
    """One transfer, when it was last heard, and where its window began."""

    transfer: ResponseBuffer
    limits: FetchLimits
    end: Callable[[], None]
    octets: Callable[[], int]
    heard_at: float
    heard_bytes: int = 0
    window_at: float | None = None  # None: nothing came yet
    window_bytes: int = 0


class StallWatch:
    """Every transfer under way."""

    def __init__(self, clock: Clock, *, read_timeout_sec: float) -> None:
        self._clock = clock
        self._read_timeout_sec = read_timeout_sec
        self._watched: dict[ResponseBuffer, _Watched] = {}
        self._next_check: asyncio.TimerHandle | None = None
        self._next_count: asyncio.TimerHandle | None = None
        self._expected_at = 0.0
        self._interval_sec = 1.0

    def start_watching(
        self,
        transfer: ResponseBuffer,
        limits: FetchLimits,
        end: Callable[[], None],
        octets: Callable[[], int] = lambda: 0,
    ) -> None:
        """Watch a transfer; `end` ends it, `octets` is what was read from its socket so far."""
        now = self._clock.monotonic()
        self._watched[transfer] = _Watched(transfer, limits, end, octets, now)
        shortest = min(self._read_timeout_sec, limits.min_throughput_window_sec)
        interval_sec = min(1.0, shortest / _ROUNDS_PER_LIMIT)
        if self._next_check is None or interval_sec < self._interval_sec:
            self._interval_sec = interval_sec
            self._schedule_check()
        if self._next_count is None:
            self._schedule_count()

    def stop_watching(self, transfer: ResponseBuffer) -> None:
        self._watched.pop(transfer, None)

    def close(self) -> None:
        self._watched.clear()
        if self._next_check is not None:
            self._next_check.cancel()
            self._next_check = None
        if self._next_count is not None:
            self._next_count.cancel()
            self._next_count = None

    def _schedule_count(self) -> None:
        self._next_count = asyncio.get_running_loop().call_later(
            _SOCKETS_INTERVAL_SEC, self._count_sockets
        )

    def _count_sockets(self) -> None:
        self._next_count = None
        for watched in list(self._watched.values()):
            transfer = watched.transfer
            if transfer.has_header and not transfer.count_socket(watched.octets()):
                self._watched.pop(transfer, None)
                watched.end()
        if self._watched:
            self._schedule_count()

    def _schedule_check(self) -> None:
        if self._next_check is not None:
            self._next_check.cancel()
        self._expected_at = self._clock.monotonic() + self._interval_sec
        self._next_check = asyncio.get_running_loop().call_later(
            self._interval_sec, self._check_all
        )

    def _check_all(self) -> None:
        self._next_check = None
        now = self._clock.monotonic()
        # When the loop itself was held up, the servers are not to blame for the silence.
        late_sec = max(0.0, now - self._expected_at)
        for watched in list(self._watched.values()):
            self._check(watched, now, late_sec)
        if self._watched:
            self._schedule_check()

    def _check(self, watched: _Watched, now: float, late_sec: float) -> None:
        received = watched.transfer.received
        if watched.transfer.is_paused:  # by us
            late_sec += self._interval_sec
        watched.heard_at += late_sec
        if watched.window_at is not None:
            watched.window_at += late_sec
        if received != watched.heard_bytes:
            watched.heard_bytes, watched.heard_at = received, now
            watched.window_at = now if watched.window_at is None else watched.window_at
        elif now - watched.heard_at >= self._read_timeout_sec:
            self._end(watched, timeout=True)
            return
        if self._is_too_slow(watched, now):
            self._end(watched, timeout=False)

    def _is_too_slow(self, watched: _Watched, now: float) -> bool:
        limits = watched.limits
        if watched.window_at is None or now - watched.window_at < limits.min_throughput_window_sec:
            return False
        came = watched.transfer.received - watched.window_bytes
        watched.window_at, watched.window_bytes = now, watched.transfer.received
        return came < limits.min_bytes_per_sec * limits.min_throughput_window_sec

    def _end(self, watched: _Watched, *, timeout: bool) -> None:
        watched.transfer.stopped = "timeout" if timeout else "too-slow"
        self._watched.pop(watched.transfer, None)
        watched.end()
