"""Rebuilds the index of a raw store from its segments, and makes this store its owner (D36).

For a home folder whose database was lost or replaced, and for a backup that is older than the segments. Each
segment is one transaction and the owner is written last: after a crash, the same command does the rest.
"""
# Tested in tests/integration/engine/maintain/test_raw_owner.py

from collections.abc import Callable

from feedmill.engine.ports.blobs import Blobs, RawIndex
from feedmill.engine.ports.clock import Clock
from feedmill.errors import BlobError, BlobMoved
from feedmill.model.base import Value
from feedmill.model.feed import BlobRef
from feedmill.model.running.storage import Segment


class AdoptResult(Value):
    """What an adoption found and indexed."""

    segments: int = 0  # that were read
    documents: int = 0  # in them, intact
    indexed: int = 0  # of them, new in the index
    moved: int = 0  # the index pointed into a segment that is not there
    owner_before: str | None = None  # the store that the raw store named before
    problems: tuple[str, ...] = ()


async def segments_to_adopt(blobs: Blobs) -> tuple[Segment, ...]:
    """Sealed segments; packed ones first, because the same body is smaller there."""
    sealed = [one for one in await blobs.segments() if one.sealed]
    return tuple(sorted(sealed, key=lambda one: (not one.packed, one.name)))


async def adopt_blobs(
    store: RawIndex, blobs: Blobs, clock: Clock, *, step: Callable[[], None] = lambda: None
) -> AdoptResult:
    """Index every intact body of every sealed segment, then write this store's id beside them."""
    own, before = (await store.store_identity()).id, await blobs.owner()
    segments = await segments_to_adopt(blobs)
    names = frozenset(one.name for one in segments)
    problems: list[str] = []
    documents = indexed = moved = 0
    for segment in segments:
        try:
            refs = await blobs.contents(segment.name, checked=True)
        except BlobMoved:  # swept by the process that still works on it
            refs = ()
        except BlobError as problem:
            problems.append(f"segment {segment.name}: {problem}")
            refs = ()
        documents += len(refs)
        moved += await _point_here(refs, names, store)
        indexed += await store.adopt_blobs(refs, now=clock.now())
        step()
    if before != own:
        await blobs.set_owner(own, instead_of=before)
    await store.confirm_raw_place(blobs.place)
    return AdoptResult(
        segments=len(segments),
        documents=documents,
        indexed=indexed,
        moved=moved,
        owner_before=None if before == own else before,
        problems=tuple(problems),
    )


async def _point_here(refs: tuple[BlobRef, ...], names: frozenset[str], store: RawIndex) -> int:
    """Correct index rows of these bodies that point into a segment that is gone."""
    known = await store.known_blobs([ref.sha256 for ref in refs])
    wrong = [ref for ref in refs if known.get(ref.sha256, ref.segment) not in names]
    if wrong:
        await store.move_blobs(wrong)
    return len(wrong)
