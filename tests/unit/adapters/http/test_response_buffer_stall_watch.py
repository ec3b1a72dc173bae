"""Silence and too little throughput are noticed; a loop that was held up blames nobody."""

import asyncio

import msgspec
import pycurl
import pytest

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.http.response_buffer import ResponseBuffer, StallWatch
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


@pytest.mark.parametrize(
    ("window_sec", "read_timeout_sec"),
    [pytest.param(0, 20, id="no window"), pytest.param(10, 0.001, id="a timeout of a millisecond")],
)
async def test_rounds_never_fill_the_loop(window_sec: int, read_timeout_sec: float) -> None:
    limits = msgspec.structs.replace(LIMITS, min_throughput_window_sec=window_sec)
    watch = StallWatch(StandingClock(), read_timeout_sec=read_timeout_sec)
    watch.start_watching(ResponseBuffer(limits), limits, lambda: None)

    interval_sec = watch._interval_sec
    watch.close()

    assert interval_sec >= 0.05


def test_transfer_that_we_paused_is_not_silent() -> None:
    paused = _paused_for(rounds=100)

    assert paused.stopped is None


def _paused_for(rounds: int) -> ResponseBuffer:
    clock, transfer = StandingClock(), ResponseBuffer(LIMITS, may_grow=lambda _: False)
    transfer.take_line(b"HTTP/1.1 200 OK\r\n")
    transfer.take_line(b"\r\n")

    async def story() -> None:
        watch = StallWatch(clock, read_timeout_sec=20)
        watch.start_watching(transfer, LIMITS, lambda: None)
        assert transfer.take_chunk(b"x" * 100) == pycurl.WRITEFUNC_PAUSE
        for _ in range(rounds):
            clock.at += 1
            watch._check_all()
        watch.close()

    asyncio.run(story())
    return transfer


def test_chunk_that_comes_again_after_a_pause_is_taken_once() -> None:
    allowed = [False, True, True]
    buffer = ResponseBuffer(LIMITS, may_grow=lambda _: allowed.pop(0))
    buffer.take_line(b"HTTP/1.1 200 OK\r\n")
    buffer.take_line(b"\r\n")

    told = [buffer.take_chunk(chunk) for chunk in (b"abc", b"abcdef", b"ghi")]

    assert told == [pycurl.WRITEFUNC_PAUSE, None, None]
    assert buffer.answer().body == b"abcdefghi"
    assert buffer.answer().wire_length == 9


@pytest.mark.parametrize(
    ("octets", "taken"),
    [pytest.param(1, 4_096, id="one octet each"), pytest.param(20, 5_000, id="small but useful")],
)
def test_many_tiny_chunks_end_the_transfer(octets: int, taken: int) -> None:
    buffer = ResponseBuffer(LIMITS)
    buffer.take_line(b"HTTP/1.1 200 OK\r\n")
    buffer.take_line(b"\r\n")

    told = [buffer.take_chunk(b"x" * octets) for _ in range(5_000)]

    assert told.count(None) == taken
    assert buffer.answer().capped == (taken < 5_000)


@pytest.mark.parametrize(
    ("delivered", "octets", "explained"),
    [
        pytest.param(5_000, 5_100, True, id="plain"),
        pytest.param(100, 250_000, True, id="handshake and a buffer"),
        pytest.param(100, 300_000, False, id="framing without a body"),
        pytest.param(1_000_000, 3_000_000, True, id="small records of small chunks"),
        pytest.param(1_000_000, 5_000_000, False, id="more framing than a server needs"),
        pytest.param(10_000_000, 12_000_000, True, id="whole body"),
        pytest.param(10_000_000, 13_000_000, False, id="beyond the limit of the body"),
    ],
)
def test_octets_of_the_socket_are_compared_with_what_was_delivered(
    delivered: int, octets: int, *, explained: bool
) -> None:
    buffer = ResponseBuffer(msgspec.structs.replace(LIMITS, max_wire_bytes=10_000_000))
    buffer.take_line(b"HTTP/1.1 200 OK\r\n")
    buffer.take_line(b"\r\n")
    buffer.take_chunk(b"x" * delivered)

    assert buffer.count_socket(octets) is explained
    assert buffer.answer().capped is not explained
