"""`make memory-hour`: memory, descriptors and event-loop stalls of `run` and `serve --with-mill` over an hour.

    python -m tools.memory_hour [--seconds 3600] [--feeds 2000] [--streams 50] [--interval 30]

Two processes poll the same loopback publisher from home folders of their own; one request in twenty brings a new entry. Readers hold
streams of the second one open, and a list of its entries is asked for with every sample. Judged are, after the first quarter: the
slope of the anonymous memory (pages of files can be dropped by the system; they are printed too), the number of descriptors, the
size of the write-ahead log, whether events came at all, and the 99th percentile of the event loop's own stall (`tools/stall_probe.py`; what a busy
machine adds is printed, not judged). It talks to loopback only and ends by itself; the exit code is 1 when a bar is missed.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.contestants import Publisher
from tools.stall_probe import percentile

_MAX_SLOPE_MB: Final = 2.0  # an hour
_MAX_STALL_MS: Final = 50
_MAX_WAL_MB: Final = 64.0
_SAMPLE_SEC: Final = 5.0
_START_SEC: Final = 600.0
_SETTINGS: Final = {
    "FEEDMILL_EGRESS_ALLOW_CIDRS": "127.0.0.0/8",
    "FEEDMILL_SCHEDULE_POLICY": "seed",
    "FEEDMILL_HOST_MIN_GAP_MS": "0",
    "HOST_RPS": "0",
    "FEEDMILL_LOG": "error",
}


class Sample(NamedTuple):
    """What the system says about a process at one moment; sizes in MB."""

    at: float
    resident: float
    anonymous: float
    descriptors: int
    threads: int
    wal: float
    home: float


class Verdict(NamedTuple):
    """The judged figures of one process."""

    slope_mb_per_hour: float
    descriptors: tuple[float, float]  # median of the second quarter, and of the last
    wal_mb: float
    own_stall_ms: int
    events: int  # since the first quarter

    @property
    def is_kept(self) -> bool:
        """Whether every bar is met."""
        before, after = self.descriptors
        return (
            self.slope_mb_per_hour < _MAX_SLOPE_MB
            and after <= before + 2
            and self.wal_mb <= _MAX_WAL_MB
            and self.own_stall_ms < _MAX_STALL_MS
            and self.events > 0
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both processes, print every sixtieth of the time, and judge them at the end."""
    parser = argparse.ArgumentParser(prog="tools.memory_hour", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3_600.0)
    parser.add_argument("--feeds", type=int, default=2_000)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--interval", type=int, default=30, help="seconds between polls of a feed")
    options = parser.parse_args(arguments)
    with (
        TemporaryDirectory(prefix="feedmill-memory-", ignore_cleanup_errors=True) as folder,
        suppress(asyncio.CancelledError),
    ):
        try:
            return asyncio.run(_hour(Path(folder), options))
        except AssertionError as broken:
            print(f"a promise was broken: {broken}")
    return 1


async def _hour(folder: Path, options: argparse.Namespace) -> int:
    whole = asyncio.current_task()
    assert whole is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, whole.cancel)
    life = str(options.seconds + 2 * _START_SEC)
    async with AsyncExitStack() as stack:
        publisher = stack.enter_context(Publisher("--fresh-every", "20", "--seconds", life))
        urls, port = publisher.urls(options.feeds), _free_port()
        watched = [
            await stack.enter_async_context(_process(folder / name, urls, options.interval, *words))
            for name, *words in (
                ("run", "run", "--quiet", "--no-webhooks"),
                ("serve", "serve", "--with-mill", "--port", str(port)),
            )
        ]
        received = [0] * options.streams
        reading = [asyncio.create_task(_read(port, received, n)) for n in range(options.streams)]
        stack.callback(lambda: [task.cancel() for task in reading])
        await _sample_all(watched, port, options.seconds)
        assert all(received), "a stream received nothing"
        print(f"events per stream: {min(received):,} to {max(received):,} lines")
        return max([_judge(one) for one in watched])


class _Watched:
    """A process of feedmill with its home folder and its samples."""

    def __init__(self, home: Path, process: asyncio.subprocess.Process) -> None:
        self.home, self.process = home, process
        self.samples: list[Sample] = []
        self._warm, self._warm_seq = self._stalls(), 0

    def _stalls(self) -> dict[str, dict[str, int]]:
        """The buckets that the probe has written."""
        file = self.home.with_suffix(".json")
        found: dict[str, dict[str, int]] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def is_warm(self) -> None:
        """Judge stalls and events from now on."""
        self._warm, self._warm_seq = self._stalls(), self._last_seq()

    def _last_seq(self) -> int:
        with closing(sqlite3.connect(self.home / "feedmill.db")) as database:
            found = database.execute("SELECT coalesce(max(seq), 0) FROM outbox").fetchone()
        return int(found[0])

    @property
    def events(self) -> int:
        """How many events came since the first quarter."""
        return self._last_seq() - self._warm_seq

    @property
    def stalls(self) -> dict[str, dict[str, int]]:
        """The buckets since the first quarter."""
        return {
            kind: {ms: count - self._warm.get(kind, {}).get(ms, 0) for ms, count in found.items()}
            for kind, found in self._stalls().items()
        }

    def take_sample(self, at: float) -> Sample:
        """Read /proc and the home folder."""
        code = self.process.returncode
        assert code is None, f"{self.home.name} ended by itself with status {code}"
        proc = Path(f"/proc/{self.process.pid}")
        lines = (line.split(":") for line in (proc / "status").read_text().splitlines())
        status = {name: value.split() for name, value in lines}
        sizes = {path.name: path.stat().st_size / 1e6 for path in _files(self.home)}
        self.samples.append(
            Sample(
                at=at,
                resident=int(status["VmRSS"][0]) / 1024,
                anonymous=int(status["RssAnon"][0]) / 1024,
                descriptors=sum(1 for _ in (proc / "fd").iterdir()),
                threads=int(status["Threads"][0]),
                wal=sum(size for name, size in sizes.items() if name.endswith("-wal")),
                home=sum(sizes.values()),
            )
        )
        return self.samples[-1]


async def _sample_all(watched: list[_Watched], port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    began, printed, is_warm = loop.time(), -1, False
    while (at := loop.time() - began) < seconds:
        if not is_warm and at >= seconds / 4:
            is_warm = True
            for one in watched:
                one.is_warm()
        row = [one.take_sample(at) for one in watched]
        if (turn := int(at * 60 / seconds)) > printed:
            printed = turn
            print(f"{at:6.0f} s  " + "  |  ".join(map(_words, row)), flush=True)
        is_served = await _list_entries(port)
        assert is_served or not is_warm, "serve gave no list of entries"
        await asyncio.sleep(_SAMPLE_SEC)


def _words(sample: Sample) -> str:
    return (
        f"{sample.anonymous:6.1f} MB own {sample.resident:6.1f} MB in all {sample.descriptors:4} descriptors"
        f" {sample.threads:3} threads {sample.wal:5.1f} MB WAL {sample.home:6.1f} MB home"
    )


def _judge(one: _Watched) -> int:
    late = [sample for sample in one.samples if sample.at >= one.samples[-1].at / 4]
    third = max(len(late) // 3, 1)
    stalls = one.stalls
    verdict = Verdict(
        slope_mb_per_hour([(sample.at, sample.anonymous) for sample in late]),
        (
            median(sample.descriptors for sample in late[:third]),
            median(sample.descriptors for sample in late[-third:]),
        ),
        max(sample.wal for sample in one.samples),
        percentile(stalls["own"], 0.99),
        one.events,
    )
    print(
        f"{'kept' if verdict.is_kept else 'MISSED'} {one.home.name}: {verdict.slope_mb_per_hour:+.2f} MB/h after the first quarter"
        f" (under {_MAX_SLOPE_MB:.0f}; at most {max(sample.anonymous for sample in late):.0f} MB),"
        f" descriptors {verdict.descriptors[0]:.0f} and {verdict.descriptors[1]:.0f}, WAL at most {verdict.wal_mb:.1f} MB,"
        f" p99 stall of its own {verdict.own_stall_ms} ms (under {_MAX_STALL_MS}),"
        f" with the machine's load {percentile(stalls['late'], 0.99)} ms, {verdict.events:,} events"
    )
    return 0 if verdict.is_kept else 1


def slope_mb_per_hour(points: list[tuple[float, float]]) -> float:
    """The slope of the line through (seconds, MB) by least squares, per hour."""
    middle = sum(at for at, _ in points) / len(points)
    spread = sum((at - middle) ** 2 for at, _ in points)
    return 3_600 * sum((at - middle) * size for at, size in points) / spread if spread else 0.0


@asynccontextmanager
async def _process(
    home: Path, urls: list[str], interval: int, *words: str
) -> AsyncIterator[_Watched]:
    """A command of feedmill that has polled every feed once."""
    every = str(interval)
    environment = os.environ | _SETTINGS | {
        "FEEDMILL_HOME": str(home),
        "FEEDMILL_SCHEDULE_INITIAL_INTERVAL_SEC": every,
        "SCHED_MIN_INTERVAL_SEC": every,
        "SCHED_MAX_INTERVAL_SEC": every,
    }  # fmt: skip
    adding = await _start(
        environment, "-m", "tools.stall_probe", os.devnull, "add", "--as-is", *urls
    )
    assert await adding.wait() == 0, "the feeds could not be added"
    process = await _start(
        environment, "-m", "tools.stall_probe", str(home.with_suffix(".json")), *words
    )
    one = _Watched(home, process)
    try:
        async with asyncio.timeout(_START_SEC):
            while not one.home.with_suffix(".json").exists():  # noqa: ASYNC110  # another process writes it
                await asyncio.sleep(0.2)
        yield one
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0, f"{home.name} ended with status {process.returncode}"
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        await process.wait()


async def _start(environment: dict[str, str], *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, *words, env=environment, stdout=asyncio.subprocess.DEVNULL
    )


async def _read(port: int, received: list[int], number: int) -> None:
    """Count the lines of a stream of events; a stream that ends is opened again."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while data := await reader.read(65_536):
                received[number] += data.count(b"\ndata:")
            writer.close()
        await asyncio.sleep(1)


async def _list_entries(port: int) -> bool:
    """Ask for a list of entries; whether it came."""
    answer = b""
    with suppress(OSError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET /entries?limit=100 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        answer = await reader.read()
        writer.close()
    return answer.startswith(b"HTTP/1.1 200 ")


def _files(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main())
