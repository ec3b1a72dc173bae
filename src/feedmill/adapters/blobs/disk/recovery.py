"""Crash recovery: segments of dead writers are cut behind their last intact record, and sealed."""

import os

from feedmill.adapters.blobs.disk.folder import SegmentFolder
from feedmill.adapters.blobs.errors import blob_error
from feedmill.adapters.blobs.record import IntactRecord, iterate_records
from feedmill.errors import BlobError
from feedmill.model.base import Value


class Recovered(Value):
    """The result of recovering a segment that was not closed."""

    segment: str
    records: int = 0
    cut_bytes: int = 0
    problem: str | None = None  # why it could not be sealed now; it stays as it is, and readable


def recover(folder: SegmentFolder) -> tuple[Recovered, ...]:
    """Seal what dead processes left open; errors are reported, never raised: no crash loop."""
    left = [segment.name for segment in folder.segments() if not segment.sealed]
    found = [_recover_one(folder, name) for name in left]
    return tuple(one for one in found if one is not None)


def _recover_one(folder: SegmentFolder, name: str) -> Recovered | None:
    try:
        with folder.abandoned(name) as file:
            return None if file is None else _cut_and_seal(folder, name, file)
    except OSError as error:
        return Recovered(segment=name, problem=str(blob_error(error, f"segment {name}")))
    except BlobError as error:
        return Recovered(segment=name, problem=str(error))


def _cut_and_seal(folder: SegmentFolder, name: str, file: int) -> Recovered:
    size = os.fstat(file).st_size
    records = end = 0
    for step in iterate_records(lambda offset, length: os.pread(file, length, offset), size, name):
        # Only what follows the last intact record is a torn tail. Damage before it may be a
        # failing disk; cutting there would throw away what was acknowledged after it.
        if isinstance(step, IntactRecord):
            records, end = records + 1, step.offset + step.header.length
    if records == 0:
        folder.discard(name)
    else:
        os.ftruncate(file, end)
        folder.seal(name, file)
    return Recovered(segment=name, records=records, cut_bytes=size - end)
