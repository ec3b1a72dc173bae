"""Keeps raw documents before they are parsed, and loads them again by their hash."""

from typing import Final

import msgspec
from msgspec.structs import replace

from feedmill.engine.ports.io import Blobs, RawIndex
from feedmill.errors import BlobMoved, NotFoundError
from feedmill.model.base import filled
from feedmill.model.candidate import CollectedDocument
from feedmill.model.feed import BlobRef, Feed, FetchNote, FetchRecord
from feedmill.model.fetch import RawDocument
from feedmill.model.refresh import StoredDocument

_MAX_NOTE_BYTES: Final = 65_535  # of one record
_decoder: Final = msgspec.json.Decoder(FetchNote)

# Outcomes of documents of a feed that are not its current one: a note of each is kept beside that of a poll.
BACKFILL: Final = "backfill"  # a page of its archive
PUSHED: Final = "pushed"  # a ping of its hub
FULL_TEXT: Final = "full-text"  # the web page of an entry
# A document of a collected window: what was not inserted is no entry.
COLLECTED: Final = "collected"
_BESIDE: Final = frozenset({BACKFILL, PUSHED, FULL_TEXT})


async def keep_document(
    body: bytes,
    fetch: FetchRecord,
    feed: Feed,
    index: RawIndex,
    blobs: Blobs,
    stored: StoredDocument | None = None,
) -> BlobRef:
    """Keep the body of a fetch with a note of it, so that `feedmill restore` knows whose it is.

    `stored` is what the index says about the body, for a caller that asked it.
    """
    digest = fetch.body_sha256 or ""
    known = stored.blob if stored is not None else await index.blob(digest)
    note = FetchNote(feed_key=feed.feed_key, tags=feed.tags, fetch=fetch)
    return await _keep_noted(body, digest, known, index, blobs, note)


async def keep_collected(
    body: bytes, document: CollectedDocument, index: RawIndex, blobs: Blobs
) -> BlobRef:
    """Keep the body of a collected window, once, with a note that no feed of this store asked for it."""
    known = await index.blob(document.body_sha256)
    if known is not None:
        return known
    at = document.fetched_at
    fetch = filled(FetchRecord, document, feed_id="", scheduled_at=at, outcome=COLLECTED)
    note = encode_note(FetchNote(feed_key="", fetch=fetch), await index.store_id())
    return await blobs.put(body, sha256=document.body_sha256, note=note)


async def _keep_noted(
    body: bytes,
    sha256: str,
    known: BlobRef | None,
    index: RawIndex,
    blobs: Blobs,
    note: FetchNote,
) -> BlobRef:
    """The body with the note beside it: when another feed brought it first, as a record of its own, once."""
    beside = f" {note.fetch.outcome}" if note.fetch.outcome in _BESIDE else ""
    whose = f"{note.fetch.feed_id}{beside}"
    if known is None:
        known = await blobs.put(body, sha256=sha256, note=encode_note(note, await index.store_id()))
    elif not blobs.is_noted(whose, sha256):
        await blobs.annotate(sha256, encode_note(note, await index.store_id()))
    blobs.remember_note(whose, sha256)
    return known


def encode_note(note: FetchNote, store_id: str) -> bytes:
    """The note as bytes; one that is too long for a record loses its headers."""
    data = msgspec.json.encode(replace(note, store_id=store_id))
    if len(data) <= _MAX_NOTE_BYTES:
        return data
    fetch = replace(note.fetch, request_headers=(), response_headers=(), hops=(), detail="")
    data = msgspec.json.encode(replace(note, store_id=store_id, fetch=fetch))
    return data if len(data) <= _MAX_NOTE_BYTES else b""


def decode_note(data: bytes) -> FetchNote | None:
    """The note again; None when a later version wrote it in another form."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError:
        return None


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
