"""A little web on loopback: any number of host names on one port, by http and by https.

    async with LoopbackWeb() as web:
        web.put("https://paper.example/feed", document(body))
        fetcher = CurlFetcher(web.fetching(), clock, resolver=web)

Whoever connects is heard: a TLS handshake goes to the publisher with certificates, anything else to
the plain one. So both schemes of an address differ in nothing but the scheme, as on the real ports.
Its names lead there and all others nowhere, unless a test says otherwise.
"""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

import trustme

from feedmill.canonicalise.urls import http_url, split_url
from feedmill.config import FetchConfig
from feedmill.model.base import Value
from feedmill_demo.server.script import Answering, Request
from feedmill_demo.server.server import Publisher
from feedmill_demo.server.site import Site

_HANDSHAKE: Final = b"\x16"  # the first octet of every TLS connection
_CHUNK: Final = 65_536
_PATIENCE_SEC: Final = 5.0


class Visit(Value):
    """One request that the web heard."""

    url: str  # without the port
    request: Request
    at_sec: float  # since the web was opened


class LoopbackWeb:
    """Publishers of both schemes behind one port, and the names that lead there."""

    def __init__(
        self, *hosts: str, sites: tuple[Site, Site] | None = None, address: str = "127.0.0.1"
    ) -> None:
        plain, secure = sites or (Site(), Site())
        self.names: dict[str, list[Sequence[str]]] = {host: [(address,)] for host in hosts}
        self.address = address
        self.port = 0
        authority = trustme.CA()
        self._authority = authority
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*hosts).configure_cert(context)
        self._plain = Publisher(plain)
        self._secure = Publisher(secure, tls=context)
        self._stack = AsyncExitStack()
        self._visitors: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        enter = self._stack.enter_async_context
        await enter(self._plain)
        await enter(self._secure)
        self._front = await asyncio.start_server(self._heard, self.address, 0)
        self.port = self._front.sockets[0].getsockname()[1]
        self._trust = self._stack.enter_context(self._authority.cert_pem.tempfile())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._front.close()
        for writer in self._visitors.values():
            writer.transport.abort()
        if self._visitors:
            await asyncio.wait(self._visitors, timeout=_PATIENCE_SEC)
        await self._stack.aclose()

    def url(self, url: str) -> str:
        """The address as it is on this machine: with the port."""
        href = http_url(url)
        assert href is not None, url
        head, _, rest = href.partition("://")
        authority, slash, path = rest.partition("/")
        return f"{head}://{authority}:{self.port}{slash}{path}"

    def put(self, url: str, *answers: Answering) -> None:
        """Answer an address, given without the port, in this way from now on."""
        parts = split_url(url)
        publisher = self._secure if parts.scheme == "https" else self._plain
        query = "" if parts.query is None else f"?{parts.query}"
        publisher.script(f"{parts.path}{query}", *answers, host=parts.host)

    @property
    def visits(self) -> list[Visit]:
        """Every request of both schemes, in order."""
        heard = [
            Visit(
                url=f"{scheme}://{_host(request)}{request.target}",
                request=request,
                at_sec=request.offset_sec + publisher.opened_at - self._plain.opened_at,
            )
            for scheme, publisher in (("http", self._plain), ("https", self._secure))
            for request in publisher.requests
        ]
        return sorted(heard, key=lambda visit: visit.at_sec)

    @property
    def asked(self) -> list[str]:
        """The addresses that were asked for, in order and without the port."""
        return [visit.url for visit in self.visits]

    def clear(self) -> None:
        """Forget the requests, not the answers."""
        for publisher in (self._plain, self._secure):
            publisher.clear()

    def fetching(self) -> FetchConfig:
        """Settings under which a fetcher trusts and reaches this web, and nothing else private."""
        return FetchConfig(
            allow_cidrs=(f"{self.address}/32",),
            ca_file=self._trust,
            timeout_ms=8_000,
            connect_timeout_ms=4_000,
            retry_wait_ms=10,
        )

    async def resolve(self, host: str) -> tuple[str, ...]:
        """The addresses of a name; of several answers each is given once, the last one for ever."""
        family = f"*.{host.partition('.')[2]}"
        answers = self.names.get(host) or self.names.get(family) or [()]
        return tuple(answers.pop(0) if len(answers) > 1 else answers[0])

    async def close(self) -> None:
        """A fetcher closes its resolver; this one outlives it."""

    async def _heard(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitor = asyncio.current_task()
        assert visitor is not None
        self._visitors[visitor] = writer
        try:
            first = await _read(reader)
            if first:
                is_secure = first[:1] == _HANDSHAKE
                port = (self._secure if is_secure else self._plain).port
                await _joined(first, reader, writer, port)
        finally:
            del self._visitors[visitor]
            writer.close()


async def _joined(
    first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int
) -> None:
    """Pass on what both sides say until one of them has said everything."""
    there, here = await asyncio.open_connection("127.0.0.1", port)
    here.write(first)
    ways = [asyncio.create_task(_passed(reader, here)), asyncio.create_task(_passed(there, writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        here.close()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await _read(reader):
        writer.write(chunk)


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What comes next; nothing when the other side is gone, in whatever way it went."""
    try:
        return await reader.read(_CHUNK)
    except ConnectionError:
        return b""


def _host(request: Request) -> str:
    return (request.header("host") or "").partition(":")[0]
