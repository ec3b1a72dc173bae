"""Sends one request over one libcurl handle, and keeps handles and TLS sessions for the next.

Several addresses of one host are connected to side by side; one of them sends the request (RFC 8305).
libcurl could do it for names that it resolves itself. Here every connection is pinned to one vetted
address, so the race is ours: the next address is tried when the one before has been silent for a
quarter of a second, and the first connection that is ready wins.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from http import HTTPStatus
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any
from zlib import crc32

import pycurl

from feedmill.adapters.http.curl_handle import CurlHandle, CurlRequest
from feedmill.adapters.http.curl_loop import CurlLoop, TransferEnd
from feedmill.adapters.http.response_buffer import (
    BufferedResponse,
    ResponseBuffer,
    StallWatch,
    StreamedResponse,
)
from feedmill.config import FetchConfig
from feedmill.engine.ports.io import Clock
from feedmill.errors import ConfigError, NotSentError
from feedmill.model.fetch import FailureReason, FetchLimits, RefusalReason
from feedmill.observe.traces import Trace, recorded_trace

_MAX_IDLE_HANDLES = 512
_NOT_MODIFIED = int(HTTPStatus.NOT_MODIFIED)
# Codes for which pycurl has an old name or none.
_WEIRD_SERVER_REPLY = 8
_TOO_LARGE = 100
_REASONS: dict[int, FailureReason | RefusalReason] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: "protocol-error",  # HTTP/0.9, among others
    pycurl.E_URL_MALFORMAT: "malformed-url",
    pycurl.E_LOGIN_DENIED: "malformed-url",  # credentials inside the URL
    pycurl.E_COULDNT_RESOLVE_PROXY: "dns-failure",
    pycurl.E_COULDNT_RESOLVE_HOST: "dns-failure",
    _WEIRD_SERVER_REPLY: "protocol-error",
    pycurl.E_BAD_CONTENT_ENCODING: "protocol-error",  # an unasked transfer-coding
    _TOO_LARGE: "headers-too-large",
    pycurl.E_SSL_CONNECT_ERROR: "tls-failure",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls-failure",
    pycurl.E_SSL_CIPHER: "tls-failure",
    pycurl.E_SSL_ENGINE_INITFAILED: "tls-failure",
    pycurl.E_SSL_ISSUER_ERROR: "tls-failure",
}
# The connection ended, or broke, after the header was complete.
_CUTS = frozenset({pycurl.E_PARTIAL_FILE, pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING})


# The path that is compiled into pycurl's wheels exists on one family of systems only.
_KNOWN_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS, the BSDs
)

_HOSTS_PER_SHARE = 25  # what libcurl 8 keeps in one session cache; it cannot be configured

# Nothing was reached: another address may do better.
UNREACHED = frozenset({"connection-failed", "timeout-connect"})
_NEXT_AFTER_SEC = 0.25  # the Connection Attempt Delay of section 5

MaySend = Callable[[], bool]
SendTo = Callable[[str, MaySend], Coroutine[Any, Any, BufferedResponse]]


class Connections:
    """Everything of libcurl that outlives a request."""

    def __init__(self, config: FetchConfig, clock: Clock) -> None:
        self._ca_file = trust_store(config.ca_file)
        self._allow_cidrs, self._clock = config.allow_cidrs, clock
        self._loop = CurlLoop(max_idle_connections=config.max_idle_connections)
        self._stall_watch = StallWatch(clock, read_timeout_sec=config.read_timeout_ms / 1000)
        self._sessions = SessionCaches(config.tls_sessions)
        self._idle: list[CurlHandle] = []
        self._busy: set[CurlHandle] = set()
        self._downloads: dict[CurlHandle, int] = {}  # under way, and what all may take a second

    async def send(self, request: CurlRequest, host: str, limits: FetchLimits) -> BufferedResponse:
        """What came of one request; cancelling drops its connection."""
        sink = request.sink
        handle = self._take()
        transfer = (
            ResponseBuffer(limits, partial(self._has_room, request, handle))
            if sink is None
            else StreamedResponse(limits, sink)
        )
        sessions = self._sessions.of(host) if request.url.startswith("https") else None
        trace = recorded_trace()
        try:
            handle.prepare(request, transfer, sessions)
            if request.bytes_per_sec:
                self._downloads[handle] = request.bytes_per_sec
                self._share_speed()
            self._stall_watch.start_watching(
                transfer, limits, partial(self._loop.end, handle.curl), handle.octets_read
            )
            began_ns = 0 if trace is None else time.perf_counter_ns()
            if self._is_too_late(request):
                raise NotSentError
            ended = await self._loop.perform(handle.curl)
            if self._is_too_late(request) and not handle.curl.getinfo(pycurl.REQUEST_SIZE):
                raise NotSentError  # it was still connecting
            answer = _answer(transfer, ended, handle)
            # Most answers are a 304 of a trace that is dropped: nothing failed.
            if trace is not None and (trace.is_kept or answer.status != _NOT_MODIFIED):
                trace.add_later(_add_phases, _timings(handle.curl), began_ns)
            return answer
        finally:
            self._stall_watch.stop_watching(transfer)
            if request.room is not None:
                request.room.stop_waiting()
            if self._downloads.pop(handle, None):
                self._share_speed()
            self._put_back(handle)

    def _has_room(self, request: CurlRequest, handle: CurlHandle, octets: int) -> bool:
        """Whether the body may grow; if not, the transfer goes on when there is room for it."""
        if request.room is None or request.room.may_grow(octets, partial(self._go_on, handle)):
            return True
        asyncio.get_running_loop().call_soon(handle.allow_pause)
        return False

    def _go_on(self, handle: CurlHandle) -> None:
        """Receive again after a pause; a transfer that meets a limit in what libcurl held back ends."""
        try:
            handle.go_on()
        except pycurl.error:
            self._loop.end(handle.curl)

    def _is_too_late(self, request: CurlRequest) -> bool:
        before = request.send_before
        return before is not None and self._clock.monotonic() >= before

    def close(self) -> None:
        """Drop all connections, and with them the requests under way."""
        self._stall_watch.close()
        self._loop.close()
        for handle in (*self._idle, *self._busy):
            handle.close()
        self._idle.clear()
        self._busy.clear()
        self._downloads.clear()
        self._sessions.close()

    def _share_speed(self) -> None:
        """Give every download an equal part of what they may take together."""
        for handle, bytes_per_sec in self._downloads.items():
            handle.limit_speed(max(1, bytes_per_sec // len(self._downloads)))

    def _take(self) -> CurlHandle:
        if self._idle:
            handle = self._idle.pop()
        else:
            handle = CurlHandle(
                ca_file=self._ca_file, allow_cidrs=self._allow_cidrs, clock=self._clock
            )
        self._busy.add(handle)
        return handle

    def _put_back(self, handle: CurlHandle) -> None:
        if handle not in self._busy:  # closed with all the others
            return
        self._busy.discard(handle)
        handle.reset()
        if len(self._idle) < _MAX_IDLE_HANDLES:
            self._idle.append(handle)
        else:
            handle.close()


def trust_store(ca_file: str | None) -> str:
    """The PEM file with the authorities that we trust."""
    if ca_file is not None:
        if not Path(ca_file).is_file():
            raise ConfigError([f"fetch.ca_file: {ca_file!r} is no file; expected PEM certificates"])
        return ca_file
    for place in (ssl.get_default_verify_paths().cafile, *_KNOWN_PLACES):
        if place and Path(place).is_file():
            return place
    problem = "no trust store was found on this machine"
    raise ConfigError([f"fetch.ca_file: {problem}; install ca-certificates or name a PEM file"])


class SessionCaches:
    """TLS sessions of many hosts, spread over as many of libcurl's small caches as it takes."""

    def __init__(self, hosts: int) -> None:
        self._count = max(1, hosts // _HOSTS_PER_SHARE)
        self._shares: dict[int, pycurl.CurlShare] = {}  # those that a host asked for

    def of(self, host: str) -> pycurl.CurlShare:
        """The cache that this host's sessions are in, always the same one."""
        number = crc32(host.encode()) % self._count
        if number not in self._shares:
            self._shares[number] = _new_share()
        return self._shares[number]

    def close(self) -> None:
        for share in self._shares.values():
            share.close()


def _new_share() -> pycurl.CurlShare:
    share = pycurl.CurlShare()
    share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
    return share


def _answer(transfer: ResponseBuffer, ended: TransferEnd, handle: CurlHandle) -> BufferedResponse:
    if ended.code == pycurl.E_OK or transfer.ended_here:
        return transfer.answer()
    if handle.is_too_late:
        raise NotSentError
    if handle.refused:
        return BufferedResponse(error="private-address", detail=handle.refused)
    if transfer.has_header and _is_truncated(ended.code):
        return transfer.answer(cut=True)
    # libcurl's own times do not tell a handshake that hangs from an answer that does.
    asked = handle.curl.getinfo(pycurl.REQUEST_SIZE) > 0
    reason = _failure_reason(ended.code, asked=asked)
    return transfer.answer(reason, _printable(ended.message), cut=transfer.has_header)


def _timings(curl: pycurl.Curl) -> tuple[float, float, float, float, float, int]:
    """When each phase of a transfer ended, in seconds since its beginning, and the connections it made."""
    ask = curl.getinfo
    return (
        ask(pycurl.CONNECT_TIME),
        ask(pycurl.APPCONNECT_TIME),
        ask(pycurl.PRETRANSFER_TIME),
        ask(pycurl.STARTTRANSFER_TIME),
        ask(pycurl.TOTAL_TIME),
        ask(pycurl.NUM_CONNECTS),
    )


def _add_phases(
    trace: Trace, timings: tuple[float, float, float, float, float, int], began_ns: int
) -> None:
    """Spans of one transfer; a time that was not reached is 0: what was under way lasted until the end."""
    connected, encrypted, ready, answered, total, connects = timings

    def add(name: str, start: float, end: float) -> None:
        trace.add(name, began_ns + int(start * 1e9), began_ns + int((end or total) * 1e9))

    if connects:
        add("connect", 0.0, connected)
        if encrypted or (connected and not ready):
            add("tls", connected, encrypted)
    if ready:
        add("first byte", ready, answered)
    if answered:
        add("body", answered, total)


def _printable(message: str) -> str:
    return "".join(c if c.isprintable() else " " for c in message[:200])


def _failure_reason(code: int, *, asked: bool) -> FailureReason | RefusalReason:
    """The reason for a libcurl error code; `asked`: the request had been sent."""
    if code == pycurl.E_OPERATION_TIMEDOUT:
        return "timeout" if asked else "timeout-connect"
    return _REASONS.get(code, "connection-failed")


def _is_truncated(code: int) -> bool:
    """Whether the body ended before its end."""
    return code in _CUTS


def alternate_families(addresses: Sequence[str], like: str | None = None) -> tuple[str, ...]:
    """IPv6 and IPv4 by turns, beginning with the family of `like`, else of the first address (section 4)."""
    is_ipv6 = ":" in (like or addresses[0])
    first = [a for a in addresses if (":" in a) == is_ipv6]
    other = [a for a in addresses if (":" in a) != is_ipv6]
    return tuple(a for a in chain.from_iterable(zip_longest(first, other)) if a is not None)


async def send_to_first(
    addresses: Sequence[str], send: SendTo
) -> tuple[BufferedResponse, str, int]:
    """The answer, the address that gave it, and how many were tried.

    `send` asks its second argument before the request leaves, and gives up when the answer is no.
    """
    race = _Race()
    tasks: dict[asyncio.Task[BufferedResponse], str] = {}
    decided = asyncio.create_task(race.decided.wait())
    try:
        for address in addresses:
            task = asyncio.create_task(send(address, race.entry(address)))
            tasks[task] = address
            await asyncio.wait(
                {decided, task}, timeout=_NEXT_AFTER_SEC, return_when="FIRST_COMPLETED"
            )
            if race.winner is not None or _is_answered(task):
                break
        while True:
            running = {task for task in tasks if not task.done()}
            ends = [t for t, a in tasks.items() if a == race.winner or _is_answered(t)]
            if ends or not running:
                end = ends[0] if ends else next(reversed(tasks))
                return await end, tasks[end], len(tasks)
            await asyncio.wait({decided, *running}, return_when="FIRST_COMPLETED")
    finally:
        for other in (decided, *tasks):
            other.cancel()
        await asyncio.gather(decided, *tasks, return_exceptions=True)


class _Race:
    """One winner: the first connection that asks."""

    def __init__(self) -> None:
        self.winner: str | None = None
        self.decided = asyncio.Event()

    def entry(self, address: str) -> MaySend:
        """What the connection to this address asks before it sends."""

        def may_send() -> bool:
            if self.winner is None:
                self.winner = address
                self.decided.set()
            return self.winner == address

        return may_send


def _is_answered(task: asyncio.Task[BufferedResponse]) -> bool:
    """The attempt ended in a way that another address would not change, or raised."""
    if not task.done():
        return False
    return task.exception() is not None or task.result().error not in UNREACHED
