"""A process that keeps bodies in a bucket until somebody kills it, and tells each pointer at once.

python write_bucket_blobs.py URL NAME
"""

import asyncio
import sys
from hashlib import sha256

import msgspec
from tests.support.children.write_disk_blobs import body_of

from feedmill.adapters.blobs.bucket.store import BucketBlobs
from feedmill.adapters.clock import SystemClock
from feedmill.config import BlobsConfig, StoreConfig

_WRITERS = 8


async def main(url: str, name: str) -> None:
    """Put and tell, for ever."""
    blobs = BucketBlobs.at(url, SystemClock(), StoreConfig(), BlobsConfig(linger_ms=1))

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
