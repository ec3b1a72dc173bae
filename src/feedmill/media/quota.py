"""What goes when there is no room: the files whose newest entry is the oldest."""

from collections.abc import Sequence
from datetime import datetime

from feedmill.model.derived.media import MediaFile


def files_that_go(
    oldest_first: Sequence[MediaFile], missing_bytes: int, *, before: datetime
) -> tuple[MediaFile, ...] | None:
    """The files to delete for `missing_bytes`; None when only newer ones than `before` are left.

    A file never takes the place of one that belongs to a newer entry.
    """
    going, freed = list[MediaFile](), 0
    for file in oldest_first:
        if freed >= missing_bytes:
            break
        if file.newest_at is not None and file.newest_at >= before:
            return None
        going.append(file)
        freed += file.size_bytes
    return tuple(going) if freed >= missing_bytes else None
