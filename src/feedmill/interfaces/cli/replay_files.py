"""The files of `feedmill replay`: one JSON line per feed, so that a run that was stopped goes on.

A line that was cut off by a kill is dropped, and its feed is read again.
"""
# Tested in tests/integration/interfaces/cli/commands/entries/test_replay.py

from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from feedmill.errors import UsageError

T = TypeVar("T", bound=msgspec.Struct)


class _Head(msgspec.Struct):
    feed_id: str


class LineFile(Generic[T]):
    """Lines of one type, found by the feed they are about; only their places are in memory."""

    def __init__(self, path: Path, kind: type[T], *, must_exist: bool = False) -> None:
        self._path = path
        self._decoder = msgspec.json.Decoder(kind)
        self._places: dict[str, int] = {}
        if must_exist and not path.exists():
            message = f"{path} does not exist; write it with the other version: --record {path}"
            raise UsageError(message)
        self._end = self._index() if path.exists() else 0

    def __contains__(self, feed_id: str) -> bool:
        return feed_id in self._places

    def append(self, line: T) -> None:
        """Write a line; it is in the file when this returns."""
        with self._path.open("r+b" if self._path.exists() else "wb") as file:
            file.truncate(self._end)
            file.seek(self._end)
            file.write(msgspec.json.encode(line) + b"\n")
            self._end = file.tell()

    def read(self, feed_id: str) -> T | None:
        """The line of a feed; None when there is none."""
        if feed_id not in self._places:
            return None
        with self._path.open("rb") as file:
            file.seek(self._places[feed_id])
            return self._decoder.decode(file.readline())

    def lines(self) -> Iterator[T]:
        """Every line that was in the file when it was opened."""
        for feed_id in self._places:
            line = self.read(feed_id)
            if line is not None:
                yield line

    def _index(self) -> int:
        head = msgspec.json.Decoder(_Head)
        end = 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                try:
                    self._places[head.decode(line).feed_id] = end
                except msgspec.MsgspecError as problem:
                    message = f"{self._path} is no file of feedmill replay: {problem}"
                    raise UsageError(message) from problem
                end += len(line)
        return end
