"""Protocols of segment storage, implemented by a folder and by a bucket.

Everything that is done with sealed segments (reading, re-encoding, sweeping, verifying) is written
once, against this. All of it blocks; a storage is used on threads of its own.
"""
# Tested in tests/contracts/blobs/

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final, Protocol

from feedmill.adapters.blobs.errors import not_a_segment_error
from feedmill.adapters.blobs.record import ReadAt
from feedmill.model.running.worker import Segment

Write = Callable[[bytes], None]

SEALED_SUFFIX: Final = ".seg"
PACKED_SUFFIX: Final = "-packed"  # the end of a name: what was re-encoded
_NAME: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,99}")


class SegmentSource(Protocol):
    """Whatever gives the bytes of segments."""

    def reading(self, name: str) -> AbstractContextManager[ReadAt]:
        """Bytes by range; BlobMoved, at the latest with the first of them, when it is gone."""


class SegmentStorage(SegmentSource, Protocol):
    """Where the segments of one raw store lie."""

    def size(self, name: str) -> int:
        """Of a segment, in bytes; BlobMoved when it is gone."""

    def writing(self, name: str) -> AbstractContextManager[Write]:
        """A new segment, there and sealed at the end; nothing of it when that went wrong."""

    def adopt(self, name: str, data: bytes) -> None:
        """Keep a whole sealed segment of another storage under its name; one that is there is fine."""

    def segments(self) -> list[Segment]:
        """All segments, oldest first."""

    def unknown_files(self) -> list[str]:
        """Names of things that feedmill did not put there."""

    def is_sealed(self, name: str) -> bool:
        """True for a complete segment; BlobMoved when it is gone."""

    def marked_at(self, name: str) -> datetime | None:
        """Since when nothing points into the segment, if it was noted."""

    def mark_for_deletion(self, name: str, now: datetime) -> None:
        """Note that nothing points into the segment."""

    def unmark(self, name: str) -> None:
        """Something points into the segment after all."""

    def remove(self, name: str) -> None:
        """Delete a sealed segment; one that is gone already is fine."""

    def owner(self) -> str | None:
        """The store that indexes these segments; None when it was never written."""

    def set_owner(self, store_id: str, *, instead_of: str | None) -> str:
        """Write the owner, unless it is not `instead_of`; the one that is there afterwards."""


def decode_owner(data: bytes) -> str | None:
    """The id in the file of the owner; None when it is empty. Damaged octets make it that of another store."""
    text = data.decode("ascii", "replace").strip()
    return "".join(one if one.isprintable() else "\ufffd" for one in text) or None


def is_segment_name(name: str) -> bool:
    """True for what can be the name of a segment; it never leads anywhere else."""
    return _NAME.fullmatch(name) is not None


def check_segment_name(name: str) -> str:
    """The name, when it is one."""
    if not is_segment_name(name):
        raise not_a_segment_error(name)
    return name
