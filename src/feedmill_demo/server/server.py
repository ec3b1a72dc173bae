"""The publisher: an HTTP/1.1 server on loopback with scripted responses, sites and a request log.

    async with Publisher() as publisher:
        publisher.script("/feed", document(body, etag='"1"'), then=Answer(status=503))
        ...
        assert publisher.requests_to("/feed")[0].header("user-agent") == "..."

It listens on 127.0.0.1 and, for load tests that need many hosts, on 127.0.1.1 and following;
never anywhere else. It is also a process: `python -m feedmill_demo.server --help`.
"""

import asyncio
import contextlib
import socket
import ssl
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Final, Self

import msgspec

from feedmill.errors import UsageError
from feedmill_demo.server.connection import PublisherConnection
from feedmill_demo.server.http1 import parse_request_head
from feedmill_demo.server.script import Answer, Answering, Request, Script
from feedmill_demo.server.site import FixedAnswer, ScriptedSite, Site

_TEXT: Final = (("Content-Type", "text/plain"),)
_NOT_FOUND: Final = Answer(status=404, headers=_TEXT, body=b"not here\n")
_BROKEN: Final = Answer(status=500, headers=_TEXT, body=b"the script is broken\n")
_BACKLOG: Final = 4096
_LONGEST_FAREWELL_SEC: Final = 5.0
_BIND_TRIES: Final = 20

_MOST_NAMED: Final = 254  # a socket each; for more hosts one socket listens to the loopback device
_ALL_LOOPBACK: Final = "127.0.0.0/8"

Hot = tuple[float, int, str, bytes]  # offset, connection, address and the head, not yet read


class Publisher:
    """Serves a site and the scripts that are put up on it, from entering to leaving `async with`.

    `addresses` is how many further loopback addresses are served on the same port (more than 254: all of 127/8),
    `record` how many requests are remembered (0 for load tests), `patience_sec` how long a stalled
    answer, or a client that does not read, is waited for. A script that raises is answered with
    500 and its exception is raised again on leaving: a broken test never looks green.
    """

    def __init__(
        self,
        site: Site | None = None,
        *,
        port: int = 0,
        addresses: int = 0,
        tls: ssl.SSLContext | None = None,
        record: int = 100_000,
        patience_sec: float = 300.0,
    ) -> None:
        self.port = port
        self.patience_sec = patience_sec
        named = ("127.0.0.1", *(f"127.0.1.{last}" for last in range(1, addresses + 1)))
        self.addresses = named if addresses <= _MOST_NAMED else (_ALL_LOOPBACK,)
        self.accepted = 0  # connections so far
        self._site = site or Site()
        self._board = ScriptedSite()
        self._tls = tls
        self._records: deque[Request | Hot] = deque(maxlen=record)
        self._failures: list[Exception] = []
        self._connections: set[PublisherConnection] = set()
        self._servers: list[asyncio.Server] = []
        self._stirred = asyncio.Event()  # a request came, or a connection left

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self.opened_at = self._loop.time()
        sockets, self.port = listening_sockets(self.addresses, self.port)
        self._tasks = await asyncio.TaskGroup().__aenter__()
        for sock in sockets:
            self._servers.append(
                await self._loop.create_server(
                    lambda: PublisherConnection(self), sock=sock, ssl=self._tls, backlog=_BACKLOG
                )
            )
        self._site.opened(self.url(""))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.abort()
        # Every wait of an answer ends with its connection, so the tasks end by themselves. The
        # group is not told about the caller's exception: it would wrap it.
        await self._tasks.__aexit__(None, None, None)
        await self._until(lambda: not self._connections, _LONGEST_FAREWELL_SEC)
        if self._failures and problem is None:
            msg = "answers could not be computed"
            raise ExceptionGroup(msg, self._failures)

    def url(self, target: str = "/", *, host: str = "127.0.0.1") -> str:
        """The address of a path on this publisher."""
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{target}"

    def script(
        self,
        target: str,
        *answers: Answering,
        then: Answering | None = None,
        host: str | None = None,
    ) -> Script:
        """Answer a path by these answers, one per request, then by `then` (or the last) for ever.

        `target` matches with its query first, then without; `host` narrows it to one Host, with
        or without its port. It takes the place of what was put up there before.
        """
        script = Script(answers, then)
        self._board.put(target, script, host)
        return script

    def steady(self, answer: Answer, *targets: str) -> None:
        """Answer these targets with the same prebuilt octets, or their 304: for load tests."""
        steady = FixedAnswer(answer)
        for target in targets:
            self._board.put_steady(target, steady)

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every remembered request, in the order in which they came."""
        return tuple(_remembered(record) for record in self._records)

    def requests_to(self, target: str) -> tuple[Request, ...]:
        """The remembered requests to a path, or to a path with this query."""
        return tuple(r for r in self.requests if target in (r.target, r.path))

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._connections)

    def clear(self) -> None:
        """Forget the requests, not the scripts."""
        self._records.clear()

    async def seen(self, target: str, count: int = 1, *, within_sec: float = 300.0) -> None:
        """Wait until a path was asked for so often; TimeoutError when it was not."""
        await self._until(lambda: len(self.requests_to(target)) >= count, within_sec)

    async def idle(self, *, within_sec: float = 300.0) -> None:
        """Wait until no connection is open; TimeoutError when one stays."""
        await self._until(lambda: not self._connections, within_sec)

    # What connections call.

    def arrived(self, connection: PublisherConnection) -> int:
        """A connection was opened; its number."""
        self._connections.add(connection)
        self.accepted += 1
        return self.accepted

    def left(self, connection: PublisherConnection) -> None:
        """A connection is gone."""
        self._connections.discard(connection)
        self._stirred.set()

    def prebuilt(self, target: bytes, head: bytes, connection: PublisherConnection) -> bytes | None:
        """The octets of a hot answer, or None when the request takes the general way."""
        octets = self._board.prebuilt(target, head) or self._site.prebuilt(target, head)
        if octets is not None and self._records.maxlen:
            self._records.append((self._offset(), connection.number, connection.address, head))
            self._stirred.set()
        return octets

    def answer(self, request: Request, connection: PublisherConnection) -> Answer:
        """What the scripts say, else what the site says, else 404."""
        request = _placed(request, self._offset(), connection.number, connection.address)
        self._records.append(request)
        self._stirred.set()
        try:
            return self._board.answer(request) or self._site.answer(request) or _NOT_FOUND
        except Exception as problem:  # noqa: BLE001  # raised again when the publisher is left
            self._failures.append(problem)
            return _BROKEN

    def play(self, answering: Coroutine[None, None, None]) -> None:
        """Own the task of an answer that takes its time."""
        self._tasks.create_task(answering)

    def _offset(self) -> float:
        return self._loop.time() - self.opened_at

    async def _until(self, condition: Callable[[], bool], within_sec: float) -> None:
        async with asyncio.timeout(within_sec):
            while not condition():
                self._stirred.clear()
                await self._stirred.wait()


def _remembered(record: Request | Hot) -> Request:
    if isinstance(record, Request):
        return record
    offset_sec, connection, address, head = record
    request = parse_request_head(head)
    assert request is not None
    return _placed(request, offset_sec, connection, address)


def _placed(request: Request, offset_sec: float, connection: int, address: str) -> Request:
    return msgspec.structs.replace(
        request, offset_sec=offset_sec, connection=connection, address=address
    )


def listening_sockets(addresses: Sequence[str], port: int) -> tuple[list[socket.socket], int]:
    """One bound socket per address, all on the same port, and that port (0: any that is free)."""
    if not all(address.startswith("127.") for address in addresses):
        msg = f"the publisher listens on loopback only, not on {', '.join(addresses)}"
        raise UsageError(msg)
    # A port that is free on the first address may be taken on another one: then try the next.
    for _ in range(_BIND_TRIES if port == 0 else 1):
        with contextlib.suppress(OSError):
            return _bind_all(addresses, port)
    msg = (
        f"port {port or '0 (any)'} cannot be had on {addresses[0]}: choose another one with --port"
    )
    raise UsageError(msg)


def _bind_all(addresses: Sequence[str], port: int) -> tuple[list[socket.socket], int]:
    with contextlib.ExitStack() as unwinding:
        sockets: list[socket.socket] = []
        for address in addresses:
            sock = unwinding.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if address == _ALL_LOOPBACK:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
            sock.bind(("" if address == _ALL_LOOPBACK else address, port))
            port = sock.getsockname()[1]
            sockets.append(sock)
        unwinding.pop_all()
    return sockets, port
