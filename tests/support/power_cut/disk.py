"""A disk that loses what was not synced: the files that a power cut leaves of a recording.

Data of a file are safe once that file was synced, names once their folder was. Of what is not safe, writes
survive one by one, whole or by sectors; changes of names in the order in which they were made.
"""

from pathlib import Path
from random import Random  # noqa: TID251  # with a seed
from typing import Final

from tests.support.power_cut.recording import Operation

_SECTOR: Final = 512


class _File:
    def __init__(self, safe: bytes = b"") -> None:
        self.safe = bytearray(safe)
        self.pending: list[Operation] = []

    def sync(self) -> None:
        for change in self.pending:
            _apply(self.safe, change)
        self.pending = []


class Disk:
    """The files below a folder, as they are and as they would be after a power cut."""

    def __init__(self, before: Path) -> None:
        """`before` is a copy of the folder at the beginning of the recording, all of it safe."""
        found = [path for path in before.rglob("*") if path.is_file()]
        self._files = {str(path.relative_to(before)): _File(path.read_bytes()) for path in found}
        self._safe_names = dict(self._files)
        self._pending_names: dict[str, list[tuple[str, _File | None]]] = {}
        self._made: set[str] = set()  # folders of the recording; `_File` stands for them too

    def apply(self, operation: Operation, root: Path) -> None:
        """Do what the process did."""
        kind, path = operation.kind, operation.path.removeprefix(f"{root}").lstrip("/")
        if path.endswith("-shm") or kind == "N":  # SQLite builds its index of the log again
            return
        if kind in "WT":
            self._file(path).pending.append(operation)
        elif kind == "S" and path in self._files and path not in self._made:
            self._files[path].sync()
        elif kind == "S":
            self._sync_folder(path)
        elif kind == "M":
            self._made.add(path)
            self._name(path, _File())
        elif kind == "C":
            self._name(path, _File())
        elif kind == "U":
            self._name(path, None)
        elif kind == "R":
            moved = self._file(path)
            self._name(path, None)
            self._name(operation.data.decode().removeprefix(f"{root}").lstrip("/"), moved)

    def cut(self, folder: Path, chance: Random) -> None:
        """Write what is left after a power cut now."""
        survives = chance.choice((0.0, 0.0, 0.5, 0.9, 1.0))
        names = dict(self._safe_names)
        for pending in self._pending_names.values():
            for path, file in pending[: round(len(pending) * chance.random() * survives)]:
                _set(names, path, file)
        for path, file in names.items():
            above = {str(one) for one in Path(path).parents} & self._made
            if path in self._made or not above <= names.keys():
                continue
            left = _after_cut(file, chance, survives)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(left)

    def _file(self, path: str) -> _File:
        if path not in self._files:  # it was opened by a call that is not recorded
            self._name(path, _File())
        return self._files[path]

    def _name(self, path: str, file: _File | None) -> None:
        _set(self._files, path, file)
        folder = path.rpartition("/")[0]
        self._pending_names.setdefault(folder, []).append((path, file))

    def _sync_folder(self, folder: str) -> None:
        for path, file in self._pending_names.pop(folder, []):
            _set(self._safe_names, path, file)


def _set(names: dict[str, _File], path: str, file: _File | None) -> None:
    if file is None:
        names.pop(path, None)
    else:
        names[path] = file


def _after_cut(file: _File, chance: Random, survives: float) -> bytes:
    left = bytearray(file.safe)
    for change in file.pending:
        if chance.random() >= survives:
            continue
        if change.kind == "W" and survives < 1.0 and chance.random() < 0.3:
            for piece in _torn(change, chance):
                _apply(left, piece)
        else:
            _apply(left, change)
    return bytes(left)


def _torn(change: Operation, chance: Random) -> list[Operation]:
    """Some sectors of a write."""
    pieces, at, end = [], change.offset, change.offset + len(change.data)
    while at < end:
        stop = min(end, (at // _SECTOR + 1) * _SECTOR)
        if chance.random() < 0.5:
            data = change.data[at - change.offset : stop - change.offset]
            pieces.append(change._replace(offset=at, data=data))
        at = stop
    return pieces


def _apply(content: bytearray, change: Operation) -> None:
    if change.kind == "T":
        del content[change.offset :]
        content.extend(bytes(change.offset - len(content)))
        return
    content.extend(bytes(max(0, change.offset - len(content))))
    content[change.offset : change.offset + len(change.data)] = change.data
