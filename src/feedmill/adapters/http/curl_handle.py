"""libcurl's easy handle with everything set that never changes, reused from request to request.

What libcurl must not do by itself is switched off here: following redirects, cookies, netrc,
proxies from the environment, decoding, other protocols, name resolution.

The proxy is the one configured for a feed; those of the environment do not count (D27). Names behind it
are resolved by the proxy: libcurl must not ask for them itself, so the SOCKS schemes always take their
resolving form.
"""
# Tested in tests/contracts/fetcher/

import fcntl
import os
import socket
import struct
import sys
import termios
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pycurl

from feedmill.adapters.http.response_buffer import ResponseBuffer
from feedmill.engine.ports.io import BodyRoom, BodySink, Clock
from feedmill.errors import UsageError
from feedmill.fetch.guard import check_address, parse_ip_address
from feedmill.fetch.headers import is_sendable
from feedmill.fetch.proxy import Proxy
from feedmill.model.base import Value
from feedmill.model.fetch import Headers

# Options of libcurl that pycurl has no name for.
_DISALLOW_USERNAME_IN_URL = 278
_SUPPRESS_CONNECT_HEADERS = 265


# The last field that is read of Linux's struct tcp_info: tcpi_bytes_received.
_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
_TCP_INFO_BYTES = 136
_RECEIVED = struct.Struct("=Q")
_UNREAD = struct.Struct("=i")


class CurlRequest(Value):
    """One request to one address: a GET, or a POST when there is a body."""

    url: str
    headers: Headers
    addresses: tuple[str, ...]  # that may be dialled: the vetted one, or the proxy's
    timeout_ms: int
    connect_timeout_ms: int
    verify_tls: bool = True
    proxy: Proxy | None = None
    body: bytes | None = None
    send_before: float | None = None  # by the monotonic clock
    may_send: Callable[[], bool] | None = None  # asked when the connection is ready
    sink: BodySink | None = None  # takes the body of a download
    bytes_per_sec: int = 0  # of all downloads together; 0: no limit
    room: BodyRoom | None = None  # for a large body


class CurlHandle:
    """One easy handle; it serves one request at a time."""

    def __init__(self, *, ca_file: str, allow_cidrs: tuple[str, ...], clock: Clock) -> None:
        self.curl: Any = pycurl.Curl()
        self.is_too_late = False  # the lease was over before the request left
        self._clock = clock
        self.refused = ""  # the address that the guard kept us from dialling
        self._allow_cidrs = allow_cidrs
        self._request: CurlRequest | None = None
        self._transfer: ResponseBuffer | None = None
        self._set: dict[int, object] = {pycurl.MAX_RECV_SPEED_LARGE: 0}
        self._octets_before: int | None = None  # of the socket, for other requests
        self._timeout_ms = 0
        self._paused_at: float | None = None
        self._posts = False  # it was last made ready for a POST
        self._sessions: pycurl.CurlShare | None = None
        for option, value in _FIXED:
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.CAINFO, ca_file)
        self.curl.setopt(pycurl.PROXY_CAINFO, ca_file)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._on_line)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._on_chunk)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._on_open)
        self.curl.setopt(pycurl.PREREQFUNCTION, self._on_request)

    def prepare(
        self, request: CurlRequest, transfer: ResponseBuffer, sessions: pycurl.CurlShare | None
    ) -> None:
        """Make ready for this request."""
        self._request, self._transfer, self.refused = request, transfer, ""
        self.is_too_late, self._octets_before = False, None
        curl = self.curl
        curl.setopt(pycurl.URL, request.url)
        curl.setopt(pycurl.HTTPHEADER, _lines(request.headers, posts=request.body is not None))
        self._load(request.body)
        self._timeout_ms, self._paused_at = request.timeout_ms, None
        self._change(pycurl.TIMEOUT_MS, request.timeout_ms)
        self._change(pycurl.CONNECTTIMEOUT_MS, min(request.connect_timeout_ms, request.timeout_ms))
        self._change(pycurl.SSL_VERIFYPEER, 1 if request.verify_tls else 0)
        self._change(pycurl.SSL_VERIFYHOST, 2 if request.verify_tls else 0)
        self.limit_speed(request.bytes_per_sec)
        self._aim_at(request.addresses, request.proxy)
        if sessions is not None and sessions is not self._sessions:
            self._share(sessions)

    def limit_speed(self, bytes_per_sec: int) -> None:
        """Receive no faster from now on; libcurl heeds a change in the middle of a transfer too."""
        self._change(pycurl.MAX_RECV_SPEED_LARGE, bytes_per_sec)

    def allow_pause(self) -> None:
        """Count the time of a pause of ours not against the server."""
        if self._transfer is not None and self._transfer.is_paused:
            self._change(pycurl.TIMEOUT_MS, 0)
            self._paused_at = time.monotonic()

    def go_on(self) -> None:
        """Receive again after a pause; the server has as much time left as before it."""
        if self._transfer is not None:
            if self._paused_at is not None:
                self._timeout_ms += int((time.monotonic() - self._paused_at) * 1000)
                self._change(pycurl.TIMEOUT_MS, self._timeout_ms)
                self._paused_at = None
            self._transfer.is_paused = False
            self.curl.pause(pycurl.PAUSE_CONT)

    def octets_read(self) -> int:
        """What libcurl has read from the socket of the transfer for it, as the system counts; 0: unknown.

        On a connection that served others before, it is counted from the first look on.
        """
        descriptor = int(self.curl.getinfo(pycurl.ACTIVESOCKET))
        if descriptor < 0 or _TCP_INFO is None:
            return 0
        try:
            with socket.socket(fileno=os.dup(descriptor)) as same:
                info = same.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _TCP_INFO_BYTES)
            unread = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(_UNREAD.size))
        except OSError:
            return 0
        received: int = _RECEIVED.unpack_from(info, _TCP_INFO_BYTES - _RECEIVED.size)[0]
        read = received - int(_UNREAD.unpack(unread)[0])
        if self._octets_before is None:
            is_kept = not self.curl.getinfo(pycurl.NUM_CONNECTS)
            known = 0 if self._transfer is None else self._transfer.received
            self._octets_before = max(0, read - known) if is_kept else 0
        return read - self._octets_before

    def reset(self) -> None:
        """Let go of the last transfer, so that an idle handle holds no body."""
        self._request = self._transfer = None
        self._load(None)

    def close(self) -> None:
        self.reset()
        self.curl.close()

    def _load(self, body: bytes | None) -> None:
        if body is not None:
            self.curl.setopt(pycurl.POST, 1)
            self.curl.setopt(pycurl.POSTFIELDS, body)
            self._posts = True
        elif self._posts:
            self.curl.setopt(pycurl.POSTFIELDS, b"")
            self.curl.setopt(pycurl.HTTPGET, 1)
            self._posts = False

    def _aim_at(self, addresses: tuple[str, ...], proxy: Proxy | None) -> None:
        self._change(pycurl.PROXY, "" if proxy is None else proxy.url)
        if proxy is None:
            # Any host, any port: this address. A kept connection is reused for the same
            # origin *and* the same address only, so a name that moved is dialled anew.
            self._change(pycurl.CONNECT_TO, [f"::{_bracketed(addresses[0])}:"])
            return
        # An empty list would be ignored, and the last request's address dialled.
        self.curl.unsetopt(pycurl.CONNECT_TO)
        self._set.pop(pycurl.CONNECT_TO, None)
        # Kept by libcurl until the next request through this proxy says otherwise: what expires, its
        # cache would drop at once (see _FIXED), and libcurl would resolve the name itself.
        known = ",".join(_bracketed(address) for address in addresses)
        self.curl.setopt(pycurl.RESOLVE, [f"{proxy.host}:{proxy.port}:{known}"])

    def _share(self, sessions: pycurl.CurlShare) -> None:
        if self._sessions is not None:
            self.curl.unsetopt(pycurl.SHARE)
        self.curl.setopt(pycurl.SHARE, sessions)
        self._sessions = sessions

    def _change(self, option: int, value: object) -> None:
        if self._set.get(option) != value:
            self.curl.setopt(option, value)
            self._set[option] = value

    def _on_line(self, line: bytes) -> int | None:
        return -1 if self._transfer is None else self._transfer.take_line(line)

    def _on_chunk(self, chunk: bytes) -> int | None:
        return -1 if self._transfer is None else self._transfer.take_chunk(chunk)

    def _on_open(self, _purpose: int, peer: Any) -> "_Dialled | int":  # noqa: ANN401 - pycurl's
        """The socket for the address that is really dialled, if the guard agrees to it."""
        address = str(peer.addr[0])
        if not self._may_dial(address):
            self.refused = address
            return int(pycurl.SOCKET_BAD)
        return _Dialled(socket.socket(peer.family, peer.socktype, peer.protocol))

    def _on_request(self, *_: object) -> int:
        """The last moment before the request leaves, on a new connection or a kept one."""
        request = self._request
        before = None if request is None else request.send_before
        self.is_too_late = before is not None and self._clock.monotonic() >= before
        if self.is_too_late:
            return int(pycurl.PREREQFUNC_ABORT)
        may_send = request is None or request.may_send is None or request.may_send()
        return int(pycurl.PREREQFUNC_OK if may_send else pycurl.PREREQFUNC_ABORT)

    def _may_dial(self, address: str) -> bool:
        request = self._request
        if request is None or parse_ip_address(address) not in map(
            parse_ip_address, request.addresses
        ):
            return False
        if request.proxy is not None:  # the operator's own choice, not the publisher's
            return True
        return check_address(address, allow_cidrs=self._allow_cidrs) is None


class _Dialled:
    """A socket on its way to libcurl, which takes a duplicate; ours is closed with this object."""

    __slots__ = ("_fd",)

    def __init__(self, made: socket.socket) -> None:
        self._fd = made.detach()

    def __del__(self) -> None:
        os.close(self._fd)

    def fileno(self) -> int:
        return self._fd


def _lines(headers: Headers, *, posts: bool = False) -> list[bytes]:
    lines = [_line(name, value) for name, value in headers]
    if posts:  # libcurl would ask for a 100 first, and wait a second for servers that never say it
        lines.append(b"Expect:")
    # Without one libcurl adds its own; and a list must not be empty, or the last one stays.
    if "accept" not in [name.lower() for name, _ in headers]:
        lines.append(b"Accept:")
    return lines


@lru_cache(maxsize=1_024)
def _line(name: str, value: str) -> bytes:
    if not (is_sendable(name) and is_sendable(value)):
        msg = "a request header cannot be sent; take headers from plan_fetch, which leaves such out"
        raise UsageError(msg)
    # libcurl reads "Name:" as "leave it out" and "Name;" as "send it empty".
    return (f"{name}: {value}" if value.strip(" \t") else f"{name};").encode("latin-1")


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


_FIXED = (
    (pycurl.NOSIGNAL, 1),
    (pycurl.FOLLOWLOCATION, 0),
    (pycurl.PATH_AS_IS, 1),  # the URL is used as the guard saw it
    (_DISALLOW_USERNAME_IN_URL, 1),  # credentials come as a header, and only as that
    (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
    (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
    (pycurl.HTTP09_ALLOWED, 0),
    (pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2),
    (pycurl.NETRC, pycurl.NETRC_IGNORED),
    # Our resolver is the cache. libcurl's would hold every address dialled within a minute, and each
    # transfer walks it: with 24,000 hosts a fetch cost four times as much.
    (pycurl.DNS_CACHE_TIMEOUT, 0),
    (pycurl.NOPROXY, ""),
    (_SUPPRESS_CONNECT_HEADERS, 1),  # a proxy's answer is not the server's
    (pycurl.USERAGENT, ""),  # the plan's or none
    (pycurl.BUFFERSIZE, 65_536),
)
