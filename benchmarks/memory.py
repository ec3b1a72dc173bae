"""`make bench-memory`: memory stays flat over 100,000 documents, or exit 1.

Small documents of every kind, one in four of them spoiled, go through parse and normalise. Each has
elements, attributes and a namespace that no document had before, which libxml2 keeps in the dictionary
of a thread; so they are parsed as the engine does it, in threads that are replaced. The resident size is read every tenth of the way; what it grows by after the
first fifth, when every cache is full, is the leak per document.

    python -m benchmarks.memory [--documents 100000]
"""

import argparse
import asyncio
import gc
import resource
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random  # noqa: TID251  # seeded: the same documents in every run
from statistics import linear_regression
from typing import Final

from benchmarks.documents import generate_small
from benchmarks.formats import WRITERS

from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.entry import normalise
from feedmill.parse.document import parse_document

_READINGS: Final = 10
_SETTLED: Final = 2  # readings before which caches still fill
_MAX_BYTES_PER_DOCUMENT: Final = 20  # 2 MB over 100,000 documents is noise of the allocator
_VARIANTS: Final = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the documents and print the resident size as it goes; 1 when it grows."""
    return asyncio.run(_measure(_options(arguments)))


async def _measure(options: argparse.Namespace) -> int:
    every = max(1, options.documents // _READINGS)
    sizes: list[tuple[int, int]] = []
    feeds = unreadable = 0
    for number, body in enumerate(_documents(options.documents), start=1):
        if await PARSE_THREADS.run(partial(_read, body)):
            feeds += 1
        else:
            unreadable += 1
        if number % every == 0:
            gc.collect()
            sizes.append((number, _resident_bytes()))
            print(f"{number:>9,} documents  {sizes[-1][1] / 1e6:8.1f} MB", flush=True)
    slope = _slope(sizes[_SETTLED:])
    print(f"{feeds:,} feeds, {unreadable:,} unreadable; {slope:+.1f} bytes per document")
    return 1 if slope > _MAX_BYTES_PER_DOCUMENT else 0


def _documents(count: int) -> Iterator[bytes]:
    """Bodies of every kind, no two the same: every fourth spoiled, each with its own numbers."""
    chance = Random(1)
    bodies = [generate_small(kind, seed).body for kind in WRITERS for seed in range(_VARIANTS)]
    for number in range(count):
        body = chance.choice(bodies).replace(b"example.org", b"site%d.example" % number)
        new = b"<n%d:e%d xmlns:n%d='urn:%d' a%d=''/>" % ((number,) * 5)
        body = body.replace(b"</title>", b"</title>" + new, 3)
        yield _spoiled(body, chance) if number % 4 == 0 else body


def _spoiled(body: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(body))
    way = chance.randrange(4)
    if way == 0:
        return body[:at]
    if way == 1:
        return body[:at] + b"</b><item>&nope; \x0c" + body[at:]
    if way == 2:
        return body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]
    return body.replace(b"</title>", b"<n%d:x/></title>" % at, 2)


def _read(body: bytes) -> bool:
    feed = parse_document(RawDocument(body=body, url="https://example.org/feed"))
    if not isinstance(feed, ParsedFeed):
        return False
    normalise(feed)
    return True


def _resident_bytes() -> int:
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _slope(sizes: list[tuple[int, int]]) -> float:
    if len(sizes) < 2:
        return 0.0
    documents, resident = zip(*sizes, strict=True)
    return linear_regression(documents, resident).slope


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.memory", description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
