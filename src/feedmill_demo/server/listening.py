"""Listening sockets on loopback: several addresses, one port."""

import contextlib
import socket
from collections.abc import Sequence
from typing import Final

from feedmill.errors import UsageError

_TRIES: Final = 20


def listening_sockets(addresses: Sequence[str], port: int) -> tuple[list[socket.socket], int]:
    """One bound socket per address, all on the same port, and that port (0: any that is free)."""
    if not all(address.startswith("127.") for address in addresses):
        msg = f"the publisher listens on loopback only, not on {', '.join(addresses)}"
        raise UsageError(msg)
    # A port that is free on the first address may be taken on another one: then try the next.
    for _ in range(_TRIES if port == 0 else 1):
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
            sock.bind((address, port))
            port = sock.getsockname()[1]
            sockets.append(sock)
        unwinding.pop_all()
    return sockets, port
