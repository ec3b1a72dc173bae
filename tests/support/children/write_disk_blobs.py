"""A process that keeps bodies until somebody kills it, and tells each pointer once it is durable.

python write_disk_blobs.py FOLDER NAME SEGMENT_BYTES
"""

import asyncio
import sys
from hashlib import sha256, shake_256
from pathlib import Path

import msgspec

from feedmill.adapters.blobs.disk.store import DiskBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.config import StoreConfig

_WRITERS = 8


def body_of(name: str, number: int) -> bytes:
    """The bodies that this process keeps: of all sizes up to 60 KB."""
    return shake_256(f"{name}/{number}".encode()).digest(1 + number * 7919 % 60_000)


async def main(folder: str, name: str, segment_bytes: str) -> None:
    """Put and tell, for ever."""
    config = StoreConfig(segment_bytes=int(segment_bytes))
    blobs = await DiskBlobs.open(Path(folder), SystemClock(), config)

    async def write(start: int) -> None:
        number = start
        while True:
            body = body_of(name, number)
            ref = await blobs.put(body, sha256=sha256(body).hexdigest())
            sys.stdout.buffer.write(msgspec.json.encode((number, ref)) + b"\n")
            sys.stdout.buffer.flush()
            number += _WRITERS

    async with asyncio.TaskGroup() as tasks:
        for start in range(_WRITERS):
            tasks.create_task(write(start))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
