"""How much the demonstration publisher serves per core: 304s and 200s, on kept-alive connections.

The publisher runs as a process of its own; what counts is answers per second of *its* CPU time,
so that the client beside it does not blur the figure.

    python benchmarks/publisher.py --seconds 3
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final, cast

import uvloop

CONNECTIONS: Final = 32
MEASURES: Final = (
    ("304, one steady feed each", ("--fresh-every", "0"), True),
    ("95 % 304, 5 % 200 with 30 entries", ("--fresh-every", "20"), True),
    ("200 with 30 entries", ("--fresh-every", "1"), False),
)


class Client(asyncio.Protocol):
    """Asks for its feed again and again, with the last ETag when it is a good client."""

    def __init__(self, number: int, *, conditional: bool) -> None:
        self._start = b"GET /load/%d HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n" % number
        self._conditional = conditional
        self._etag = b""
        self._missing = 0
        self.answers = 0
        self.octets = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def data_received(self, data: bytes) -> None:
        self.octets += len(data)
        if self._missing == 0:
            head, _, body = data.partition(b"\r\n\r\n")
            self._etag = head.partition(b"ETag: ")[2].partition(b"\r\n")[0]
            length = head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
            self._missing = int(length or b"0") - len(body)
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self.answers += 1
            self._ask()

    def _ask(self) -> None:
        tag = b"If-None-Match: %b\r\n" % self._etag if self._conditional and self._etag else b""
        self._transport.write(self._start + tag + b"\r\n")


async def sweep(port: int, seconds: float, *, conditional: bool) -> list[Client]:
    """Every connection asks as fast as it is answered, for that long."""
    loop = asyncio.get_running_loop()
    clients = [Client(number, conditional=conditional) for number in range(CONNECTIONS)]
    transports = []
    for client in clients:
        made = await loop.create_connection(lambda one=client: one, "127.0.0.1", port)  # type: ignore[misc]  # a bound default
        transports.append(made[0])
    await asyncio.sleep(seconds)
    for transport in transports:
        transport.abort()
    return clients


def measure(
    options: tuple[str, ...], seconds: float, *, conditional: bool
) -> tuple[float, float, float]:
    """Answers per CPU-second of the publisher, answers per second, megabytes per second."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.load_site",
        "--seconds",
        "120",
        *options,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["port"]
        before = cpu_seconds(process.pid)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            clients = runner.run(sweep(port, seconds, conditional=conditional))
        used = cpu_seconds(process.pid) - before
        process.terminate()
    answers = sum(client.answers for client in clients)
    return answers / used, answers / seconds, sum(c.octets for c in clients) / seconds / 1e6


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="per measure")
    seconds = parser.parse_args().seconds
    print(f"{'what':36}{'per CPU-second':>16}{'per second':>14}{'MB/s':>8}")
    for name, options, conditional in MEASURES:
        per_cpu, per_second, megabytes = measure(options, seconds, conditional=conditional)
        print(f"{name:36}{per_cpu:16,.0f}{per_second:14,.0f}{megabytes:8.0f}")


if __name__ == "__main__":
    main()
