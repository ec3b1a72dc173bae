"""NDJSON and CSV: rows as lines of a file, or of standard output."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_export_tables.py

import csv
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Raw

from feedmill.model.running.export import ExportRow, Field
from feedmill.publish.ndjson import json_lines

_JSON: Final = ("json", "texts")


def open_file(path: Path, keep_bytes: int = 0) -> BinaryIO:
    """The file to write to, cut to what is kept of it."""
    file = path.open("r+b" if keep_bytes else "wb")
    file.truncate(keep_bytes)
    file.seek(keep_bytes)
    return file


class LineWriter:
    """Appends lines; a file is cut to `resume_at` bytes first."""

    def __init__(
        self,
        path: Path | None,
        encode: Callable[[Sequence[ExportRow]], bytes],
        *,
        head: bytes = b"",
        resume_at: int = 0,
    ) -> None:
        self._encode = encode
        self._file = sys.stdout.buffer if path is None else open_file(path, resume_at)
        self._size = resume_at
        if not resume_at:
            self._put(head)

    async def write(self, rows: Sequence[ExportRow]) -> None:
        """Append the rows."""
        self._put(self._encode(rows))

    def flush(self) -> int:
        """Hand everything to the system; the size of the file."""
        self._file.flush()
        return self._size

    def close(self) -> None:
        """Close the file; standard output stays open."""
        self._file.flush()
        if self._file is not sys.stdout.buffer:
            self._file.close()

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._size += len(data)


def ndjson_writer(path: Path | None, fields: Sequence[Field], *, resume_at: int = 0) -> LineWriter:
    """One JSON object per line; lists and objects are JSON, not texts of it."""
    names = [field.name for field in fields]
    raw = [at for at, field in enumerate(fields) if field.kind in _JSON]

    def encode(rows: Sequence[ExportRow]) -> bytes:
        return json_lines(dict(zip(names, _with_json(row), strict=True)) for row in rows)

    def _with_json(row: ExportRow) -> list[Any]:
        values = list(row)
        for at in raw:
            if values[at] is not None:
                values[at] = Raw(values[at].encode())
        return values

    return LineWriter(path, encode, resume_at=resume_at)


def csv_writer(path: Path | None, fields: Sequence[Field], *, resume_at: int = 0) -> LineWriter:
    """RFC 4180 with a header line; lists are JSON, nothing is an empty cell."""
    flags = [at for at, field in enumerate(fields) if field.kind == "flag"]

    def encode(rows: Sequence[ExportRow]) -> bytes:
        text = io.StringIO(newline="")
        csv.writer(text).writerows(_with_words(row) for row in rows)
        return text.getvalue().encode("utf-8", "replace")

    def _with_words(row: ExportRow) -> list[Any]:
        values = list(row)
        for at in flags:
            values[at] = "true" if values[at] else "false"
        return values

    head = ",".join(field.name for field in fields) + "\r\n"
    return LineWriter(path, encode, head=head.encode(), resume_at=resume_at)
