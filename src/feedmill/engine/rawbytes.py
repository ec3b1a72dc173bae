"""Getting raw bytes back: through the index, along prefixes, and past a segment that has moved."""

from feedmill.engine.world import World
from feedmill.errors import FeedmillError
from feedmill.model.feed import BlobRef

_MAX_CHAIN = 64  # a body may need the one before it as its prefix; chains are kept far shorter


async def body_of(sha256: str, world: World) -> bytes:
    """The exact bytes of a document, checked against their hash."""
    ref = await world.store.blob(sha256)
    chain: list[BlobRef] = []
    while ref is not None and len(chain) < _MAX_CHAIN:
        chain.append(ref)
        if ref.prefix_sha256 is None:
            break
        ref = await world.store.blob(ref.prefix_sha256)
    if not chain or ref is None:
        message = f"the raw store has no document {sha256[:12]}…; it was dropped by retention"
        raise FeedmillError(message)
    body: bytes | None = None
    for link in reversed(chain):
        body = await world.blobs.get(link, body)
    assert body is not None
    return body
