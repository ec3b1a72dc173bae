"""Exports one table to one file, batch by batch in constant memory."""
# Tested in tests/unit/engine/service/contents/test_export.py

from collections.abc import Callable, Sequence
from typing import Final

from feedmill.engine.ports.entries import ExportStore, ExportWriter
from feedmill.model.running.export import ExportFilter, ExportName, ExportPosition, ExportRow

_FIRST_ROWS: Final = 200
_MAX_ROWS: Final = 2_000
_BATCH_CHARS: Final = 8_000_000  # of texts; entries may have a few bytes or a megabyte


async def export_table(
    name: ExportName,
    where: ExportFilter,
    store: ExportStore,
    writer: ExportWriter,
    *,
    start: ExportPosition,
    save: Callable[[ExportPosition], None],
) -> ExportPosition:
    """Write every row after the start; `save` is called behind each batch that is in the file."""
    done, limit = start, _FIRST_ROWS
    while True:
        batch = await store.export_batch(name, where, after=done.cursor, limit=limit)
        if batch.rows:
            await writer.write(batch.rows)
            limit = _next_limit(batch.rows)
        done = ExportPosition(
            cursor=batch.cursor,
            rows=done.rows + len(batch.rows),
            file_bytes=writer.flush(),
            complete=batch.complete,
        )
        save(done)
        if done.complete:
            return done


def _next_limit(rows: Sequence[ExportRow]) -> int:
    """So many rows that a batch of the same kind stays within its limit, at most twice as many."""
    size = sum(len(one) for row in rows for one in row if type(one) is str)
    fitting = _BATCH_CHARS * len(rows) // max(size, 1)
    return max(1, min(fitting, 2 * len(rows), _MAX_ROWS))
