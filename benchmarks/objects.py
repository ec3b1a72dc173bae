"""`python -m benchmarks.objects`: the raw store in a bucket beside the one on local disk.

The same bodies by the same number of callers, put and read again, on disk, on the S3 server of the
tests (SeaweedFS on loopback, whose own work is on the same cores) and in memory, where nothing but
our own side is left. What counts is the ratio to local disk in the same run.

    python -m benchmarks.objects [--bodies 2000] [--rounds 3]
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: the same bodies in every run
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final, NamedTuple

from obstore.store import MemoryStore
from tests.support.servers.seaweedfs import S3Server

from feedmill.adapters.blobs.bucket.store import BucketBlobs
from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.config import BlobsConfig, StoreConfig
from feedmill.engine.ports.io import Blobs
from feedmill.model.feed import BlobRef

_BODY_BYTES: Final = 17_000  # the mean of the bodies in the measurements behind the design
_CALLERS: Final = 64
_READERS: Final = 16
_LINGER_MS: Final = (0.0, 10.0, 50.0)

Opener = Callable[[Path], Awaitable[Blobs]]


class Figures(NamedTuple):
    """Of one kind of work: how many a second, and how many a second of our own CPU."""

    rate: float
    per_cpu: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    with S3Server() as server, TemporaryDirectory() as folder:
        os.environ.update(server.variables)
        asyncio.run(_measure(Path(folder), options.bodies, options.rounds))
    return 0


async def _measure(folder: Path, count: int, rounds: int) -> None:
    chance = Random(20_260_301)
    openers: dict[str, Opener] = {"local disk": _local}
    for linger_ms in _LINGER_MS:
        openers[f"s3, linger {linger_ms:g} ms"] = _in_bucket(linger_ms)
    openers["memory, linger 0 ms"] = _in_memory
    puts: dict[str, list[Figures]] = {name: [] for name in openers}
    gets: dict[str, list[Figures]] = {name: [] for name in openers}
    objects: dict[str, int] = {}
    for turn in range(rounds):  # they take turns, so that a busy minute hits all of them
        bodies = [chance.randbytes(_BODY_BYTES) for _ in range(count)]
        for name, opener in openers.items():
            blobs = await opener(folder / f"{turn} {name}")
            refs, figures = await _puts(blobs, bodies)
            puts[name].append(figures)
            gets[name].append(await _gets(blobs, refs))
            objects[name] = len({ref.segment for ref in refs})
            await blobs.close()
    for what, found in (("put", puts), ("get", gets)):
        base = _middle(found["local disk"])
        for name, several in found.items():
            own = _middle(several)
            more = f"{objects[name]:5} segments" if what == "put" else ""
            print(
                f"{what} {name:22} {own.rate:8,.0f}/s {own.per_cpu:8,.0f} per CPU-second"
                f"  {own.rate / base.rate:6.2f} of local {more}"
            )


async def _local(folder: Path) -> Blobs:
    return await DiskBlobs.open(folder, SystemClock())


def _in_bucket(linger_ms: float) -> Opener:
    async def opener(folder: Path) -> Blobs:
        url = f"s3://{S3Server.bucket}/{sha256(str(folder).encode()).hexdigest()[:16]}"
        config = BlobsConfig(linger_ms=linger_ms)
        return BucketBlobs.at(url, SystemClock(), StoreConfig(), config)

    return opener


async def _in_memory(_: Path) -> Blobs:
    return BucketBlobs(MemoryStore(), "memory", SystemClock(), None, BlobsConfig(linger_ms=0))


async def _puts(blobs: Blobs, bodies: Sequence[bytes]) -> tuple[list[BlobRef], Figures]:
    named = iter([(body, sha256(body).hexdigest()) for body in bodies])
    refs: list[BlobRef] = []

    async def call() -> None:
        for body, digest in named:
            refs.append(await blobs.put(body, sha256=digest))

    began, spent = perf_counter(), process_time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(_CALLERS):
            tasks.create_task(call())
    return refs, _figures(len(refs), began, spent)


async def _gets(blobs: Blobs, refs: Sequence[BlobRef]) -> Figures:
    waiting = iter(refs)

    async def call() -> None:
        for ref in waiting:
            await blobs.get(ref)

    began, spent = perf_counter(), process_time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(_READERS):
            tasks.create_task(call())
    return _figures(len(refs), began, spent)


def _figures(count: int, began: float, spent: float) -> Figures:
    return Figures(count / (perf_counter() - began), count / (process_time() - spent))


def _middle(several: Sequence[Figures]) -> Figures:
    return Figures(median(one.rate for one in several), median(one.per_cpu for one in several))


if __name__ == "__main__":
    sys.exit(main())
