"""Copies raw segments between local disk and object storage.

Whole sealed segments are copied byte for byte and keep their names. The index says segment and
offset, so it is right in both places at every moment: nothing in it has to change, a crash leaves
nothing half moved, and a move that is given up leaves the old store as it was. What is in the
target is not copied again; what is written meanwhile follows in the next round.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from feedmill.engine.maintain import raw_owner
from feedmill.engine.ports.blobs import Blobs, RawIndex
from feedmill.engine.ports.store import Store
from feedmill.errors import BlobMoved, ConflictError
from feedmill.model.base import Value
from feedmill.model.feed import BlobRef
from feedmill.model.running.storage import BlobFault, BlobProblem, Segment

_AT_ONCE: Final = 4  # each is held in memory whole
_ROUNDS: Final = 10  # while a process goes on writing; then it has to be stopped


class BlobMoveResult(Value):
    """What a move copied and found."""

    segments: int = 0  # copied now
    bytes: int = 0
    documents: int = 0  # in the index, all of them in the target
    problems: tuple[BlobProblem, ...] = ()
    dropped: int = 0  # segments of the old store


async def segments_to_move(source: Blobs, target: Blobs, store: Store) -> tuple[Segment, ...]:
    """Sealed segments that the index points into and the target lacks, oldest first."""
    missing = {ref.segment for ref in await store.blobs()}
    missing -= {segment.name for segment in await target.segments()}
    return tuple(one for one in await source.segments() if one.sealed and one.name in missing)


async def move_blobs(
    source: Blobs, target: Blobs, store: Store, *, step: Callable[[], None] = lambda: None
) -> BlobMoveResult:
    """Copy every segment and verify it there; ConflictError when a process goes on writing.

    The target becomes this store's, or is refused when it belongs to another one (D36).
    """
    for place in (source, target):
        await _require_own(place, store)
    done: dict[str, int] = {}
    problems: list[BlobProblem] = []
    at_once = asyncio.Semaphore(_AT_ONCE)

    async def copy_one(segment: Segment) -> None:
        async with at_once:
            found = await _copy_one(segment.name, source, target, store)
        if found is not None:
            problems.extend(found)
            done[segment.name] = segment.size_bytes
        step()

    for _ in range(_ROUNDS):
        waiting = await segments_to_move(source, target, store)
        if not waiting:
            break
        async with asyncio.TaskGroup() as tasks:
            for segment in waiting:
                tasks.create_task(copy_one(segment))
    refs = await store.blobs()
    problems += await _missing(refs, source, target)
    return BlobMoveResult(
        segments=len(done), bytes=sum(done.values()), documents=len(refs), problems=tuple(problems)
    )


async def delete_moved(
    source: Blobs, target: Blobs, store: Store, moved: BlobMoveResult
) -> BlobMoveResult:
    """Read and hash every document in the target, and only then delete the old segments."""
    refs = await store.blobs()
    rows = {ref.segment for ref in refs}
    problems = _harm(await target.verify(refs, only=rows))
    if problems:
        return replace(moved, documents=len(refs), problems=problems)
    old = await source.segments()
    _refuse_writers([segment for segment in old if not segment.sealed])
    lost = await raw_owner.unindexed_segments(store, source)
    if lost:
        raise ConflictError(raw_owner.describe_unindexed(lost), reason="not-indexed")
    for segment in old:
        await source.drop(segment.name)
    return replace(moved, documents=len(refs), dropped=len(old))


async def _require_own(place: Blobs, store: RawIndex) -> None:
    owner = await raw_owner.check_raw_owner(store, place)
    if not owner.is_ours:
        raise ConflictError(raw_owner.describe_owner(owner), reason="other-store")


async def _copy_one(
    name: str, source: Blobs, target: Blobs, store: Store
) -> tuple[BlobProblem, ...] | None:
    """Problems of the copy; None when the segment was re-encoded meanwhile, for the next round."""
    try:
        data = await source.read_segment(name)
    except BlobMoved:
        return None
    await target.write_segment(name, data)
    return _harm(await target.verify(await store.blobs(segment=name), only=[name]))


async def _missing(
    refs: Sequence[BlobRef], source: Blobs, target: Blobs
) -> tuple[BlobProblem, ...]:
    """Documents that the target lacks: still being written, or in neither store."""
    there = {segment.name: segment.size_bytes for segment in await target.segments()}
    here = await source.segments()
    missing = {ref.segment for ref in refs} - set(there)
    _refuse_writers([one for one in here if one.name in missing])
    cut = {one.name for one in here if there.get(one.name, one.size_bytes) != one.size_bytes}
    return (
        *_problems(missing, "missing", "in neither of the two stores"),
        *_problems(
            cut, "damaged", "of another length than in the old raw store; delete it in the new one"
        ),
    )


def _refuse_writers(left: Sequence[Segment]) -> None:
    """Segments that are open, or that keep coming: a process writes to the old store."""
    if left:
        message = (
            "a process is still writing to the old raw store; the complete segments were copied"
        )
        hint = "stop feedmill, run this command again, then start it with the new raw store"
        raise ConflictError(message, reason="in-use", hint=hint)


def _problems(names: set[str], fault: BlobFault, detail: str) -> list[BlobProblem]:
    return [BlobProblem(fault=fault, segment=name, detail=detail) for name in sorted(names)]


def _harm(problems: Sequence[BlobProblem]) -> tuple[BlobProblem, ...]:
    """Without orphans, which are harmless: a crash before a commit left them."""
    return tuple(problem for problem in problems if problem.fault != "orphan")
