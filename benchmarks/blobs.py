"""`python -m benchmarks.blobs`: what the raw store does per second, and how small it makes things.

Bodies are successions of feeds: each version has one to three new items at the top and as many
dropped. Puts are durable, by so many callers at once; gets check every byte; re-encoding packs all
versions of all feeds. Memory of the disk's cache is warm, as it is in steady state.

    python -m benchmarks.blobs [--feeds 40] [--versions 20] [--folder DIR]
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: the same bodies in every run
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final

import zstandard

from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.model.feed import BlobRef

_ITEMS: Final = 40
_CALLERS: Final = (1, 16, 64, 256)
_SMALL_BYTES: Final = 17_000  # the mean of the bodies in the measurements behind the design


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--feeds", type=int, default=40)
    parser.add_argument("--versions", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=None, help="on the disk to be measured")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(dir=options.folder) as folder:
        asyncio.run(_measure(Path(folder), options.feeds, options.versions))
    return 0


async def _measure(folder: Path, feeds: int, count: int) -> None:
    chance = Random(20_260_301)
    words = ["".join(chance.choices(ascii_lowercase, k=chance.randint(2, 9))) for _ in range(6000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    for callers in _CALLERS:
        bodies = [chance.randbytes(_SMALL_BYTES) for _ in range(min(4000, 400 * callers))]
        await _puts(folder / f"puts{callers}", bodies, callers, "17 KB")
    successions = [_succession(chance, words, weights, count) for _ in range(feeds)]
    await _packing(folder / "packed", successions)


async def _puts(folder: Path, bodies: Sequence[bytes], callers: int, what: str) -> list[BlobRef]:
    blobs = await DiskBlobs.open(folder, SystemClock())
    named = iter([(body, sha256(body).hexdigest()) for body in bodies])
    refs: list[BlobRef] = []

    async def call() -> None:
        for body, digest in named:
            refs.append(await blobs.put(body, sha256=digest))

    began, spent = perf_counter(), process_time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(callers):
            tasks.create_task(call())
    _told(
        f"put {what}, {callers} callers", len(refs), perf_counter() - began, process_time() - spent
    )
    if callers == _CALLERS[-1]:
        await _gets(blobs, refs, f"get {what}")
    await blobs.close()
    return refs


async def _gets(blobs: DiskBlobs, refs: Sequence[BlobRef], what: str) -> None:
    began, spent = perf_counter(), process_time()
    for at in range(0, len(refs), 16):
        await asyncio.gather(*map(blobs.get, refs[at : at + 16]))
    _told(what, len(refs), perf_counter() - began, process_time() - spent)


async def _packing(folder: Path, successions: Sequence[Sequence[bytes]]) -> None:
    bodies = [body for feed in successions for body in feed]
    refs = {ref.sha256: ref for ref in await _puts(folder, bodies, 64, "feeds")}
    blobs = await DiskBlobs.open(folder, SystemClock())
    names = [[sha256(body).hexdigest() for body in feed] for feed in successions]
    plan = [
        (refs[name], feed[at - 1] if at else None) for feed in names for at, name in enumerate(feed)
    ]
    began, spent = perf_counter(), process_time()
    packed = await blobs.reencode(plan)
    took, cpu = perf_counter() - began, process_time() - spent
    raw = sum(ref.raw_length for ref in packed)
    _told("re-encode feeds", len(packed), took, cpu, f"{raw / took / 1e6:.0f} MB/s of bodies")
    _ratios(packed, bodies)
    await _gets(blobs, packed, "get packed (mean chain of 10)")
    began, spent = perf_counter(), process_time()
    problems = await blobs.verify(packed)
    assert problems == (), problems
    _told("verify both copies", len(packed), perf_counter() - began, process_time() - spent)
    await blobs.close()


def _ratios(packed: Sequence[BlobRef], bodies: Sequence[bytes]) -> None:
    plain = sum(len(zstandard.ZstdCompressor(level=3).compress(body)) for body in bodies)
    leaning = [ref for ref in packed if ref.prefix_sha256]
    raw = sum(map(len, bodies))
    print(f"mean body {raw / len(bodies) / 1000:.0f} KB")
    print(f"ratio, plain zstd 3                {raw / plain:8.2f}")
    print(f"ratio, with the body before        {_ratio(leaning):8.2f}")
    print(f"ratio, whole segment               {_ratio(packed):8.2f}")


def _ratio(refs: Sequence[BlobRef]) -> float:
    return sum(ref.raw_length for ref in refs) / sum(ref.length for ref in refs)


def _succession(
    chance: Random, words: Sequence[str], weights: Sequence[float], count: int
) -> list[bytes]:
    site = chance.choice(words)
    items = [_item(chance, words, weights, site) for _ in range(_ITEMS)]
    made: list[bytes] = []
    for number in range(count):
        new = chance.randint(1, 3) if number else 0
        items = [_item(chance, words, weights, site) for _ in range(new)] + items
        del items[_ITEMS:]
        head = f"<rss><channel><title>{site}</title><lastBuildDate>{number:04}</lastBuildDate>"
        made.append((head + "".join(items) + "</channel></rss>").encode())
    return made


def _item(chance: Random, words: Sequence[str], weights: Sequence[float], site: str) -> str:
    text = chance.choices(words, weights, k=chance.randint(80, 500))
    link = f"https://{site}.example/{chance.randrange(1 << 40):x}"
    paragraphs = (" ".join(text[at : at + 60]) for at in range(0, len(text), 60))
    body = "".join(f"&lt;p&gt;{paragraph}&lt;/p&gt;" for paragraph in paragraphs)
    return (
        f"<item><title>{' '.join(text[:9])}</title><link>{link}</link>"
        f"<guid>{link}</guid><description>{body}</description></item>"
    )


def _told(what: str, count: int, took: float, cpu: float, more: str = "") -> None:
    print(f"{what:34} {count / took:10,.0f}/s {count / cpu:10,.0f} per CPU-second  {more}")


if __name__ == "__main__":
    sys.exit(main())
