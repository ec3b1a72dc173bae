"""Figures of all feeds by the hour: adds up what one writer commits, in one row of its own.

A writer keeps the sum of its hour in memory and writes it with every group of commits, in the same
transaction: nothing is read, and writers never wait for each other. When it is unknown whether a
transaction counted, the row stays as it is and a new one is begun, so that no poll is counted twice
or lost.
"""
# Tested in tests/unit/adapters/store/test_totals_writer.py

from collections.abc import Sequence
from datetime import datetime
from secrets import randbits
from typing import Any, Final

from feedmill.adapters.store.tables.codec import Row, json_text, micros
from feedmill.adapters.store.tables.running.figures import HOUR_SEC, hour_of
from feedmill.fetch.figures import TotalsCounter
from feedmill.model.feed import FetchRecord

_WRITER_BITS: Final = 62


class TotalsWriter:
    """The sum of one writer's hour, and the polls that its present transaction adds to it."""

    def __init__(self) -> None:
        self._pending: list[tuple[FetchRecord, Sequence[Any]]] = []
        self._start_anew(None)

    def begin(self) -> None:
        """A transaction begins; when the last one may not have counted, so does another row."""
        if self._pending:
            self._start_anew(None)
            self._pending = []

    def add(self, fetch: FetchRecord, values: Sequence[Any]) -> None:
        """Count a poll with its `poll_values` in this transaction."""
        self._pending.append((fetch, values))

    def rows(self) -> list[Row]:
        """What the transaction writes: start, span, writer and totals of each hour it adds to."""
        found: list[Row] = []
        touched = False
        for fetch, values in self._pending:
            hour = hour_of(fetch.fetched_at)
            if hour != self._hour:
                if touched:
                    found.append(self._row())
                self._start_anew(hour)
            self._counter.add_poll(fetch, values)
            touched = True
        if touched:
            found.append(self._row())
        return found

    def committed(self) -> None:
        """The transaction counted."""
        self._pending = []

    def _start_anew(self, hour: datetime | None) -> None:
        self._writer, self._hour, self._counter = randbits(_WRITER_BITS), hour, TotalsCounter()

    def _row(self) -> Row:
        start = 0 if self._hour is None else micros(self._hour)
        return (start, HOUR_SEC, self._writer, json_text(self._counter.totals))
