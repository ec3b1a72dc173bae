"""Ports of exports: where the rows come from, and the file that they go to."""
# Tested in tests/contracts/store/test_exports.py

from collections.abc import Sequence
from typing import Protocol

from feedmill.model.export import ExportBatch, ExportFilter, ExportName, ExportRow


class ExportStore(Protocol):
    """Rows of every table that can be exported, page by page."""

    async def export_batch(
        self, name: ExportName, where: ExportFilter, *, after: str | None = None, limit: int = 1_000
    ) -> ExportBatch: ...


class ExportWriter(Protocol):
    """A file of one format; rows are durable enough for a crash of this process once `flush` returns."""

    async def write(self, rows: Sequence[ExportRow]) -> None: ...
    def flush(self) -> int: ...  # the size that the file may be cut to when an export is resumed
    def close(self) -> None: ...  # also after an error: what was written stays readable
