"""Verifies that the index and the stored bytes agree, both ways."""
# Tested in tests/contracts/blobs/

from collections.abc import Collection, Iterator, Sequence

from feedmill.adapters.blobs.read import BodyReader, open_reader
from feedmill.adapters.blobs.record import DamagedRange, IntactRecord, iterate_records
from feedmill.adapters.blobs.segment_source import SegmentStorage
from feedmill.errors import BlobError, BlobMoved
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import BlobFault, BlobProblem

_FAULTS: dict[str, BlobFault] = {"moved": "missing", "damaged": "damaged"}


def verify_segments(
    storage: SegmentStorage, refs: Sequence[BlobRef], only: Collection[str] | None = None
) -> tuple[BlobProblem, ...]:
    """Every index row read and hashed, every record of every sealed segment accounted for.

    With `only`, of these segments; `refs` are the rows that point into them.
    Segments that are still written are checked through the index only: their last records may be
    on their way into it. A row that is `missing` may have moved since it was listed.
    """
    by_segment: dict[str, list[BlobRef]] = {}
    for ref in refs:
        by_segment.setdefault(ref.segment, []).append(ref)
    problems: list[BlobProblem] = []
    for rows in by_segment.values():
        problems += _rows(storage, sorted(rows, key=lambda ref: ref.offset))
    indexed = {ref.sha256 for ref in refs}
    known = {(problem.segment, problem.offset) for problem in problems}
    listed = [one.name for one in storage.segments() if one.sealed] if only is None else only
    for name in listed:
        found = _records(storage, name, indexed)
        problems += [one for one in found if (one.segment, one.offset) not in known]
    for name in storage.unknown_files() if only is None else ():
        detail = "feedmill did not put this here"
        problems.append(BlobProblem(fault="foreign", segment=name, detail=detail))
    return tuple(problems)


def _rows(storage: SegmentStorage, refs: Sequence[BlobRef]) -> Iterator[BlobProblem]:
    with open_reader(storage) as source:
        for ref in refs:
            problem = _row(source, ref)
            if problem is not None:
                yield problem


def _row(source: BodyReader, ref: BlobRef) -> BlobProblem | None:
    try:
        source.body(ref)
    except BlobError as error:
        return BlobProblem(
            fault=_FAULTS.get(error.reason, "unreadable"),
            segment=ref.segment,
            detail=str(error),
            offset=ref.offset,
            sha256=ref.sha256,
        )
    return None


def _records(storage: SegmentStorage, name: str, indexed: set[str]) -> list[BlobProblem]:
    """Damage and orphans of one segment; a body on which another leans is no orphan."""
    try:
        with storage.reading(name) as read_at:
            steps = list(iterate_records(read_at, storage.size(name), name))
    except BlobMoved:  # dropped since they were listed
        return []
    except BlobError as error:
        return [BlobProblem(fault="unreadable", segment=name, detail=str(error))]
    needed = {step.header.prefix_sha256 for step in steps if isinstance(step, IntactRecord)}
    return [
        _unaccounted(name, step)
        for step in steps
        if isinstance(step, DamagedRange)
        or not (
            step.header.coding == "note"
            or step.header.sha256 in indexed
            or step.header.sha256 in needed
        )
    ]


def _unaccounted(name: str, step: IntactRecord | DamagedRange) -> BlobProblem:
    if isinstance(step, DamagedRange):
        detail = f"{step.length} bytes that are no record"
        return BlobProblem(fault="damaged", segment=name, detail=detail, offset=step.offset)
    return BlobProblem(
        fault="orphan",
        segment=name,
        detail="the index does not know this body",
        offset=step.offset,
        sha256=step.header.sha256,
    )
