"""Buffers one response: header lines and body octets, counted while they arrive; and ends transfers that stall.

libcurl hands over every line and chunk as it comes. Whatever passes a limit ends the transfer
here, with the reason kept; nothing raises inside libcurl's callbacks.

Servers stall that are silent, below the minimum throughput, or send framing without end. libcurl's own low-speed limit is an average that can be kept happy; this one is a window. One
round over all transfers per interval costs less than a timer for each.
"""
# Tested in tests/integration/adapters/http/

import asyncio
import re
from collections.abc import Callable

import msgspec
import pycurl

from feedmill.adapters.http.decoders import BodyDecoder, DecodeError, readable_codings
from feedmill.engine.ports.io import BodySink, Clock
from feedmill.fetch.headers import header_list, header_value
from feedmill.model.base import Value
from feedmill.model.fetch import FailureReason, FetchLimits, Headers, RefusalReason

REDIRECTS = frozenset({301, 302, 303, 307, 308})

_STATUS_LINE = re.compile(rb"HTTP/[0-9.]+ +([1-9][0-9][0-9])")
_STREAMED = frozenset({200, 206})
_NO_BODY = frozenset({204, 304})  # their Content-Length speaks of another answer
_REDIRECT_BODY_BYTES = 65_536  # read for the sake of the connection, worth no more than that
_FRAMING = 1.25  # of the limit: for TLS records and chunk sizes
# What a socket may have received for what was delivered: certificates and libcurl's own buffers, and small chunks in
# TLS records of their own.
_FREE_FRAMING_BYTES = 262_144
_MOST_FRAMING = 4
_STOP = -1  # tells libcurl to end the transfer
# So many calls of libcurl for less than so many octets each are an attack on our time: a call takes microseconds.
_MANY_CHUNKS = 4_096
_LEAST_MEAN_BYTES = 16
_MANY_BYTES = _MANY_CHUNKS * _LEAST_MEAN_BYTES
# what a call of libcurl counts for at least: a body may come octet by octet
_LEAST_CHUNK_BYTES = 256

_ROUNDS_PER_LIMIT = 10
_LEAST_INTERVAL_SEC = 0.05  # a limit may be a millisecond, and a window of 0 judges nothing
_SOCKETS_INTERVAL_SEC = 0.1  # in that time libcurl reads some 40 MB of framing


class BufferedResponse(Value):
    """What came of one request."""

    status: int | None = None  # None: no complete header
    headers: Headers = ()
    body: bytes = b""
    wire_length: int | None = None
    truncated: bool = False
    capped: bool = False
    error: FailureReason | RefusalReason | None = None
    detail: str = ""
    retries: int = 0  # connection attempts before the one that this came of


class ResponseBuffer:
    """One answer while it arrives."""

    def __init__(
        self, limits: FetchLimits, may_grow: Callable[[int], bool] = lambda _: True
    ) -> None:
        """`may_grow` says whether there is memory for a body of so many octets."""
        self._limits = limits
        self._may_grow = may_grow
        self.is_paused = False  # until there is memory
        self._taken = 0  # octets of the paused chunk
        self._lines: list[bytes] = []
        self._header_bytes = 0
        self._max_wire_bytes = limits.max_wire_bytes
        self._wire_length = 0
        self._chunks = 0
        self._small_bytes = 0  # what small chunks count for beyond their length
        self._decoder: BodyDecoder | None = None
        self._headers: Headers = ()
        self._status: int | None = None
        self._capped = False
        self.stopped: FailureReason | None = None

    @property
    def received(self) -> int:
        """Octets so far, for the watch over the pace."""
        return self._header_bytes + self._wire_length

    @property
    def has_header(self) -> bool:
        return self._status is not None

    @property
    def ended_here(self) -> bool:
        """We ended it; what libcurl says about the end is our own doing."""
        return self._capped or self.stopped is not None

    def take_line(self, line: bytes) -> int | None:
        """Libcurl's header callback: one line with its line end."""
        self._header_bytes += len(line)
        if self._header_bytes > self._limits.max_header_bytes:
            self.stopped = "headers-too-large"
            return _STOP
        if self._status is not None:  # trailers: they come too late to mean anything
            return None
        if line not in (b"\r\n", b"\n"):
            self._lines.append(line)
            return None
        return self._end_of_header()

    def take_chunk(self, chunk: bytes) -> int | None:
        """Libcurl's body callback; libcurl hands over a chunk again after a pause."""
        whole, chunk = len(chunk), chunk[self._taken :]
        self._taken = max(0, self._taken - whole)
        left = self._max_wire_bytes - self._wire_length
        if len(chunk) > left:
            self._capped = True
            chunk = chunk[:left]
        self._wire_length += len(chunk)
        if 0 < len(chunk) < _LEAST_CHUNK_BYTES:
            self._chunks += 1
            self._small_bytes += _LEAST_CHUNK_BYTES - len(chunk)
            self._capped = (
                self._capped
                or self._wire_length + self._small_bytes > self._max_wire_bytes
                or self._wire_length < self._chunks * _LEAST_MEAN_BYTES > _MANY_BYTES
            )
        decoder = self._decoder
        if decoder is None:
            decoder = self._decoder = self._new_decoder()
        try:
            wanted = decoder.feed(chunk, self._may_grow)
        except DecodeError:
            self.stopped = "decode-failed"
            return _STOP
        self._capped = self._capped or decoder.capped
        if self._capped or wanted:
            return _STOP if self._capped else None
        self._taken, self.is_paused = whole, True
        return int(pycurl.WRITEFUNC_PAUSE)

    def count_socket(self, octets: int) -> bool:
        """False when libcurl has read more than what it delivered, or the limit of the body, can explain.

        `octets` is the system's own count: chunk extensions and other framing reach no callback.
        """
        allowed = (self._max_wire_bytes + self._limits.max_header_bytes) * _FRAMING
        if octets <= min(allowed, _FREE_FRAMING_BYTES + self.received * _MOST_FRAMING):
            return True
        self._capped = True
        return False

    def answer(
        self,
        error: FailureReason | RefusalReason | None = None,
        detail: str = "",
        *,
        cut: bool = False,
    ) -> BufferedResponse:
        """What has arrived; `error` is how libcurl says that it ended."""
        if self._status is None:
            # libcurl is content with a header that breaks off; we are not.
            return BufferedResponse(
                error=self.stopped or error or "connection-failed", detail=detail
            )
        decoder = self._decoder
        unfinished = decoder is not None and decoder.unfinished
        return BufferedResponse(
            status=self._status,
            headers=self._headers,
            body=b"" if decoder is None else decoder.body(),
            wire_length=self._wire_length,
            truncated=cut or (unfinished and not self.ended_here),
            capped=self._capped,
            error=self.stopped or error,
            detail=detail,
        )

    def _end_of_header(self) -> int | None:
        status, headers = _read_block(self._lines)
        self._lines.clear()
        if status < 200:
            return self._end_of_informational(status)
        self._status, self._headers = status, headers
        if status in REDIRECTS and header_value(headers, "location"):
            self._max_wire_bytes = min(self._max_wire_bytes, _REDIRECT_BODY_BYTES)
        elif status not in _NO_BODY and self._announced() > self._max_wire_bytes:
            self._capped = True
            return _STOP
        return None

    def _end_of_informational(self, status: int) -> int | None:
        if status == 101:  # no upgrade was requested, and no HTTP follows
            self.stopped = "protocol-error"
        return None if self.stopped is None else _STOP

    def _announced(self) -> int:
        length = header_value(self._headers, "content-length") or ""
        if header_value(self._headers, "transfer-encoding") is not None:
            return 0
        return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0

    def _new_decoder(self) -> BodyDecoder:
        codings = readable_codings(header_list(self._headers, "content-encoding"))
        # A coding that we never offered stays on: the judge names it, the bytes are kept.
        return BodyDecoder(codings or (), self._limits.max_body_bytes)


class StreamedResponse(ResponseBuffer):
    """An answer whose body goes to a sink; redirects and errors are buffered as ever."""

    def __init__(self, limits: FetchLimits, sink: BodySink) -> None:
        super().__init__(limits)
        self._sink = sink
        self._streams = False

    def take_chunk(self, chunk: bytes) -> int | None:
        """Libcurl's body callback."""
        if not self._streams:
            return super().take_chunk(chunk)
        left = self._max_wire_bytes - self._wire_length
        self._capped = len(chunk) > left
        wanted = chunk[:left] if self._capped else chunk
        self._wire_length += len(wanted)
        self._capped = not self._sink.write(wanted) or self._capped
        return _STOP if self._capped else None

    def _end_of_header(self) -> int | None:
        ended = super()._end_of_header()
        if self._status is None:
            return ended
        if self._status not in _STREAMED:
            self._max_wire_bytes = min(self._max_wire_bytes, _REDIRECT_BODY_BYTES)
            return ended
        self._streams = True
        allowed = self._sink.begin(self._status, self._headers)
        self._capped = allowed is None or self._announced() > allowed
        self._max_wire_bytes = allowed or 0
        return _STOP if self._capped else None


def _read_block(lines: list[bytes]) -> tuple[int, Headers]:
    """Status and fields; libcurl has vetted the form of each line and undone folding."""
    begin = _STATUS_LINE.match(lines[0]) if lines else None
    fields = []
    for line in lines[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        fields.append((name, value.strip(" \t\r\n")))
    return (int(begin[1]) if begin else 0), tuple(fields)


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
        interval_sec = min(1.0, max(shortest / _ROUNDS_PER_LIMIT, _LEAST_INTERVAL_SEC))
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
