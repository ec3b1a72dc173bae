"""Exports batch by batch: batches fit memory, and a position is saved behind each."""

import asyncio
from collections.abc import Sequence

from feedmill.engine.service.documents import export_table
from feedmill.model.running.export import (
    ExportBatch,
    ExportFilter,
    ExportName,
    ExportPosition,
    ExportRow,
)


class Rows:
    """A table of texts; its cursor is a row's number."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.limits = texts, list[int]()

    async def export_batch(
        self,
        name: ExportName,  # noqa: ARG002
        where: ExportFilter,  # noqa: ARG002
        *,
        after: str | None = None,
        limit: int = 1_000,
    ) -> ExportBatch:
        self.limits.append(limit)
        start = int(after or 0)
        shown = self.texts[start : start + limit]
        end = start + len(shown)
        return ExportBatch(
            rows=tuple((text,) for text in shown),
            cursor=str(end) if shown else after,
            complete=end >= len(self.texts),
        )


class Collected:
    def __init__(self) -> None:
        self.rows: list[ExportRow] = []

    async def write(self, rows: Sequence[ExportRow]) -> None:
        self.rows += rows

    def flush(self) -> int:
        return len(self.rows) * 10

    def close(self) -> None:
        """Nothing is open."""


def export(rows: Rows, start: ExportPosition) -> tuple[Collected, list[ExportPosition]]:
    written, saved = Collected(), list[ExportPosition]()
    asyncio.run(
        export_table("feeds", ExportFilter(), rows, written, start=start, save=saved.append)
    )
    return written, saved


def test_every_row_is_written_once_and_the_position_saved_behind_each_batch() -> None:
    written, saved = export(Rows(*map(str, range(5_000))), ExportPosition())

    assert [row[0] for row in written.rows] == [str(number) for number in range(5_000)]
    assert saved[-1] == ExportPosition(cursor="5000", rows=5_000, file_bytes=50_000, complete=True)
    assert [one.complete for one in saved[:-1]] == [False] * (len(saved) - 1)


def test_an_export_goes_on_behind_its_cursor() -> None:
    written, saved = export(Rows("a", "b", "c"), ExportPosition(cursor="2", rows=2))

    assert written.rows == [("c",)]
    assert saved[-1].rows == 3


def test_an_empty_table_is_complete_at_once() -> None:
    written, saved = export(Rows(), ExportPosition())

    assert written.rows == []
    assert saved == [ExportPosition(complete=True)]


def test_batches_grow_while_rows_are_short_and_shrink_when_they_are_long() -> None:
    short = Rows(*["x"] * 10_000)
    export(short, ExportPosition())
    long = Rows(*["x" * 4_000_000] * 3, *["x"] * 200, "x" * 4_000_000)
    export(long, ExportPosition())

    assert short.limits[:5] == [200, 400, 800, 1_600, 2_000]
    assert max(short.limits) == 2_000
    assert min(long.limits[1:]) >= 1
    assert long.limits[1] == 133
