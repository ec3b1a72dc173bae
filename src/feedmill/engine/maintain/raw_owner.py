"""Whose raw store this is: the segments carry the id of the store that indexes them (D36).

A raw store that carries another id, or whose segments this index does not know, is left alone: nothing in
it is packed or swept. What is wrong is reported, and mended by `store migrate`, `restore` or `blobs adopt`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from feedmill.engine.ports.blobs import Blobs, RawIndex
from feedmill.errors import BlobMoved
from feedmill.model.running.storage import RawOwner, Segment

_LOOKED_INTO: Final = 50  # segments without a pointer, when a raw store has no owner yet
_ANY_TIME: Final = datetime.max.replace(tzinfo=UTC)
_NAMED: Final = 5  # segments in one sentence


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


def describe_unindexed(segments: Sequence[Segment]) -> str:
    """One sentence about segments that the index does not know."""
    names = ", ".join(one.name for one in segments[:_NAMED])
    more = f" and {len(segments) - _NAMED} more" if len(segments) > _NAMED else ""
    size = sum(one.size_bytes for one in segments) / 1e6
    plural = "segment holds" if len(segments) == 1 else "segments hold"
    return (
        f"{len(segments)} {plural} documents that no index knows ({size:,.1f} MB: {names}{more}): "
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
