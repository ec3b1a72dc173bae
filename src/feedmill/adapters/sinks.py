"""File sinks (002 §9.3): NDJSON, one file per day, each event or entry on exactly one line; and raw documents.

`events/` holds the log, `entries/` whole entries, one line for each time that one came in or changed (D33).

The log delivers at least once. A tap that finds its files otherwise than it left them (it was
just opened, a write failed, another process wrote) looks at their last lines, cuts one that was
left half written, and skips what they have, by its id; so the files have each event once, also
when the log went back and its numbers are lower than those in the files.

Beside the NDJSON files each raw document may stand once, as a file of its own: for batch consumers that want the bytes as files: out/raw/2025-10-14/<fetch_id>.blob.
Off by default: the raw store holds the same bytes in a fifth of the space and less.
"""
# Tested in tests/integration/adapters/sinks/

import asyncio
import errno
import fcntl
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Final, cast

from feedmill.adapters.failpoints import reach
from feedmill.adapters.files import PRIVATE_FILE, make_folder, sync_folder
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import SinkError
from feedmill.model.event import Event
from feedmill.publish.ndjson import event_line, is_event_line, position_of_line

_TAIL_BYTES: Final = 65_536
_LATEST_DAYS: Final = 7  # files in which the last event can stand; a clock may step back a little
_PATIENCE_SEC: Final = 10.0  # with another process that writes to the same files
_FULL: Final = ("disk-full", "no space is left; free some, feedmill goes on by itself")
_BUSY: Final = ("busy", "another process is writing there and does not end")
_READ_ONLY: Final = ("read-only", "it cannot be written; check permissions and the mount")
_LINK: Final = (
    "cannot-open",
    "it is a symbolic link, which is not followed; put a file in its place",
)
_OTHER: Final = ("io-error", "the disk gave an error; check it")
_REASONS: Final = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _FULL),
    errno.EAGAIN: _BUSY,
    errno.ELOOP: _LINK,  # O_NOFOLLOW
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), _READ_ONLY),
}

EVENT_FILES: Final = "ndjson"  # the consumers' names; the first is older than the second
ENTRY_FILES: Final = "ndjson-entries"

FormatLine = Callable[[Event], bytes]
# The line of each event that has one, by event id; entries are read when their lines are made.
LoadLines = Callable[[Sequence[Event]], Awaitable[Mapping[str, bytes]]]


ReadRaw = Callable[[str], Awaitable[bytes | None]]


class NdjsonSink:
    """Appends to <folder>/events/2025-10-14.ndjson; several processes may share the folder."""

    def __init__(
        self,
        folder: Path,
        line: FormatLine = event_line,
        *,
        name: str = EVENT_FILES,
        kind: str = "events",
        load: LoadLines | None = None,
        batch_events: int = 500,
    ) -> None:
        self.name = name
        self._line, self._load, self._batch_events = line, load, batch_events
        self._folder = folder / kind
        self._written: dict[str, int] = {}  # what may be delivered again: id to number
        self._known_from = 0  # the number from which `_written` is complete
        self._left: list[tuple[str, int]] | None = None  # the files and their sizes after our last

    async def deliver(self, events: Sequence[Event]) -> None:
        """Append the events that the files do not have yet; durable when this returns."""
        for at in range(0, len(events), self._batch_events):
            some = events[at : at + self._batch_events]
            lines = None if self._load is None else await self._load(some)
            if lines is not None:
                some = [event for event in some if event.id in lines]
            if some:
                await asyncio.to_thread(self._deliver, some, lines)

    async def newest(self) -> NewestEvent | None:
        """The event with the highest number in the files, None when there is none."""
        return await asyncio.to_thread(self._newest)

    async def close(self) -> None:
        """Nothing is held open between deliveries."""

    def _newest(self) -> NewestEvent | None:
        try:
            seq, id_ = max(
                (_last_line(path) for path in self._files()[-_LATEST_DAYS:]), default=(0, "")
            )
        except OSError:
            return None
        return NewestEvent(seq=seq, id=id_) if seq else None

    def _deliver(self, events: Sequence[Event], lines: Mapping[str, bytes] | None) -> None:
        lines = lines or {event.id: self._line(event) for event in events}
        try:
            make_folder(self._folder)
            with _held(self._folder) as folder:
                self._append(events, lines, folder)
        except OSError as problem:
            self._left = None
            raise disk_error(self._folder, problem) from problem

    def _append(self, events: Sequence[Event], lines: Mapping[str, bytes], folder: int) -> None:
        first = events[0].seq
        if self._left is None or self._left != self._sizes() or first < self._known_from:
            self._written = self._recover(first)
        fresh = [event for event in events if event.id not in self._written]
        reach("tap-append")
        # In the order of the numbers, file by file: whatever a crash leaves out comes after the
        # highest number that is in the files.
        for day, its in groupby(fresh, key=_day):
            path = self._folder / f"{day}.ndjson"
            is_new = not path.exists()
            _write(path, b"".join(lines[event.id] for event in its))
            if is_new:
                os.fsync(folder)
        reach("tap-appended")
        self._left = self._sizes()
        self._known_from = first
        self._written = {id_: seq for id_, seq in self._written.items() if seq >= first}
        self._written |= {event.id: event.seq for event in fresh}

    def _sizes(self) -> list[tuple[str, int]]:
        """The latest files and their sizes: a change by another process shows there."""
        return [(path.name, path.stat().st_size) for path in self._files()[-_LATEST_DAYS:]]

    def _recover(self, first: int) -> dict[str, int]:
        """What the files hold from this number on, by id; half a last line is cut off first."""
        found: dict[str, int] = {}
        for age, path in enumerate(reversed(self._files())):
            last = _last_line(path, cut=age < _LATEST_DAYS)[0]
            if last >= first or not last:
                found |= _read_from(path, first)
            elif age >= _LATEST_DAYS:
                break
        return found

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.ndjson"))


def disk_error(place: Path, problem: OSError) -> SinkError:
    """What the disk said, with a stable reason and advice."""
    reason, advice = _REASONS.get(problem.errno or 0, _OTHER)
    return SinkError(reason, f"{place}: {advice} ({problem.strerror or problem})")


def has_former_files(folder: Path) -> bool:
    """True when entries/ holds events, as it did before there was events/."""
    newest = sorted((folder / "entries").glob("*.ndjson"))[-1:]
    if not newest or (folder / "events").exists():
        return False
    with newest[0].open("rb") as file:
        return is_event_line(file.readline())


def move_former_files(folder: Path) -> None:
    """Call the files of events what they hold; another process may have done it."""
    with suppress(OSError):  # what cannot be renamed cannot be written either: the delivery says so
        (folder / "entries").rename(folder / "events")
        sync_folder(folder)


def write_stdout(data: bytes) -> None:
    """Write and flush, so that a reader sees each delivery at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


class StdoutSink:
    """Writes and flushes; a closed pipe ends the program as it does any other."""

    def __init__(
        self,
        name: str = "stdout",
        write: Callable[[bytes], None] = write_stdout,
        line: Callable[[Event], bytes] = event_line,
    ) -> None:
        self.name = name
        self._write = write
        self._line = line

    async def deliver(self, events: Sequence[Event]) -> None:
        """Print the events."""
        await asyncio.to_thread(lambda: self._write(b"".join(map(self._line, events))))

    async def close(self) -> None:
        """Nothing to close: the stream is not ours."""


def _day(event: Event) -> str:
    return f"{event.occurred_at:%Y-%m-%d}"


@contextmanager
def _held(folder: Path) -> Iterator[int]:
    """The folder, while no other process appends to its files."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SEC
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _opened(path: Path, flags: int, mode: str) -> BinaryIO:
    """A file of the tap, never through a link: one that another user put here could lead to any file of ours."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    return cast("BinaryIO", open(descriptor, mode, buffering=0 if mode == "ab" else -1))  # noqa: PTH123  # by descriptor, the caller closes it


def _write(path: Path, data: bytes) -> None:
    with _opened(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, "ab") as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fsync(file.fileno())


def _read_from(path: Path, first: int) -> dict[str, int]:
    """The events of a file from this number on: id to number.

    They may not have been synced, and a power cut may have left zeros between them: from such a
    line on the file is cut off, and its events are written again.
    """
    found: dict[str, int] = {}
    offset, broken_at = 0, None
    with _opened(path, os.O_RDWR, "r+b") as file:
        for line in file:
            seq, id_ = position_of_line(line)
            if not seq:
                broken_at = offset if broken_at is None else broken_at
            elif seq < first:
                broken_at = None  # what comes before a line that was synced is none of ours
            elif broken_at is None:
                found[id_] = seq
            offset += len(line)
        if broken_at is not None:
            file.truncate(broken_at)
    return found


def _last_line(path: Path, *, cut: bool = False) -> tuple[int, str]:
    """Number and id on the last whole line; with `cut`, what follows that line is cut off."""
    with _opened(path, os.O_RDWR if cut else os.O_RDONLY, "r+b" if cut else "rb") as file:
        size = file.seek(0, os.SEEK_END)
        tail = b""
        while len(tail) < size and tail.count(b"\n") < 2:  # a line may be longer than one step
            start = max(0, size - 2 * len(tail) - _TAIL_BYTES)
            file.seek(start)
            tail = file.read(size - start)
        whole = tail[: tail.rfind(b"\n") + 1]
        if cut and len(whole) < len(tail):
            file.truncate(size - len(tail) + len(whole))
    lines = whole.splitlines()
    return position_of_line(lines[-1]) if lines else (0, "")


class RawCopySink:
    """Writes the documents that events point at; `read` gives the body of a fetch."""

    def __init__(self, folder: Path, read: ReadRaw, name: str = "raw-copies") -> None:
        self.name = name
        self._folder = folder / "raw"
        self._read = read

    async def deliver(self, events: Sequence[Event]) -> None:
        """Copy what is not there yet; a body that retention took in the meantime is left out."""
        wanted = {ref: event for event in events for ref in _fetch_ids(event)}
        for fetch_id, event in wanted.items():
            path = self._folder / f"{event.occurred_at:%Y-%m-%d}" / f"{fetch_id}.blob"
            if await asyncio.to_thread(path.exists):
                continue
            body = await self._read(fetch_id)
            if body is not None:
                await asyncio.to_thread(_write_whole, path, body)

    async def close(self) -> None:
        """Nothing is held open between deliveries."""


def _fetch_ids(event: Event) -> list[str]:
    refs = event.data.get("raw_refs") or []
    return [str(ref["fetch_id"]) for ref in refs]


def _write_whole(path: Path, body: bytes) -> None:
    """The whole file or none: a reader never sees half of it."""
    partial = path.with_suffix(".part")
    try:
        make_folder(path.parent)
        partial.unlink(missing_ok=True)  # a link that another user put there, or half a file
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(partial, flags, PRIVATE_FILE), "wb") as file:  # noqa: PTH123  # by descriptor
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as problem:
        raise disk_error(path, problem) from problem
