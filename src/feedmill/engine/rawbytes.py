"""Getting raw bytes back: through the index, and past a segment that has moved meanwhile."""

from feedmill.engine.world import World
from feedmill.errors import BlobMoved, UsageError


async def body_of(sha256: str, world: World) -> bytes:
    """The exact bytes of a document, checked against their hash."""
    try:
        return await _read(sha256, world)
    except BlobMoved:  # re-encoded since the index was asked: its new place is known by now
        return await _read(sha256, world)


async def _read(sha256: str, world: World) -> bytes:
    ref = await world.store.blob(sha256)
    if ref is None:
        message = f"the raw document {sha256[:12]}… is not kept any more; retention let it go"
        raise UsageError(message)
    return await world.blobs.get(ref)
