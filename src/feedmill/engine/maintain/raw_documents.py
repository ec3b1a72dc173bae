"""Getting raw bytes back: through the index, and past a segment that has moved meanwhile."""

from feedmill.engine.run.services import Services
from feedmill.errors import BlobMoved, NotFoundError


async def load_body(sha256: str, services: Services) -> bytes:
    """The exact bytes of a document, checked against their hash."""
    try:
        return await _read(sha256, services)
    except BlobMoved:  # re-encoded since the index was asked: its new place is known by now
        return await _read(sha256, services)


async def load_raw_document(fetch_id: str, services: Services) -> bytes | None:
    """The body that a fetch brought; None when it brought none, or when it is not kept any more."""
    fetch = await services.store.fetch(fetch_id)
    if fetch is None or fetch.body_sha256 is None:
        return None
    try:
        return await load_body(fetch.body_sha256, services)
    except NotFoundError:
        return None


async def _read(sha256: str, services: Services) -> bytes:
    ref = await services.store.blob(sha256)
    if ref is None:
        message = f"the raw document {sha256[:12]}… is not kept any more; retention let it go"
        raise NotFoundError(message)
    return await services.blobs.get(ref)
