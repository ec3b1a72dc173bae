"""What the tests of the raw store share: every implementation, feeds that grow, an index.

The folder that a test names is where its raw store lies: a folder, or a prefix in a bucket.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256, shake_256
from pathlib import Path
from typing import Final

import pytest
from obstore.store import MemoryStore
from tests.support.servers.seaweedfs import S3Server

from feedmill.adapters.blobs.bucket.store import BucketBlobs
from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.config import BlobsConfig, StoreConfig
from feedmill.engine.ports.io import Blobs, Clock
from feedmill.errors import BlobMoved
from feedmill.model.feed import BlobRef

Opener = Callable[[Path, Clock, StoreConfig], Awaitable[Blobs]]

SOON: Final = BlobsConfig(linger_ms=1, retry_sec=20)
_memories: Final[dict[Path, MemoryStore]] = {}  # each as long as this process


async def in_memory(path: Path, clock: Clock, config: StoreConfig) -> Blobs:
    """Objects in memory, the same for all who open that path."""
    store = _memories.setdefault(path, MemoryStore())
    return BucketBlobs(store, f"memory://{path}", clock, config, SOON)


async def in_files(path: Path, clock: Clock, config: StoreConfig) -> Blobs:
    """Objects as files of a mounted file system."""
    return BucketBlobs.at(f"file://{path}", clock, config, SOON)


async def in_bucket(path: Path, clock: Clock, config: StoreConfig) -> Blobs:
    """Objects on the S3 server that the environment names."""
    return BucketBlobs.at(bucket_url(path), clock, config, SOON)


# One line per implementation; all of them pass the same contract.
IMPLEMENTATIONS: Final[dict[str, Opener]] = {
    "segments": DiskBlobs.open,
    "objects on s3": in_bucket,
    "objects in files": in_files,
    "objects in memory": in_memory,
}


def bucket_url(path: Path) -> str:
    """A prefix of the tests' bucket that no other test has."""
    return f"s3://{S3Server.bucket}/{digest_of(str(path).encode())[:16]}"


def point_to(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name a server and its keys."""
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)


class StillClock(SystemClock):
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = timedelta()

    def now(self) -> datetime:
        """A fixed instant, and what has passed since."""
        return datetime(2026, 3, 1, tzinfo=UTC) + self.passed

    def monotonic(self) -> float:
        """Seconds that pass with the same hand."""
        return self.passed.total_seconds()

    def advance(self, seconds: float) -> None:
        """Let time go by."""
        self.passed += timedelta(seconds=seconds)


class Index:
    """The store's index in a dict, and the way in which everybody reads through it."""

    def __init__(self, refs: Sequence[BlobRef] = ()) -> None:
        self.rows = {ref.sha256: ref for ref in refs}

    def within(self, segment: str) -> list[BlobRef]:
        """The rows that point into a segment."""
        return [ref for ref in self.rows.values() if ref.segment == segment]

    def move(self, refs: Sequence[BlobRef]) -> None:
        """Point somewhere else from now on."""
        self.rows |= {ref.sha256: ref for ref in refs}

    async def body(self, blobs: Blobs, digest: str) -> bytes:
        """The body, asking again once when it has moved."""
        try:
            return await blobs.get(self.rows[digest])
        except BlobMoved:
            return await blobs.get(self.rows[digest])


@asynccontextmanager
async def opened(
    path: Path,
    clock: Clock | None = None,
    config: StoreConfig | None = None,
    opener: Opener = DiskBlobs.open,
) -> AsyncIterator[Blobs]:
    """A raw store that is closed at the end."""
    blobs = await opener(path, clock or StillClock(), config or StoreConfig())
    try:
        yield blobs
    finally:
        await blobs.close()


def names_in(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def digest_of(body: bytes) -> str:
    """The name under which a body is kept."""
    return sha256(body).hexdigest()


async def keep(blobs: Blobs, bodies: Sequence[bytes]) -> list[BlobRef]:
    """Put all of them at once."""
    return list(await asyncio.gather(*(blobs.put(body, sha256=digest_of(body)) for body in bodies)))


def noise(size: int, seed: str = "noise") -> bytes:
    """Bytes that no coding makes smaller, the same in every run."""
    return shake_256(seed.encode()).digest(size)


def versions(feed: str, count: int, *, items: int = 40) -> list[bytes]:
    """A feed as it grows: one to three new items at the top each time, as many dropped."""
    ends = [items]
    for number in range(1, count):
        ends.append(ends[-1] + 1 + number % 3)
    every = [_item(feed, number) for number in range(ends[-1])]
    return [_document(feed, every[end - items : end][::-1], end) for end in ends]


def successions(feeds: Sequence[Sequence[bytes]]) -> list[tuple[bytes, str | None]]:
    """Each body with the hash of its feed's body before it, in the order for re-encoding."""
    return [
        (body, digest_of(feed[at - 1]) if at else None)
        for feed in feeds
        for at, body in enumerate(feed)
    ]


def _document(feed: str, items: Sequence[str], built: int) -> bytes:
    head = f"<rss version='2.0'><channel><title>{feed}</title><lastBuildDate>{built:06}</lastBuildDate>"
    return (head + "".join(items) + "</channel></rss>").encode()


def _item(feed: str, number: int) -> str:
    words = _words(f"{feed}/{number}", 180)
    title, text = " ".join(words[:8]), " ".join(words[8:])
    link = f"https://{feed}.example/{number}"
    return (
        f"<item><title>{title}</title><link>{link}</link><guid>{link}</guid>"
        f"<description>{text}</description></item>"
    )


def _words(seed: str, count: int) -> list[str]:
    """Words of a vocabulary of 4,096, common ones more often, as prose has them."""
    numbers = shake_256(seed.encode()).digest(count * 3)
    triples = (numbers[at : at + 3] for at in range(0, len(numbers), 3))
    return [_word((first * second * third) >> 12) for first, second, third in triples]


def _word(number: int) -> str:
    name = shake_256(b"%d" % number).hexdigest(4)
    return name.translate(str.maketrans("0123456789", "ghijklmnop"))[: 2 + number % 7]
