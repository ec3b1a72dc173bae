"""A name server on loopback: A records from a table with their TTL, silence for some names, others unknown."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

TTL_SEC = 60


class NameServer(asyncio.DatagramProtocol):
    """Answers every question for A with one address, except where `is_silent` says so.

    `address_of` may know another address for a name, or none: then the name does not exist.
    """

    def __init__(
        self, is_silent: Callable[[str], bool], address_of: Callable[[str], str | None]
    ) -> None:
        self.is_silent, self.address_of = is_silent, address_of
        self.ttl_sec = TTL_SEC
        self.asked: list[str] = []
        self._transport: asyncio.DatagramTransport | None = None

    @property
    def address(self) -> str:
        assert self._transport is not None
        host, port = self._transport.get_extra_info("sockname")
        return f"{host}:{port}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # of a datagram endpoint

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        assert self._transport is not None
        name, end = _name(data)
        (kind,) = struct.unpack_from("!H", data, end)
        question = data[12 : end + 4]
        self.asked.append(name)
        if self.is_silent(name):
            return
        address = self.address_of(name)
        found = kind == 1 and address is not None
        flags = 0x8580 if address is not None else 0x8583  # NXDOMAIN
        head = data[:2] + struct.pack("!5H", flags, 1, int(found), 0, 0)
        record = struct.pack("!HHHIH", 0xC00C, 1, 1, self.ttl_sec, 4)
        record += socket.inet_aton(address or "0.0.0.0")
        self._transport.sendto(head + question + (record if found else b""), addr)


def _name(data: bytes) -> tuple[str, int]:
    labels, at = [], 12
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode())
        at += size + 1
    return ".".join(labels).lower(), at + 1


@asynccontextmanager
async def name_server(
    is_silent: Callable[[str], bool] = lambda _: False,
    address_of: Callable[[str], str | None] = lambda _: "192.0.2.7",
) -> AsyncIterator[NameServer]:
    """A name server while the block runs."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(
        lambda: NameServer(is_silent, address_of), local_addr=("127.0.0.1", 0)
    )
    try:
        yield server
    finally:
        transport.close()
