"""File `log-position` of a home folder: the newest event that any process of it has told.

It is written before a reader gets an event, and is not part of the database. So a database that was replaced
by an older copy, or by another one, is recognised when it is opened (D37).
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from feedmill.adapters.files import PRIVATE_FILE
from feedmill.engine.ports.entries import NewestEvent
from feedmill.model.event import Event

FILE_NAME: Final = "log-position"
_MAX_BYTES: Final = 1_000


class LogPosition:
    """The file, which several processes may share."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seq = 0

    def read(self) -> NewestEvent | None:
        """What the file says; None when there is none, or a crash left half of it."""
        try:
            file = self._open(os.O_RDONLY)
        except OSError:
            return None
        try:
            return _decode(os.pread(file, _MAX_BYTES, 0))
        except OSError:
            return None
        finally:
            os.close(file)

    def covers(self, seq: int) -> bool:
        """True when the file is known to be that far."""
        return seq <= self._seq

    def note(self, event: Event) -> None:
        """Write this event, unless the file is further; a folder that cannot be written keeps no position."""
        with suppress(OSError):
            if self._path.is_symlink():
                self._path.unlink()  # what it leads to is none of ours; the position is kept in a file of its own
            file = self._open(os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                found = _decode(os.pread(file, _MAX_BYTES, 0))
                if found is None or found.seq < event.seq:
                    line = msgspec.json.encode(NewestEvent(seq=event.seq, id=event.id)) + b"\n"
                    os.pwrite(file, line, 0)
                    os.ftruncate(file, len(line))
                self._seq = event.seq
            finally:
                os.close(file)

    def _open(self, flags: int) -> int:
        """The file itself, never through a link, and without waiting for the other end of a pipe."""
        return os.open(
            self._path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE_FILE
        )


def _decode(octets: bytes) -> NewestEvent | None:
    try:
        return msgspec.json.decode(octets, type=NewestEvent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # half of it, or damaged
        return None
