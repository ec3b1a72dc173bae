"""`make bench-attacks`: what attackers take from the other feeds of the same process, or exit 1.

Two processes of `feedmill serve --with-mill` each poll 30 good feeds once a second, by name, at the same time on the same machine: one
meets the attack, the other one is the control. The attackers' feeds are added while both run, all at once, and polled every 60 seconds
(by default no feed is polled more often than every 300). Compared are the polls that the good feeds of both get in the same
seconds, so that other work on the machine takes from both alike. No attack may take more than a tenth of the polls, or let
the process grow over 512 MB.

    python -m benchmarks.neighbours [--only TEXT] [--seconds N] [--turns N]
"""

import argparse
import asyncio
import multiprocessing
import os
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

_CONTROL: Final = "/control"
_ATTACKED: Final = "/attacked"
_GOOD: Final = 30
_ATTACKERS: Final = 24
_START_SEC: Final = 300.0
_WARM_SEC: Final = 2.0
_ATTACK_SEC: Final = "60"  # how often attackers are polled; the default floor is 300 s
_MOST_LOST: Final = 0.1
_MOST_MB: Final = 512
_ITEM: Final = b"<item><guid>%d</guid><title>Title %d</title><description>%s</description></item>"
_SETTINGS: Final = {
    "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
    "FEEDMILL_SCHEDULE_POLICY": "seed",
    "FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC": "1",
    "SCHED_MIN_INTERVAL_SEC": "1",
    "SCHED_MAX_INTERVAL_SEC": "60",
    "FEEDMILL_HOST_MIN_GAP_MS": "0",
    "HOST_RPS": "0",
    "FEEDMILL_RUN_IDLE_SEC": "0.1",
    "FEEDMILL_LOG": "error",
}

Talk = Callable[[asyncio.StreamWriter, int, bytes], Awaitable[None]]


class Result(NamedTuple):
    """Polls of the good feeds per second, in the control and beside the attack; the attacked process's greatest MB and its cores."""

    control: float
    attacked: float
    megabytes: float
    cores: float

    @property
    def lost(self) -> float:
        """The share of polls that the attack took."""
        return 1 - self.attacked / self.control


class Attack(NamedTuple):
    """What the attackers' hosts answer, or what else is done meanwhile."""

    talk: Talk | None = None
    host: str = "127-0-2-{}.attack.test"
    feeds: int = _ATTACKERS
    beside: Callable[[int], Coroutine[None, None, None]] | None = (
        None  # given the port of the REST server
    )


async def _head(writer: asyncio.StreamWriter, *fields: bytes) -> None:
    lines = (b"HTTP/1.1 200 OK", b"Content-Type: application/rss+xml", *fields, b"", b"")
    writer.write(b"\r\n".join(lines))
    await writer.drain()


async def _chunks(writer: asyncio.StreamWriter, piece: bytes, times: int) -> None:
    await _head(writer, b"Transfer-Encoding: chunked")
    block = piece * max(65_536 // len(piece), 1)
    for _ in range(times * len(piece) // len(block)):
        writer.write(block)
        await writer.drain()


async def _one_byte_chunks(writer: asyncio.StreamWriter, *_: object) -> None:
    await _chunks(writer, b"1\r\nx\r\n", 9_000_000)


async def _chunk_extensions(writer: asyncio.StreamWriter, *_: object) -> None:
    await _chunks(writer, b"1;" + b"e" * 15_000 + b"\r\nx\r\n", 140_000)


def _document(first: int, items: int, text: bytes) -> bytes:
    body = b"".join(_ITEM % (n, n, text) for n in range(first, first + items))
    return b"<rss version='2.0'><channel><title>t</title>" + body + b"</channel></rss>"


async def _whole(writer: asyncio.StreamWriter, body: bytes) -> None:
    await _head(writer, b"Content-Length: %d" % len(body))
    writer.write(body)
    await writer.drain()


async def _large_documents(writer: asyncio.StreamWriter, visit: int, _: bytes) -> None:
    await _whole(writer, _document(visit * 1_000, 1_000, b"many words of text " * 500))


async def _endless_entries(writer: asyncio.StreamWriter, visit: int, _: bytes) -> None:
    await _whole(writer, _document(visit * 9_000, 9_000, b"a few words of text"))


async def _import_lists(port: int) -> None:
    """Lists of 4 MB with 300,000 attributes each, one after the other."""
    names = b" ".join(b'a%d="x"' % number for number in range(300_000))
    body = b"<opml version='2.0'><body><outline " + names + b"/></body></opml>"
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                b"POST /import HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/x-opml\r\n"
                b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            await reader.read()
            writer.close()
        await asyncio.sleep(0.05)


ATTACKS: Final = {
    "OPML lists of 300,000 attributes": Attack(feeds=0, beside=_import_lists),
    "300 names behind a silent name server": Attack(host="n{}.silent.test", feeds=300),
    "chunks of one byte": Attack(_one_byte_chunks),
    "chunk extensions of 15 KB": Attack(_chunk_extensions),
    "24 documents of 10 MB, ever new": Attack(_large_documents),
    "9,000 new entries at every poll": Attack(_endless_entries, feeds=8),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every attack beside a run without one, and print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.neighbours", description=__doc__)
    parser.add_argument("--only", default="", help="attacks whose name contains this text")
    parser.add_argument("--seconds", type=float, default=20.0, help="to count polls, each time")
    parser.add_argument("--turns", type=int, default=3, help="the median of so many is judged")
    options = parser.parse_args(arguments)
    print(f"{'attack':40} {'control/s':>9} {'beside/s':>9} {'lost':>6} {'MB':>5} {'cores':>6}")
    worst = 0
    for name, attack in ATTACKS.items():
        if options.only not in name:
            continue
        turns = [asyncio.run(_measured(attack, options.seconds)) for _ in range(options.turns)]
        typical = sorted(turns, key=lambda turn: turn.lost)[len(turns) // 2]
        megabytes = max(turn.megabytes for turn in turns)
        bad = typical.lost > _MOST_LOST or megabytes > _MOST_MB
        worst = max(worst, bad)
        each = ", ".join(f"{turn.lost:.1%}" for turn in turns)
        print(
            f"{'!' if bad else ' '}{name:39} {typical.control:9.1f} {typical.attacked:9.1f}"
            f" {typical.lost:6.1%} {megabytes:5.0f} {typical.cores:6.2f}  ({each})",
            flush=True,
        )
    return worst


async def _measured(attack: Attack, seconds: float) -> Result:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="feedmill-bench-")))
        polls: Counter[bytes] = Counter()
        port = await stack.enter_async_context(_good_feeds(polls))
        bad_port = stack.enter_context(_attackers(attack))
        names = await stack.enter_async_context(_name_server())
        bad = [f"http://{attack.host.format(n)}:{bad_port}/" for n in range(1, attack.feeds + 1)]
        mills, rest_port = {}, 0
        for kind in (_CONTROL, _ATTACKED):
            feeds = [f"http://127-0-1-{n}.good.test:{port}{kind}" for n in range(1, _GOOD + 1)]
            rest_port = _free_port()
            mills[kind] = await stack.enter_async_context(
                _mill(folder / kind[1:], feeds, names, rest_port)
            )
        process = mills[_ATTACKED]
        async with asyncio.timeout(_START_SEC):
            while min(polls[_CONTROL.encode()], polls[_ATTACKED.encode()]) < _GOOD * 2:  # noqa: ASYNC110  # a benchmark
                await asyncio.sleep(0.1)
        await asyncio.sleep(_WARM_SEC)
        if attack.beside is not None:
            attacking: asyncio.Task[None] = asyncio.create_task(attack.beside(rest_port))
            stack.callback(attacking.cancel)
        began, before, cpu = time.monotonic(), polls.copy(), _cpu_sec(process.pid)
        await _add(folder / _ATTACKED[1:], bad, names, "--min-interval", _ATTACK_SEC)
        await asyncio.sleep(seconds)
        took, polled = time.monotonic() - began, polls - before
        return Result(
            polled[_CONTROL.encode()] / took,
            polled[_ATTACKED.encode()] / took,
            _peak_megabytes(process.pid),
            (_cpu_sec(process.pid) - cpu) / took,
        )


@asynccontextmanager
async def _mill(
    home: Path, feeds: list[str], names: str, port: int
) -> AsyncIterator[asyncio.subprocess.Process]:
    await _add(home, feeds, names, "--max-interval", "1")
    process = await asyncio.create_subprocess_exec(
        *_command(names), "serve", "--with-mill", "--port", str(port),
        env=_environment(home), stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


async def _add(home: Path, feeds: list[str], names: str, *own: str) -> None:
    if feeds:
        adding = await asyncio.create_subprocess_exec(
            *_command(names), "add", "--as-is", *own, *feeds,
            env=_environment(home), stdout=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await adding.wait()


def _command(names: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.neighbours_process", names]


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, **_SETTINGS, "FEEDMILL_HOME": str(home)}


@asynccontextmanager
async def _good_feeds(polls: Counter[bytes]) -> AsyncIterator[int]:
    """Good feeds on all loopback addresses of one port; their requests are counted by path."""
    good = _document(1, 10, b"words")

    async def talk(writer: asyncio.StreamWriter, _: int, path: bytes) -> None:
        polls[path] += 1
        await _whole(writer, good)

    server = await _listen(talk)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@contextmanager
def _attackers(attack: Attack) -> Iterator[int]:
    """The port of a process of its own that attacks on all loopback addresses."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_attack, args=(attack.talk, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def _attack(talk: Talk | None, pipe: Connection) -> None:
    async def serve() -> None:
        server = await _listen(talk or _endless_entries)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


async def _listen(talk: Talk) -> asyncio.Server:
    visits = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal visits
        with suppress(OSError, asyncio.IncompleteReadError):
            while request := await reader.readuntil(b"\r\n\r\n"):
                visits += 1
                await talk(writer, visits, request.split(b" ", 2)[1])
        writer.close()

    return await asyncio.start_server(serve, "0.0.0.0", 0)  # all loopback addresses


class _Names(asyncio.DatagramProtocol):
    """127-0-1-7.good.test has the address 127.0.1.7; names of silent.test get no answer at all."""

    transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # of a datagram endpoint

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        label = data[13 : 13 + data[12]].decode()
        end = data.index(b"\x00", 12) + 1
        if b"silent" in data[12:end]:
            return
        (kind,) = struct.unpack_from("!H", data, end)
        found = kind == 1
        record = struct.pack("!HHHIH", 0xC00C, 1, 1, 5, 4) + socket.inet_aton(
            label.replace("-", ".")
        )
        head = data[:2] + struct.pack("!5H", 0x8580, 1, int(found), 0, 0)
        self.transport.sendto(head + data[12 : end + 4] + (record if found else b""), addr)


@asynccontextmanager
async def _name_server() -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(_Names, local_addr=("127.0.0.1", 0))
    host, port = transport.get_extra_info("sockname")
    try:
        yield f"{host}:{port}"
    finally:
        transport.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _cpu_sec(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    sys.exit(main())
