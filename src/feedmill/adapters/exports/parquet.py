"""Parquet by pyarrow (an extra): times as timestamps, lists of texts as lists, compressed by zstd."""
# Tested in tests/integration/interfaces/cli/commands/feeds/test_export_tables.py

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyarrow import parquet

from feedmill.adapters.exports.plain import open_file
from feedmill.model.running.export import ExportRow, Field

_TYPES: Final = {
    "text": pa.string(),
    "address": pa.string(),
    "integer": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "instant": pa.timestamp("us", "UTC"),
    "texts": pa.list_(pa.string()),
    "addresses": pa.list_(pa.string()),
    "json": pa.string(),
}
_texts: Final = msgspec.json.Decoder(list[str]).decode


class ParquetWriter:
    """One row group per batch. The file is complete when it is closed; it cannot be continued."""

    def __init__(self, path: Path, fields: Sequence[Field]) -> None:
        self._fields = fields
        self._schema = pa.schema([(field.name, _TYPES[field.kind]) for field in fields])
        self._file = open_file(path)
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    async def write(self, rows: Sequence[ExportRow]) -> None:
        """Write the rows as one row group."""
        columns = zip(*rows, strict=True)
        arrays = [
            _array(field, column) for field, column in zip(self._fields, columns, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    def flush(self) -> int:
        """Nothing to continue from: the index of the file is written at its end."""
        return 0

    def close(self) -> None:
        """Write the index of the row groups."""
        self._writer.close()
        self._file.close()


def _array(field: Field, values: Sequence[Any]) -> Any:  # noqa: ANN401  # pyarrow has no types
    if field.kind in ("texts", "addresses"):
        values = [None if one is None else _texts(one) for one in values]
    elif field.kind == "instant":
        return pa.array(values, pa.string()).cast(_TYPES["instant"])
    return pa.array(values, _TYPES[field.kind])
