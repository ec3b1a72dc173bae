"""Keeps raw documents before they are parsed, and loads them again by their hash."""

from feedmill.engine.ports.blobs import Blobs, RawIndex
from feedmill.errors import BlobMoved, NotFoundError
from feedmill.model.feed import BlobRef, FetchRecord
from feedmill.model.fetch import RawDocument


async def keep_raw(body: bytes, sha256: str, index: RawIndex, blobs: Blobs) -> BlobRef:
    """Keep a body, durably when this returns; one that is kept already is not written again."""
    return await index.blob(sha256) or await blobs.put(body, sha256=sha256)


async def load_body(sha256: str, index: RawIndex, blobs: Blobs) -> bytes:
    """The exact bytes of a document, checked against their hash; NotFoundError when not kept."""
    try:
        return await _read(sha256, index, blobs)
    except BlobMoved:  # re-encoded since the index was asked: its new place is known by now
        return await _read(sha256, index, blobs)


async def load_document(fetch: FetchRecord, index: RawIndex, blobs: Blobs) -> RawDocument | None:
    """The document that a fetch brought; None when it brought none, or when it is not kept any more."""
    if fetch.body_sha256 is None:
        return None
    try:
        body = await load_body(fetch.body_sha256, index, blobs)
    except NotFoundError:
        return None
    return RawDocument(body=body, url=fetch.final_url, content_type=fetch.content_type)


async def _read(sha256: str, index: RawIndex, blobs: Blobs) -> bytes:
    ref = await index.blob(sha256)
    if ref is None:
        message = f"the raw document {sha256[:12]}… is not kept any more: retention deleted it"
        raise NotFoundError(message, "[retention] raw_keep_last and raw_keep_days say what is kept")
    return await blobs.get(ref)
