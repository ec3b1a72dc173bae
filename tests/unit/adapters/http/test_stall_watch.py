"""Silence and too little throughput are noticed; a loop that was held up blames nobody."""

import asyncio

import msgspec
import pytest

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.response_buffer import ResponseBuffer
from feedmill.adapters.http.stall_watch import StallWatch
from feedmill.model.fetch import FetchLimits

LIMITS = FetchLimits(
    timeout_ms=30_000,
    max_redirects=5,
    max_body_bytes=10**9,
    max_wire_bytes=10**9,
    max_header_bytes=65_536,
    min_bytes_per_sec=1_000,
    min_throughput_window_sec=10,
)


class StandingClock(SystemClock):
    """A monotonic clock that moves when it is told to."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        return self.at


def _watch(octets_per_round: list[int], seconds_per_round: float) -> tuple[str | None, int]:
    """Why and after how many rounds the transfer was ended."""
    clock = StandingClock()
    transfer = ResponseBuffer(LIMITS)
    transfer.take_line(b"HTTP/1.1 200 OK\r\n")
    transfer.take_line(b"\r\n")

    async def story() -> int:
        watch = StallWatch(clock, read_timeout_sec=20)
        ended: list[bool] = []
        watch.start_watching(transfer, LIMITS, lambda: ended.append(True))
        for number, octets in enumerate(octets_per_round, start=1):
            clock.at += seconds_per_round
            transfer.take_chunk(b"x" * octets)
            watch._check_all()
            if ended:
                watch.close()
                return number
        watch.stop_watching(transfer)
        watch.close()
        return 0

    rounds = asyncio.run(story())
    return transfer.stopped, rounds


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        pytest.param([1_000] * 60, None, id="just fast enough"),
        pytest.param([999] * 60, "too-slow", id="just too slow"),
        pytest.param([10_000, *[0] * 9] * 6, None, id="in bursts"),
        pytest.param([100_000, *[0] * 30], "timeout", id="a good start and then silence"),
        pytest.param([100_000, *[1] * 30], "too-slow", id="a good start and then a drip"),
    ],
)
def test_throughput_is_judged_by_the_window(octets: list[int], reason: str | None) -> None:
    stopped, _ = _watch(octets, 1.0)

    assert stopped == reason


def test_a_loop_that_was_held_up_does_not_blame_the_server() -> None:
    stopped, _ = _watch([100_000, 0, 0, 0], 60.0)  # rounds planned every second, a minute apart

    assert stopped is None


def test_silence_before_the_first_octet_has_its_own_limit() -> None:
    clock = StandingClock()
    transfer = ResponseBuffer(LIMITS)

    async def story() -> int:
        watch = StallWatch(clock, read_timeout_sec=20)
        ended: list[bool] = []
        watch.start_watching(transfer, LIMITS, lambda: ended.append(True))
        for number in range(1, 60):
            clock.at += 1.0
            watch._check_all()
            if ended:
                watch.close()
                return number
        return 0

    assert asyncio.run(story()) == 20
    assert transfer.stopped == "timeout"


def test_the_shortest_limit_sets_the_rounds() -> None:
    async def story() -> list[float]:
        watch = StallWatch(StandingClock(), read_timeout_sec=20)
        intervals = []
        for window_sec in (10, 1, 5):
            limits = msgspec.structs.replace(LIMITS, min_throughput_window_sec=window_sec)
            watch.start_watching(ResponseBuffer(limits), limits, lambda: None)
            intervals.append(watch._interval_sec)
        watch.close()
        return intervals

    assert asyncio.run(story()) == [1.0, 0.1, 0.1]
