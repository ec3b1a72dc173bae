"""The publisher: an HTTP/1.1 server on loopback that answers by script, by site, and remembers.

    async with Publisher() as publisher:
        publisher.script("/feed", document(body, etag='"1"'), then=Answer(status=503))
        ...
        assert publisher.requests_to("/feed")[0].header("user-agent") == "..."

It listens on 127.0.0.1 and, for load tests that need many hosts, on 127.0.1.1 and following;
never anywhere else. It is also a process: `python -m feedmill.demo.publisher --help`.
"""

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Coroutine
from types import TracebackType
from typing import Final, Self

import msgspec

from feedmill.demo.connection import Connection
from feedmill.demo.listening import listening_sockets
from feedmill.demo.script import Answer, Answering, Request, Script
from feedmill.demo.site import Board, Site, Steady
from feedmill.demo.wire import read_head
from feedmill.errors import UsageError

_NOT_FOUND: Final = Answer(status=404, headers=(("Content-Type", "text/plain"),), body=b"not here\n")
_BROKEN: Final = Answer(status=500, headers=(("Content-Type", "text/plain"),), body=b"broken\n")

Record = tuple[float, int, str, bytes, bytes]  # offset, connection, address, head, body


class Publisher:
    """Serves a site and the scripts that are put up on it, from entering to leaving `async with`.

    `addresses` is how many further loopback addresses are served on the same port, `record` how
    many requests are remembered (0 for load tests). A script that raises is answered with 500,
    and the exception is raised again on leaving, so that a broken test does not look green.
    """

    def __init__(
        self,
        site: Site | None = None,
        *,
        port: int = 0,
        addresses: int = 0,
        tls: ssl.SSLContext | None = None,
        record: int = 100_000,
    ) -> None:
        self.port = port
        self.addresses = ("127.0.0.1", *(f"127.0.1.{last}" for last in range(1, addresses + 1)))
        self.accepted = 0
        self._board = Board()
        self._site = site or Site()
        self._tls = tls
        self._records: deque[Record] = deque(maxlen=record)
        self._recording = record > 0
        self._failures: list[Exception] = []
        self._connections: set[Connection] = set()
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._opened_at = self._loop.time()
        self._tasks = asyncio.TaskGroup()
        await self._tasks.__aenter__()
        sockets, self.port = listening_sockets(self.addresses, self.port)
        self._servers = [
            await self._loop.create_server(lambda: Connection(self), sock=sock, ssl=self._tls)
            for sock in sockets
        ]
        self._site.opened(self.origin)
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
        for task in tuple(self._playing):
            task.cancel()
        await self._tasks.__aexit__(kind, problem, trace)
        if self._failures and problem is None:
            raise ExceptionGroup("answers could not be computed", self._failures)
