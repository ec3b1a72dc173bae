"""Ranges of one object: what is asked next mostly lies close to what was asked last.

A single body costs exactly its own range. A chain of versions is walked backwards and costs one
request more, because its links lie next to each other; a walk through a whole segment goes forward
in large steps. In no case is more held than one step.
"""

from typing import Final

from feedmill.adapters.blobs.record import ReadAt

BEHIND_BYTES: Final = 1024 * 1024
AHEAD_BYTES: Final = 4 * 1024 * 1024


class RangeCache:
    """A piece of an object in memory, moved by what is asked."""

    def __init__(self, fetch: ReadAt) -> None:
        self._fetch = fetch
        self._start = 0
        self._data: bytes | None = None
        self._is_at_end = False  # nothing lies behind what is held

    def read(self, offset: int, length: int) -> bytes:
        """These bytes; fewer at the end of the object."""
        data = self._held(offset, length)
        if data is None:
            data = self._load(offset, length)
        at = offset - self._start
        return data[at : at + length]

    def _held(self, offset: int, length: int) -> bytes | None:
        if self._data is None or offset < self._start:
            return None
        reaches = offset + length <= self._start + len(self._data)
        return self._data if reaches or self._is_at_end else None

    def _load(self, offset: int, length: int) -> bytes:
        start, end = offset, offset + max(length, 1)
        if self._data is not None:
            if offset < self._start:
                start = max(0, end - max(BEHIND_BYTES, length))
            else:
                end = max(end, offset + AHEAD_BYTES)
        data = self._data = self._fetch(start, end - start)
        self._start, self._is_at_end = start, len(data) < end - start
        return data
