"""Files of entries on local disk, by content, with a tree of readable links.

    files/ab/<sha256>             a file, kept once however many entries have it
    partial/<id>.part             a download under way, locked by its process
    partial/<id>.json             validators and length of it, for the request that goes on
    shows/<show>/<date title>     a relative symbolic link to a file; a hard link where there are none

A file is written to its partial, synced, and renamed into its place: it is there whole or not at all.
"""
# Tested in tests/contracts/blobs/test_media_files.py

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

from feedmill.adapters.blobs.errors import blob_error
from feedmill.adapters.failpoints import reach
from feedmill.adapters.files import PRIVATE_FILE, PRIVATE_FOLDER, make_folder, sync_folder
from feedmill.engine.ports.media import PartialFile
from feedmill.errors import NotKeptError
from feedmill.model.derived.fetched import PartialState

P = ParamSpec("P")
T = TypeVar("T")

_PIECE: Final = 1024 * 1024
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def in_thread(work: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A method whose blocking work is done on a thread."""

    @wraps(work)
    async def method(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(work, *args, **kwargs)

    return method


class DiskPartial:
    """A partial file; the lock on it ends with the process."""

    def __init__(self, path: Path, descriptor: int, boot: str) -> None:
        self._path, self._descriptor = path, descriptor
        self._note = path.with_suffix(".json")
        self._hash = hashlib.sha256()
        self.size_bytes = 0
        self.state = self._read_note()
        if self.state is None or self.state.boot != boot:
            self.state = None
            os.ftruncate(descriptor, 0)
        for piece in self._pieces():
            self._hash.update(piece)
            self.size_bytes += len(piece)

    def restart(self, state: PartialState) -> None:
        """Begin with nothing."""
        os.ftruncate(self._descriptor, 0)
        self._hash, self.size_bytes = hashlib.sha256(), 0
        self.go_on(state)

    def go_on(self, state: PartialState) -> None:
        """Remember what is known of the file from now on."""
        self.state = state
        fresh = self._note.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(state))
        fresh.replace(self._note)

    def write(self, chunk: bytes) -> None:
        """Add to the end."""
        written = 0
        while written < len(chunk):
            written += os.pwrite(self._descriptor, chunk[written:], self.size_bytes + written)
        self._hash.update(chunk)
        self.size_bytes += len(chunk)
        reach("media-write")

    def sha256(self) -> str:
        """The digest of all bytes so far."""
        return self._hash.hexdigest()

    async def head(self, length: int) -> bytes:
        """The first bytes."""
        return os.pread(self._descriptor, length, 0)

    @in_thread
    def digest(self, algorithm: str) -> str:
        """Another digest of all bytes."""
        found = hashlib.new(algorithm)
        for piece in self._pieces():
            found.update(piece)
        return found.hexdigest()

    def close(self) -> None:
        """Let go of it; what is there stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def sync(self) -> None:
        """Make what is there survive a power cut."""
        os.fsync(self._descriptor)

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self._path

    def remove(self) -> None:
        """Delete it."""
        self._path.unlink(missing_ok=True)
        self.forget()

    def forget(self) -> None:
        """Delete what was known of it; the file has another name now, or is gone."""
        self._note.unlink(missing_ok=True)
        self.close()

    def _pieces(self) -> Iterator[bytes]:
        at = 0
        while piece := os.pread(self._descriptor, _PIECE, at):
            yield piece
            at += len(piece)

    def _read_note(self) -> PartialState | None:
        try:
            return msgspec.json.decode(self._note.read_bytes(), type=PartialState)
        except (OSError, msgspec.DecodeError):
            return None


class DiskMedia:
    """The `MediaFiles` of one machine; nothing is made before the first download."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.place = str(folder)
        self.boot = _boot_id()

    @in_thread
    def open_partial(self, name: str) -> DiskPartial | None:
        """The partial file of that name, made when there is none; None while another has it."""
        return self._open_partial(name)

    @in_thread
    def drop_partials(self, *, keep: Collection[str]) -> int:
        """Delete partial files of downloads that are over; how many."""
        gone = 0
        for path in (self._folder / "partial").glob("*.part"):
            if path.stem in keep:
                continue
            partial = self._open_partial(path.stem)
            if partial is not None:
                partial.remove()
                gone += 1
        return gone

    @in_thread
    def keep(self, partial: PartialFile, sha256: str) -> None:
        """Move a partial file into its place."""
        place = self._file(sha256)
        with _named_errors(self.place):
            make_folder(place.parent)
            partial.sync()
            reach("media-synced")
            partial.path.replace(place)
            sync_folder(place.parent)
            partial.forget()
        reach("media-kept")

    @in_thread
    def read(self, sha256: str, start: int = 0, length: int | None = None) -> bytes:
        """Bytes of a file."""
        try:
            with self._file(sha256).open("rb") as file:
                file.seek(start)
                return file.read(-1 if length is None else length)
        except FileNotFoundError:
            raise gone_error(sha256) from None

    @in_thread
    def delete(self, sha256s: Sequence[str]) -> None:
        """Delete files; those that are not there are gone already."""
        for sha256 in sha256s:
            self._file(sha256).unlink(missing_ok=True)

    @in_thread
    def sizes(self) -> dict[str, int]:
        """The size of every file, by its digest."""
        return {path.name: path.stat().st_size for path in (self._folder / "files").glob("??/*")}

    @in_thread
    def verify(self, sha256: str) -> str | None:
        """Read a file whole; what is wrong with it."""
        found = hashlib.sha256()
        try:
            with self._file(sha256).open("rb") as file:
                while piece := file.read(_PIECE):
                    found.update(piece)
        except FileNotFoundError:
            return "missing"
        except OSError as problem:
            return f"cannot be read ({problem.strerror})"
        return None if found.hexdigest() == sha256 else "damaged"

    @in_thread
    def link(self, path: str, sha256: str) -> None:
        """Give a file a readable name; a file system without links goes without."""
        name, target = self._folder / "shows" / path, self._file(sha256)
        with suppress(OSError):  # the file itself is what counts
            name.parent.mkdir(parents=True, exist_ok=True)
            name.unlink(missing_ok=True)
            try:
                name.symlink_to(Path(os.path.relpath(target, name.parent)))
            except OSError:
                name.hardlink_to(target)

    @in_thread
    def links(self) -> frozenset[str]:
        """All readable names."""
        shows = self._folder / "shows"
        return frozenset(path.relative_to(shows).as_posix() for path in shows.glob("*/*"))

    @in_thread
    def unlink(self, paths: Collection[str]) -> None:
        """Take readable names away, and folders that become empty."""
        for path in paths:
            name = self._folder / "shows" / path
            with suppress(OSError):
                name.unlink(missing_ok=True)
                name.parent.rmdir()  # refused while it holds others

    def _open_partial(self, name: str) -> DiskPartial | None:
        path = self._folder / "partial" / f"{name}.part"
        with _named_errors(self.place):
            path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(path, flags, PRIVATE_FILE)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            return DiskPartial(path, descriptor, self.boot)

    def _file(self, sha256: str) -> Path:
        return self._folder / "files" / sha256[:2] / sha256


@contextmanager
def _named_errors(place: str) -> Iterator[None]:
    """An error of the disk as one of ours, with advice."""
    try:
        yield
    except OSError as problem:
        raise blob_error(problem, place) from problem


def gone_error(sha256: str) -> NotKeptError:
    """A file that is not there any more."""
    return NotKeptError(f"the file {sha256[:12]}… is not kept any more")


def _boot_id() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
