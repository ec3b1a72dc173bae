"""Files of entries as objects beside the raw documents, `media/ab/<sha256>`; partial files stay on local disk.

A bucket has no links: the readable name of a file is in its listing only.
"""
# Tested in tests/contracts/blobs/test_media_files.py

import asyncio
import hashlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import obstore

from feedmill.adapters.blobs.bucket.bucket import MEDIA_PREFIX, object_errors
from feedmill.adapters.blobs.media_files import DiskMedia, gone_error
from feedmill.adapters.failpoints import reach
from feedmill.engine.ports.media import PartialFile
from feedmill.errors import BlobError, NotKeptError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_PIECE: Final = 4 * 1024 * 1024


class BucketMedia(DiskMedia):
    """The `MediaFiles` in object storage."""

    def __init__(self, store: "ObjectStore", folder: Path, place: str) -> None:
        super().__init__(folder)
        self._store, self.place = store, place

    async def keep(self, partial: PartialFile, sha256: str) -> None:
        """Upload a partial file; there whole or not at all."""
        with object_errors(self.place):
            await obstore.put_async(self._store, _key(sha256), partial.path)
        reach("media-kept")
        await asyncio.to_thread(partial.remove)

    async def read(self, sha256: str, start: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file."""
        key = _key(sha256)
        with object_errors(self.place, missing=gone_error(sha256)):
            if length is None:
                end = (await obstore.head_async(self._store, key))["size"]
                length = max(0, end - start)
            if length == 0:
                return b""
            return bytes(
                await obstore.get_range_async(self._store, key, start=start, length=length)
            )

    async def delete(self, sha256s: Sequence[str]) -> None:
        """Delete files; those that are not there are gone already."""
        if sha256s:
            with (
                suppress(FileNotFoundError),
                object_errors(self.place, missing=FileNotFoundError()),
            ):
                await obstore.delete_async(self._store, [_key(one) for one in sha256s])

    async def sizes(self) -> dict[str, int]:
        """The size of every file, by its digest."""
        found: dict[str, int] = {}
        with object_errors(self.place):
            async for chunk in obstore.list(self._store, MEDIA_PREFIX):
                found |= {one["path"].rpartition("/")[2]: one["size"] for one in chunk}
        return found

    async def verify(self, sha256: str) -> str | None:
        """Read a file whole; what is wrong with it."""
        found, at = hashlib.sha256(), 0
        try:
            with object_errors(self.place, missing=gone_error(sha256)):
                size = (await obstore.head_async(self._store, _key(sha256)))["size"]
            while at < size:
                piece = await self.read(sha256, at, min(_PIECE, size - at))
                found.update(piece)
                at += len(piece)
        except NotKeptError:
            return "missing"
        except BlobError as problem:
            return str(problem)
        return None if found.hexdigest() == sha256 else "damaged"

    async def link(self, path: str, sha256: str) -> None:
        """There are no links in a bucket."""

    async def links(self) -> frozenset[str]:
        """There are none."""
        return frozenset()

    async def unlink(self, paths: Collection[str]) -> None:
        """There are none."""


def _key(sha256: str) -> str:
    return f"{MEDIA_PREFIX}/{sha256[:2]}/{sha256}"
