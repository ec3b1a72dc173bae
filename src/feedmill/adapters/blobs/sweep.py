"""Sweeps a segment: keep, re-encode or delete it, given what the index still points to.

A process may have read a pointer just before the index forgot it, and commit it just after. So a
segment without pointers is condemned first, and goes when it is still without them after the
grace period, which is much longer than any refresh.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from feedmill.adapters.blobs.record import IntactRecord, iterate_records
from feedmill.adapters.blobs.segment_source import PACKED_SUFFIX, SegmentStorage
from feedmill.errors import BlobMoved
from feedmill.model.feed import BlobRef
from feedmill.model.raw_segment import Fate

MIN_LIVE: Final = 0.5


def sweep(
    storage: SegmentStorage, name: str, live: Sequence[BlobRef], *, now: datetime, grace: timedelta
) -> Fate:
    """Condemn, drop or absolve a segment, and say which; `rewrite` asks the caller to re-encode."""
    try:
        return _fate(storage, name, live, now=now, grace=grace)
    except BlobMoved:  # another process sweeps the same place
        return "dropped"


def _fate(
    storage: SegmentStorage, name: str, live: Sequence[BlobRef], *, now: datetime, grace: timedelta
) -> Fate:
    if not storage.is_sealed(name):
        return "open"
    since = storage.marked_at(name)
    if live:
        if since is not None:
            storage.unmark(name)
        return "kept" if name.endswith(PACKED_SUFFIX) and _dense(storage, name, live) else "rewrite"
    if since is None:
        storage.mark_for_deletion(name, now)
        since = now
    if now - since < grace:
        return "condemned"
    storage.remove(name)
    return "dropped"


def _dense(storage: SegmentStorage, name: str, live: Sequence[BlobRef]) -> bool:
    """True when the live bodies are at least half of it, stored or decoded.

    Decoded lengths decide: of a chain, the oldest body goes first and is most of the stored bytes,
    while the others still need it. Rewriting at that moment would be rewriting for ever.
    """
    size = storage.size(name)
    if sum(ref.length for ref in live) >= MIN_LIVE * size:
        return True
    with storage.reading(name) as read_at:
        steps = iterate_records(read_at, size, name, payloads=False)
        total = sum(step.header.raw_length for step in steps if isinstance(step, IntactRecord))
    return sum(ref.raw_length for ref in live) >= MIN_LIVE * total
