"""The folder of segments: names, locks, and directory entries that survive a power cut.

    <name>.open       a process appends to it, and holds an exclusive flock as long as it lives
    <name>.seg        sealed: complete, never written again
    <name>.condemned  the instant since which nothing points into the sealed segment
    <name>.part       half of a segment that is copied here; the copy begins anew
    store-id          the store that indexes these segments

A name is a fresh id, so two processes never write one file; `-packed` marks what was re-encoded.
"""
# Tested in tests/integration/adapters/blobs/disk/

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from stat import S_ISREG
from typing import Final

from feedmill.adapters import files as durable_files
from feedmill.adapters.blobs.errors import blob_error, moved_error
from feedmill.adapters.blobs.record import (
    PACKED_SUFFIX,
    SEALED_SUFFIX,
    ReadAt,
    Write,
    check_segment_name,
    decode_owner,
    is_segment_name,
)
from feedmill.adapters.failpoints import reach
from feedmill.adapters.files import PRIVATE_FILE, make_folder, sync_folder
from feedmill.model.running.worker import Segment

OPEN_SUFFIX: Final = ".open"
MARKED_SUFFIX: Final = ".condemned"
PART_SUFFIX: Final = ".part"
OWNER_NAME: Final = "store-id"


class SegmentFolder:
    """Where the segments of one raw store lie; every method touches the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self) -> None:
        """Create the folder, so that it outlives a power cut."""
        make_folder(self.path)

    def create(self, name: str) -> int:
        """A new open segment, locked; the descriptor is the lock."""
        path = self._file(name, OPEN_SUFFIX)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            # Between creating and locking, another process may take the file for a dead one's and
            # remove it; then our lock or this look fails, and nothing was written yet.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.stat()
            reach("segment-created")
            sync_folder(self.path)
        except BaseException:
            os.close(file)
            raise
        return file

    def seal(self, name: str, file: int) -> None:
        """Make a complete segment immutable; closing the descriptor gives up the lock."""
        durable_files.sync_data(file)
        reach("segment-seal")
        self._file(name, OPEN_SUFFIX).rename(self._file(name, SEALED_SUFFIX))
        reach("segment-sealed")
        sync_folder(self.path)

    def discard(self, name: str) -> None:
        """Remove an open segment, locked by us, of which nothing is wanted."""
        self._file(name, OPEN_SUFFIX).unlink(missing_ok=True)

    @contextmanager
    def writing(self, name: str) -> Iterator[Write]:
        """A new segment: sealed at the end; removed when nothing was written, or when it failed."""
        end = 0

        def write(data: bytes) -> None:
            nonlocal end
            write_all(file, data, end)
            end += len(data)

        try:
            file = self.create(name)
            try:
                yield write
                if end:
                    self.seal(name, file)
                else:
                    self.discard(name)
            except BaseException:
                with suppress(OSError):
                    self.discard(name)
                raise
            finally:
                os.close(file)
        except OSError as error:
            raise blob_error(error, f"segment {name}") from error

    def adopt(self, name: str, data: bytes) -> None:
        """Keep a whole sealed segment from elsewhere; it has its name only when it is durable."""
        if self._file(name, SEALED_SUFFIX).exists():
            return
        part = self._file(name, PART_SUFFIX)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            write_all(file, data, 0)
            reach("blob-written")
            durable_files.sync_data(file)
        finally:
            os.close(file)
        part.rename(self._file(name, SEALED_SUFFIX))
        sync_folder(self.path)

    def size(self, name: str) -> int:
        """Of a segment, in bytes; BlobMoved when it is gone."""
        file = self._open(name)
        try:
            return os.fstat(file).st_size
        finally:
            os.close(file)

    @contextmanager
    def reading(self, name: str) -> Iterator[ReadAt]:
        """Bytes by range; BlobMoved when the segment is gone."""
        file = self._open(name)

        def read_at(offset: int, length: int) -> bytes:
            try:
                return os.pread(file, length, offset)
            except OSError as error:
                raise blob_error(error, f"segment {name}") from error

        try:
            yield read_at
        finally:
            os.close(file)

    @contextmanager
    def abandoned(self, name: str) -> Iterator[int | None]:
        """The open segment of a dead process, locked; None while its writer lives."""
        path = self._file(name, OPEN_SUFFIX)
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:  # another process has sealed it
            yield None
            return
        try:
            yield file if _locked(file) and path.exists() else None
        finally:
            os.close(file)

    def segments(self) -> list[Segment]:
        """All segments, oldest first."""
        found = (
            self._segment(path)
            for path in self._files()
            if path.suffix in (OPEN_SUFFIX, SEALED_SUFFIX)
        )
        return sorted((one for one in found if one is not None), key=lambda one: one.name)

    def unknown_files(self) -> list[str]:
        """Names of things in the folder that feedmill did not put there."""
        return sorted(path.name for path in self._files() if not self._is_ours(path))

    def is_sealed(self, name: str) -> bool:
        """True for a complete segment; BlobMoved when it is gone."""
        if self._file(name, SEALED_SUFFIX).exists():
            return True
        if self._file(name, OPEN_SUFFIX).exists():
            return False
        raise moved_error(name)

    def marked_at(self, name: str) -> datetime | None:
        """Since when nothing points into the segment, if it was noted."""
        try:
            return datetime.fromisoformat(self._file(name, MARKED_SUFFIX).read_text("ascii"))
        except (FileNotFoundError, ValueError):  # half a note is no note
            return None

    def mark_for_deletion(self, name: str, now: datetime) -> None:
        """Note that nothing points into the segment."""
        self._file(name, MARKED_SUFFIX).write_text(now.isoformat(), "ascii")
        if not self._file(name, SEALED_SUFFIX).exists():  # dropped meanwhile by another process
            self.unmark(name)

    def unmark(self, name: str) -> None:
        """Something points into the segment after all."""
        self._file(name, MARKED_SUFFIX).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Delete a sealed segment; one that is gone already is fine."""
        self._file(name, SEALED_SUFFIX).unlink(missing_ok=True)
        self._file(name, MARKED_SUFFIX).unlink(missing_ok=True)
        sync_folder(self.path)

    def owner(self) -> str | None:
        """The store that indexes these segments; None when it was never written."""
        try:
            return decode_owner((self.path / OWNER_NAME).read_bytes())
        except FileNotFoundError:
            return None

    def set_owner(self, store_id: str, *, instead_of: str | None) -> str:
        """Write the owner; the one that is there afterwards."""
        if self.owner() != instead_of:
            return self.owner() or ""
        # Processes of one store may claim a new folder at the same time.
        part = self.path / f"{OWNER_NAME}-{store_id}-{os.getpid()}{PART_SUFFIX}"
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            write_all(file, f"{store_id}\n".encode(), 0)
            durable_files.sync_data(file)
        finally:
            os.close(file)
        part.rename(self.path / OWNER_NAME)
        sync_folder(self.path)
        return self.owner() or ""

    def _open(self, name: str) -> int:
        for suffix in (
            SEALED_SUFFIX,
            OPEN_SUFFIX,
            SEALED_SUFFIX,
        ):  # it may be sealed between the first two looks
            try:
                return os.open(self._file(name, suffix), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise blob_error(error, f"segment {name}") from error
        raise moved_error(name)

    def _file(self, name: str, suffix: str) -> Path:
        return self.path / f"{check_segment_name(name)}{suffix}"

    def _files(self) -> list[Path]:
        try:
            return list(self.path.iterdir())
        except OSError as error:
            raise blob_error(error, str(self.path)) from error

    def _is_ours(self, path: Path) -> bool:
        if path.name == OWNER_NAME:
            return True
        known = path.suffix in (
            OPEN_SUFFIX,
            SEALED_SUFFIX,
            MARKED_SUFFIX,
            PART_SUFFIX,
        ) and is_segment_name(path.stem)
        return known and path.is_file()

    def _segment(self, path: Path) -> Segment | None:
        try:
            status = path.stat()
        except FileNotFoundError:  # sealed or dropped since the folder was listed
            return None
        if not (S_ISREG(status.st_mode) and self._is_ours(path)):
            return None
        return Segment(
            name=path.stem,
            size_bytes=status.st_size,
            sealed=path.suffix == SEALED_SUFFIX,
            packed=path.stem.endswith(PACKED_SUFFIX),
            condemned_at=self.marked_at(path.stem),
        )


def write_all(file: int, data: bytes, offset: int) -> None:
    """Every byte at its place, however many calls the system wants."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
