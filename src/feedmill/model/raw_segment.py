"""Raw store segments: their state, what a sweep does with them, and faults of stored bodies."""

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value

Fate = Literal[
    "open",  # a process still appends to it
    "kept",
    "rewrite",  # worth re-encoding: never packed yet, or mostly bodies that were forgotten
    "condemned",  # nothing points into it; it goes when that still holds after the grace period
    "dropped",
]

BlobFault = Literal[
    "missing",  # the index points into a segment that is not there
    "damaged",  # bytes that are not what was written, or not what the index says
    "unreadable",  # the disk refuses to give them
    "orphan",  # intact, but the index does not know it: a crash before the commit, or forgotten
    "foreign",  # something in the raw store that is not ours
]


class Segment(Value):
    """One run of bodies; immutable once it is sealed."""

    name: str
    size_bytes: int
    sealed: bool
    packed: bool  # re-encoded with prefixes, self-contained
    condemned_at: datetime | None = None


class BlobProblem(Value):
    """One thing that does not hold between the index and the bytes."""

    fault: BlobFault
    segment: str
    detail: str  # for a person
    offset: int | None = None
    sha256: str | None = None
