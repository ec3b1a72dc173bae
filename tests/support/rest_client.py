"""A mill with its HTTP door open, in a thread; the test is the other program, with a plain client."""

import asyncio
import http.client
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import msgspec
from tests.support.engine_harness import Stage, opened
from tests.support.waiting import HANG_GUARD_SEC

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.service.auth import issue_token
from feedmill.interfaces.rest.server import rest_server
from feedmill.model.running.webhook import Scope
from feedmill.observe import log

T = TypeVar("T")
JSON = {"Content-Type": "application/json"}


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def problem(self) -> str:
        """The code of a problem document, which has to be one."""
        assert self.headers["content-type"] == "application/problem+json"
        assert self.json["status"] == self.status
        code: str = self.json["type"].removeprefix("/problems/")
        return code


class RestMill:
    """The thread, the loop and the stage in it; ends with the block."""

    make_console: Any = None  # what answers at / beside REST

    def __init__(self, home: Path, **parts: Any) -> None:
        self._home, self._parts = home, parts
        self._ready: Future[tuple[Stage, str]] = Future()
        self._thread = threading.Thread(target=self._run)
        self.watch = Lifecycle("the server")
        self.token: str | None = None

    def __enter__(self) -> Self:
        log.set_up("error")  # the test is told by answers
        self._thread.start()
        self.stage, self.base = self._ready.result(HANG_GUARD_SEC)
        self.port = int(self.base.rpartition(":")[2])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(HANG_GUARD_SEC)
        assert not self._thread.is_alive()

    def tell(self, story: Callable[[Stage], Awaitable[T]]) -> T:
        """Run a story in the mill's own loop."""

        async def told() -> T:
            return await story(self.stage)

        return asyncio.run_coroutine_threadsafe(told(), self._loop).result(HANG_GUARD_SEC)

    def issue(self, scope: Scope) -> str:
        """A new token of that scope; its secret."""

        async def story(stage: Stage) -> str:
            return (
                await issue_token(
                    f"a {scope} token", [scope], stage.services.store, stage.services.clock
                )
            ).secret

        return self.tell(story)

    def connect(self, timeout: float = HANG_GUARD_SEC) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request on a connection of its own."""
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection = self.connect()
        try:
            connection.request(method, path, body=body, headers={**own, **(headers or {})})
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        finally:
            connection.close()

    def send(self, path: str, value: object, *, method: str = "POST") -> Answer:
        """A request with a JSON body."""
        return self.ask(path, method=method, body=msgspec.json.encode(value), headers=JSON)

    def say(self, raw: bytes, *, until_closed: bool = True) -> bytes:
        """Octets as they are; whatever comes back before the other side closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=HANG_GUARD_SEC) as wire:
            wire.sendall(raw)
            pieces = []
            while until_closed and (piece := wire.recv(65_536)):
                pieces.append(piece)
            return b"".join(pieces)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:  # the test has to hear of it
            if not self._ready.done():
                self._ready.set_exception(problem)
            raise

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with (
            opened(self._home, **self._parts) as stage,
            rest_server(
                stage.services, self.watch, port=0, console=type(self).make_console
            ) as base,
        ):
            self._ready.set_result((stage, base))
            await self._end.wait()


@contextmanager
def lines_of(mill: RestMill, path: str, **headers: str) -> Iterator[Iterator[bytes]]:
    """The lines of an answer as they come."""
    connection = mill.connect()
    own = {"Authorization": f"Bearer {mill.token}"} if mill.token else {}
    try:
        connection.request("GET", path, headers={**own, **headers})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        yield iter(response.readline, b"")
    finally:
        connection.close()
