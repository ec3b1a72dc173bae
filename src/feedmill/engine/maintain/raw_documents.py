"""Getting raw bytes back: through the index, and past a segment that has moved meanwhile."""

from feedmill.engine.run.services import World
from feedmill.errors import BlobMoved, NotFoundError


async def body_of(sha256: str, world: World) -> bytes:
    """The exact bytes of a document, checked against their hash."""
    try:
        return await _read(sha256, world)
    except BlobMoved:  # re-encoded since the index was asked: its new place is known by now
        return await _read(sha256, world)


async def raw_document(fetch_id: str, world: World) -> bytes | None:
    """The body that a fetch brought; None when it brought none, or when it is not kept any more."""
    fetch = await world.store.fetch(fetch_id)
    if fetch is None or fetch.body_sha256 is None:
        return None
    try:
        return await body_of(fetch.body_sha256, world)
    except NotFoundError:
        return None


async def _read(sha256: str, world: World) -> bytes:
    ref = await world.store.blob(sha256)
    if ref is None:
        message = f"the raw document {sha256[:12]}… is not kept any more; retention let it go"
        raise NotFoundError(message)
    return await world.blobs.get(ref)
