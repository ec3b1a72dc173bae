"""One connection of the publisher: parses requests and writes responses.

An answer without behaviours is written at once, inside `data_received`; one that waits, drips or
breaks off is played by a task that the publisher owns and that ends when the client leaves.
Requests that arrive meanwhile wait their turn.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Coroutine, Iterator
from typing import Final, Protocol, cast

import msgspec

from feedmill_demo.server.codings import encode
from feedmill_demo.server.http1 import (
    closes_connection,
    for_request,
    frame_body,
    parse_request_head,
    pieces,
    render_answer,
    render_head,
)
from feedmill_demo.server.script import Answer, Request

_END: Final = b"\r\n\r\n"
_MAX_HEAD_BYTES: Final = 65_536
_MAX_WAITING_BYTES: Final = 16 * 1024 * 1024
_TLS_GREETING: Final = 0x16


class Owner(Protocol):
    """What a connection needs of its publisher."""

    patience_sec: float

    def arrived(self, connection: "PublisherConnection") -> int: ...
    def left(self, connection: "PublisherConnection") -> None: ...
    def prebuilt(
        self, target: bytes, head: bytes, connection: "PublisherConnection"
    ) -> bytes | None: ...
    def answer(self, request: Request, connection: "PublisherConnection") -> Answer: ...
    def play(self, answering: Coroutine[None, None, None]) -> None: ...


class PublisherConnection(asyncio.Protocol):
    """The server's end of one connection."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._transport: asyncio.Transport
        self._waiting = bytearray()
        self._busy = False
        self._gone = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.number = 0
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports only look like asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self.address = str(transport.get_extra_info("sockname")[0])
        self.number = self._owner.arrived(self)

    def data_received(self, data: bytes) -> None:
        if not self._waiting and not self._busy and data.find(_END) == len(data) - 4:
            octets = self._prebuilt(data)
            if octets is not None:
                self._transport.write(octets)
                return
        if not self._waiting and data[0] == _TLS_GREETING:
            self._transport.abort()  # a TLS handshake on the plain port is refused at once
            return
        self._waiting += data
        if len(self._waiting) > _MAX_WAITING_BYTES:
            self._transport.abort()
        self._serve()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._gone.set()
        self._writable.set()
        self._owner.left(self)

    def abort(self) -> None:
        """End the connection now, whatever is under way."""
        self._transport.abort()

    def reset(self) -> None:
        """Tear the connection down, so that the client sees an RST and not an end."""
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _prebuilt(self, data: bytes) -> bytes | None:
        if not data.startswith(b"GET ") or b" HTTP/1.1\r\n" not in data:
            return None
        if b"onnection: close\r\n" in data:
            return None
        return self._owner.prebuilt(data[4 : data.find(b" ", 4)], data, self)

    def _serve(self) -> None:
        while not self._busy and not self._transport.is_closing():
            request = self._next_request()
            if request is None:
                return
            self._reply(request, for_request(self._owner.answer(request, self), request))

    def _next_request(self) -> Request | None:
        end = self._waiting.find(_END)
        if end < 0:
            if len(self._waiting) > _MAX_HEAD_BYTES:
                self._refuse(431)
            return None
        request = parse_request_head(bytes(self._waiting[: end + 4]))
        length = _body_length(request)
        if request is None or length is None:
            self._refuse(400)
            return None
        if len(self._waiting) < end + 4 + length:
            return None
        body = bytes(self._waiting[end + 4 : end + 4 + length])
        del self._waiting[: end + 4 + length]
        return msgspec.structs.replace(request, body=body)

    def _refuse(self, status: int) -> None:
        self._transport.write(
            render_answer(Answer(status=status, headers=(("Connection", "close"),)))
        )
        self._transport.close()

    def _reply(self, request: Request, answer: Answer) -> None:
        if _behaves(answer):
            self._busy = True
            self._owner.play(self._play(request, answer))
            return
        octets = answer.raw
        if octets is None:
            octets = render_answer(answer, with_body=request.method != "HEAD")
        self._transport.write(octets)
        if closes_connection(answer, request):
            self._transport.close()

    async def _play(self, request: Request, answer: Answer) -> None:
        # With no buffer of our own, a write counts once the kernel has it: a reset loses nothing.
        # Not high=0: over TLS, asyncio would pause for ever.
        self._transport.set_write_buffer_limits(high=1, low=0)
        if answer.delay_sec > 0:
            await self._rest(answer.delay_sec)
        if self._transport.is_closing():
            return
        if answer.fault is not None and answer.fault_at is None:
            await self._break(answer)
            return
        for octets in _writes(answer, with_body=request.method != "HEAD"):
            self._transport.write(octets)
            await self._drain()
            if answer.pause_sec > 0:
                await self._rest(answer.pause_sec)
            if self._transport.is_closing():
                return
        if answer.fault is not None:
            await self._break(answer)
        elif closes_connection(answer, request):
            self._transport.close()
        self._busy = False
        self._serve()

    async def _drain(self) -> None:
        """Wait until the kernel took everything; a client that never reads is cut off."""
        await asyncio.sleep(0)  # a socket that takes everything must not starve the others
        try:
            async with asyncio.timeout(self._owner.patience_sec):
                await self._writable.wait()
        except TimeoutError:
            self._transport.abort()

    async def _rest(self, seconds: float) -> None:
        """Wait, or less long when the client leaves."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._gone.wait()

    async def _break(self, answer: Answer) -> None:
        if answer.fault == "stall":
            await self._rest(self._owner.patience_sec)
        if answer.fault == "reset":
            self.reset()
        else:
            self._transport.close()


def _behaves(answer: Answer) -> bool:
    return (
        answer.fault is not None
        or answer.delay_sec > 0
        or answer.pause_sec > 0
        or answer.repeat != 1
        or answer.piece_bytes is not None
    )


def _writes(answer: Answer, *, with_body: bool) -> Iterator[bytes]:
    """Every write of an answer, up to the octet at which its fault strikes."""
    if answer.raw is not None:
        yield from pieces(answer.raw, answer.piece_bytes)
        return
    body = encode(answer.body, answer.codings)
    yield from pieces(
        render_head(answer, len(body)), answer.piece_bytes if answer.drip_head else None
    )
    if with_body:
        yield from _until_fault(answer, body)


def _until_fault(answer: Answer, body: bytes) -> Iterator[bytes]:
    if answer.fault_at is None:
        yield from frame_body(answer, body)
        return
    left = answer.fault_at
    for octets in frame_body(answer, body):
        yield octets[:left]
        left -= len(octets)
        if left <= 0:
            return


def _body_length(request: Request | None) -> int | None:
    """How many octets of body follow; None when the length is not known."""
    if request is None or request.header("transfer-encoding") is not None:
        return None
    length = request.header("content-length") or "0"
    return int(length) if length.isdecimal() and len(length) < 10 else None
