"""Library of collected windows in the home folder, by id.

An agent is given the id of a window and never a path: it cannot make feedmill read or write any
other file. The id is the beginning of the digest over the whole file, so it names this content and
no other.
"""
# Tested in tests/integration/engine/two_phase/

import asyncio
import re
from pathlib import Path
from typing import Final, NamedTuple

from feedmill.config import Config
from feedmill.engine.two_phase.candidate_file import read_candidates, write_candidates
from feedmill.engine.two_phase.sidecar_files import (
    confirmations_path,
    screening_path,
    selection_path,
)
from feedmill.errors import NotFoundError
from feedmill.model.candidate import CandidateFile

WINDOWS_FOLDER: Final = "windows"

_ID_CHARS: Final = 16
_ID: Final = re.compile(r"[0-9a-f]{16}")


class SavedWindow(NamedTuple):
    """A window in the library."""

    id: str
    path: Path
    file: CandidateFile


class WindowLibrary:
    """Windows by their ids; the last ones that were read are cached."""

    def __init__(self, config: Config) -> None:
        self._folder = Path(config.store.home) / WINDOWS_FOLDER
        self._keep = max(1, config.mcp.windows_keep)
        self._cached: dict[str, tuple[tuple[int, int], CandidateFile]] = {}

    async def save(self, file: CandidateFile) -> SavedWindow:
        """Save a window; the oldest ones are deleted when there are too many."""
        window_id = file.digest[:_ID_CHARS]
        path = self._path(window_id)
        await asyncio.to_thread(self._write, path, file)
        return SavedWindow(window_id, path, file)

    async def window(self, window_id: str, *, checked: bool = False) -> SavedWindow:
        """The window of that id; NotFoundError without one, CandidateError when it was changed.

        `checked` reads and proves the whole file again, bypassing the cache: before an insertion.
        """
        name = window_id.strip().lower()
        if _ID.fullmatch(name) is None:
            raise _unknown(window_id)
        if checked:
            self._cached.pop(name, None)
        path = self._path(name)
        return SavedWindow(name, path, await asyncio.to_thread(self._read, name, path))

    async def ids(self) -> tuple[str, ...]:
        """Every window there is, the newest first."""
        paths = await asyncio.to_thread(self._newest_first)
        return tuple(path.stem for path in paths)

    def _path(self, window_id: str) -> Path:
        return self._folder / f"{window_id}.json"

    def _write(self, path: Path, file: CandidateFile) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_candidates(path, file)
        for old in self._newest_first()[self._keep :]:
            for gone in (old, screening_path(old), selection_path(old), confirmations_path(old)):
                gone.unlink(missing_ok=True)

    def _read(self, window_id: str, path: Path) -> CandidateFile:
        """The file as it is now: the cached one is used while the file is unchanged."""
        try:
            found = path.stat()
        except FileNotFoundError:
            raise _unknown(window_id) from None
        stamp = (found.st_mtime_ns, found.st_size)
        known = self._cached.get(window_id)
        if known is not None and known[0] == stamp:
            return known[1]
        file = read_candidates(path)
        if not file.digest.startswith(window_id):  # a good file under another's name
            raise _unknown(window_id)
        self._cached = {**dict(list(self._cached.items())[-1:]), window_id: (stamp, file)}
        return file

    def _newest_first(self) -> list[Path]:
        found = [path for path in self._folder.glob("*.json") if _ID.fullmatch(path.stem)]
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.stem), reverse=True)


def _unknown(window_id: str) -> NotFoundError:
    message = f"there is no window {window_id[:40]!r}"
    return NotFoundError(message, "collect_window makes one and returns its id")
