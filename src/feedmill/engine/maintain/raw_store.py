"""The raw store as a whole: copied from disk to object storage or back, and whose it is.

Whole sealed segments are copied byte for byte and keep their names. The index says segment and
offset, so it is right in both places at every moment: nothing in it has to change, a crash leaves
nothing half moved, and a move that is given up leaves the old store as it was. What is in the
target is not copied again; what is written meanwhile follows in the next round.

Whose raw store this is: the segments carry the id of the store that indexes them (D36).

A raw store that carries another id, or whose segments this index does not know, is left alone: nothing in
it is packed or swept. What is wrong is reported, and mended by `store migrate`, `restore` or `blobs adopt`.

`blobs adopt` rebuilds the index from the segments: for a home folder whose database was lost or replaced, and for a
backup that is older than the segments. Each segment is one transaction and the owner is written last: after a crash,
the same command does the rest.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.ports.io import Blobs, Clock, RawIndex
from feedmill.engine.ports.store import Store
from feedmill.errors import BlobError, BlobMoved, ConflictError
from feedmill.model.base import Value
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import BlobFault, BlobProblem, RawOwner, Segment

_AT_ONCE: Final = 4  # each is held in memory whole
_ROUNDS: Final = 10  # while a process goes on writing; then it has to be stopped
_LOOKED_INTO: Final = 50  # segments without a pointer, when a raw store has no owner yet
_ANY_TIME: Final = datetime.max.replace(tzinfo=UTC)
_NAMED: Final = 5  # segments in one sentence


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
    lost = await unindexed_segments(store, source)
    if lost:
        raise ConflictError(describe_unindexed(lost), reason="not-indexed")
    for segment in old:
        await source.drop(segment.name)
    return replace(moved, documents=len(refs), dropped=len(old))


async def _require_own(place: Blobs, store: RawIndex) -> None:
    owner = await check_raw_owner(store, place)
    if not owner.is_ours:
        raise ConflictError(describe_owner(owner), reason="other-store")


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


async def check_raw_owner(store: RawIndex, blobs: Blobs) -> RawOwner:
    """Whether this store indexes the raw store.

    An empty raw store is claimed. One of an earlier version names no owner: it is claimed when the index
    knows most of its segments.
    """
    own = (await store.store_identity()).id
    owner = await blobs.owner()
    if owner is None:
        segments = await blobs.segments()
        indexed = await _count_indexed(segments, store, blobs)
        if 2 * indexed >= len(segments):
            owner = await blobs.set_owner(own)
        else:  # another process of this store may have claimed it and written since
            owner = await blobs.owner()
    if owner == own:
        return RawOwner(is_ours=True, place=blobs.place, store_id=own, owner=own)
    segments = await blobs.segments()
    return RawOwner(
        is_ours=False,
        place=blobs.place,
        store_id=own,
        owner=owner,
        segments=len(segments),
        indexed=len({one.name for one in segments} & await store.segments_in_use()),
    )


async def unindexed_segments(
    store: RawIndex, blobs: Blobs, *, before: datetime = _ANY_TIME
) -> tuple[Segment, ...]:
    """Sealed segments made before that hold bodies which this index never knew."""
    in_use, released = await store.segments_in_use(), await store.released_segments()
    segments = await blobs.segments()
    there = frozenset(one.name for one in segments)
    return tuple(
        [
            one
            for one in segments
            if one.sealed
            and one.name not in in_use
            and one.name not in released
            and (one.created_at is None or one.created_at < before)
            and not await holds_only_known(one.name, there, store, blobs)
        ]
    )


async def missing_segments(store: RawIndex, blobs: Blobs) -> tuple[str, ...]:
    """Segments that the index points into and that are not there."""
    in_use = await store.segments_in_use()
    gone = in_use - {one.name for one in await blobs.segments()}
    # One that was packed or purged meanwhile is not used any more.
    return tuple(sorted(gone & await store.segments_in_use())) if gone else ()


async def holds_only_known(
    segment: str, there: frozenset[str], store: RawIndex, blobs: Blobs
) -> bool:
    """True when the index finds every body of the segment in another one that is there.

    An older backup of the index may point at a body where it lay before it was packed into this segment.
    """
    try:
        hashes = frozenset(ref.sha256 for ref in await blobs.contents(segment))
    except BlobMoved:  # dropped by another process
        return True
    known = await store.known_blobs(sorted(hashes))
    return hashes <= known.keys() and there.issuperset(known.values())


def grace_ends(now: datetime, grace_sec: float) -> datetime:
    """Segments made before may be judged; a younger one may be on its way into the index."""
    return now - timedelta(seconds=grace_sec)


def describe_owner(found: RawOwner) -> str:
    """What is wrong with a raw store that is not ours, and how to mend it."""
    if found.owner is None:
        whose = f"holds {found.segments} segments of which this store indexes {found.indexed}"
    else:
        whose = f"is indexed by another store (id {found.owner[:8]}…, this one is {found.store_id[:8]}…)"
    return f"the raw store {found.place} {whose}: nothing in it is packed or deleted. {OWNER_HINT}"


def describe_missing(segments: Sequence[str], place: str) -> str:
    """One sentence about segments that are not there."""
    plural = "segment" if len(segments) == 1 else "segments"
    names = _named(segments)
    return (
        f"{len(segments)} {plural} of the raw store {place} cannot be found ({names}): `feedmill verify` names their documents;"
        " put them back from a backup, or run `feedmill blobs adopt` where they were packed into other segments"
    )


def _named(segments: Sequence[str]) -> str:
    more = f" and {len(segments) - _NAMED} more" if len(segments) > _NAMED else ""
    return f"{', '.join(segments[:_NAMED])}{more}"


def describe_unindexed(segments: Sequence[Segment]) -> str:
    """One sentence about segments that the index does not know."""
    names = _named([one.name for one in segments])
    size = sum(one.size_bytes for one in segments) / 1e6
    plural = "segment holds" if len(segments) == 1 else "segments hold"
    return (
        f"{len(segments)} {plural} documents that no index knows ({size:,.1f} MB: {names}): "
        "`feedmill blobs adopt` indexes them"
    )


OWNER_HINT: Final = (
    "To move the old store: `feedmill store migrate`. Where it is lost, to read feeds and entries from these documents"
    " into an empty store: `feedmill restore`. To index these documents in this store: `feedmill blobs adopt`. To leave them to the other store: choose another --home or [blobs] url"
)


async def _count_indexed(segments: Sequence[Segment], store: RawIndex, blobs: Blobs) -> int:
    """Segments that the index knows: it points into them, or knows their bodies elsewhere."""
    in_use = await store.segments_in_use() if segments else frozenset()
    released = await store.released_segments() if segments else frozenset()
    known = [one for one in segments if one.name in in_use or one.name in released]
    others = [one for one in segments if one.name not in in_use and one.name not in released]
    looked_into = others[-_LOOKED_INTO:]
    there = frozenset(one.name for one in segments)
    packed_elsewhere = [
        one for one in looked_into if await holds_only_known(one.name, there, store, blobs)
    ]
    # What was not looked into is like what was.
    share = len(packed_elsewhere) / len(looked_into) if looked_into else 0.0
    return len(known) + round(share * len(others))


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
