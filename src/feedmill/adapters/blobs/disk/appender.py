"""Appends groups of bodies to the active segment of this process; each group is durable at once.

Blocking; one thread at a time. A group is all or nothing: when the disk refuses a part of it, the
segment is cut back to where it was, so it stays valid and the next group may succeed.
"""
# Tested in tests/integration/adapters/blobs/disk/

import os
from collections.abc import Sequence

from feedmill.adapters import files as durable_files
from feedmill.adapters.blobs.disk.folder import SegmentFolder, write_all
from feedmill.adapters.blobs.errors import blob_error
from feedmill.adapters.blobs.record import Item, RecordGroup
from feedmill.adapters.failpoints import reach
from feedmill.engine.ports.io import Clock
from feedmill.model.feed import BlobRef

_ATTEMPTS = 3  # at a name that is not taken for a dead process's


class Appender:
    """Appends bodies as they are: they are made small later, all versions of a feed together."""

    def __init__(
        self, folder: SegmentFolder, clock: Clock, *, segment_bytes: int, segment_age_sec: float
    ) -> None:
        self._folder, self._clock = folder, clock
        self._segment_bytes, self._segment_age_sec = segment_bytes, segment_age_sec
        self._active: _Active | None = None

    def append(self, items: Sequence[Item]) -> list[BlobRef]:
        """Where the items lie, durable; a body that lies here already is not repeated."""
        active = self._active = self._active or self._begin()
        group = RecordGroup(active.name, active.end, active.known)
        refs = [group.add(item) for item in items]
        self._write(active, group.data())
        active.end = group.end
        active.known |= group.added
        return refs

    def seal(self) -> str | None:
        """Close the active segment for good and say its name; the next body begins another."""
        active, self._active = self._active, None
        if active is None:
            return None
        try:
            self._folder.seal(active.name, active.file)
        except OSError as error:
            raise blob_error(error, f"segment {active.name}") from error
        finally:
            os.close(active.file)
        return active.name

    def seconds_left(self) -> float | None:
        """Until the active segment is to be sealed, 0 for one that is full; None without one."""
        if self._active is None:
            return None
        if self._active.end >= self._segment_bytes:
            return 0.0
        age = self._clock.monotonic() - self._active.begun
        return max(0.0, self._segment_age_sec - age)

    def _begin(self) -> "_Active":
        attempts = _ATTEMPTS
        while True:
            name = self._clock.new_id()
            try:
                return _Active(name, self._folder.create(name), self._clock.monotonic())
            except OSError as error:
                attempts -= 1
                if attempts == 0 or not isinstance(error, BlockingIOError | FileNotFoundError):
                    raise blob_error(error, str(self._folder.path)) from error

    def _write(self, active: "_Active", data: bytes) -> None:
        if not data:
            return
        try:
            reach("blob-write")
            write_all(active.file, data, active.end)
        except OSError as error:
            if not _cut_back(active):
                self._abandon(active)
            raise blob_error(error, f"segment {active.name}") from error
        try:
            reach("blob-written")
            durable_files.sync_data(active.file)
            reach("blob-synced")
        except OSError as error:
            # After a failed sync the kernel may call lost pages clean; no later sync of this file
            # proves anything. What was acknowledged before is safe, the rest goes elsewhere.
            _cut_back(active)
            self._abandon(active)
            raise blob_error(error, f"segment {active.name}") from error

    def _abandon(self, active: "_Active") -> None:
        self._active = None
        os.close(active.file)


class _Active:
    def __init__(self, name: str, file: int, begun: float) -> None:
        self.name, self.file, self.begun = name, file, begun
        self.end = 0  # of what is durable
        self.known: dict[str, BlobRef] = {}


def _cut_back(active: _Active) -> bool:
    try:
        os.ftruncate(active.file, active.end)
    except OSError:
        return False
    return True
