"""Rows of SQLite as PostgreSQL takes them: the same values, but for what its texts cannot hold.

NUL becomes U+FFFD, in texts and inside JSON; digests are computed; what belonged to a process of the
old store becomes NULL. Nothing else changes, so both stores can be compared row by row.
"""
# Tested in tests/integration/adapters/store/transfer/

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from feedmill.adapters.store.postgres.parameters import clean_value, postgres_text
from feedmill.adapters.store.tables.codec import Row, digest, json_text
from feedmill.adapters.store.transfer.tables import Key, Table

NUL: Final = "\x00"
REPLACED: Final = "\ufffd"

_NUL_IN_JSON: Final = "\\u0000"  # or a backslash and these letters, which costs a needless look


class Translation:
    """How rows of one table are translated: `columns` as they come, `new_columns` as they leave."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        made = {**table.copies, **table.digests}
        self.table, self.columns = table, tuple(columns)
        self.new_columns = (*columns, *made)
        self._copied = [self._place(text) for text in table.copies.values()]
        self._digested = [self._place(text) for text in table.digests.values()]
        self._json = [self._place(name) for name in table.json]
        self._blank = [self._place(name) for name in table.blank]
        self._key = [self.new_columns.index(name) for name in table.key]

    def key_of(self, row: Row) -> Key:
        """What both stores are ordered by, in a new row; digests as their digits."""
        values = (row[place] for place in self._key)
        return tuple(one.hex() if isinstance(one, bytes) else one for one in values)

    def __call__(self, row: Row) -> tuple[Row, int]:
        """The new row, and how many characters were replaced in it."""
        replaced = 0
        if any(type(value) is str and NUL in value for value in row):
            replaced, row = _without_nul(row)
        for place in self._json:
            if (text := row[place]) is not None and _NUL_IN_JSON in text:
                more, clean = _json_without_nul(text)
                replaced, row = replaced + more, _with(row, place, clean)
        for place in self._blank:
            row = _with(row, place, None)
        copies = (row[place] for place in self._copied)
        return (*row, *copies, *(digest(row[place]) for place in self._digested)), replaced

    def _place(self, column: str) -> int:
        return self.columns.index(column)


def ordering(table: Table, name: str) -> str:
    """What SQLite orders by where PostgreSQL orders by the column `name`."""
    if name in table.digests:
        return f'{DIGEST}("{table.digests[name]}")'
    return f'{STORABLE}("{name}")' if name in table.free_text else f'"{name}"'


DIGEST: Final = "feedmill_digest"
STORABLE: Final = "feedmill_storable"
FUNCTIONS: Final[dict[str, Callable[[str], str]]] = {
    DIGEST: lambda text: digest(postgres_text(text)).hex(),
    STORABLE: postgres_text,
}


def size_of(row: Row) -> int:
    """About how many bytes a row has."""
    return sum(len(value) if type(value) is str else 8 for value in row)


def _without_nul(row: Row) -> tuple[int, Row]:
    texts = [value for value in row if isinstance(value, str)]
    clean = tuple(postgres_text(value) if isinstance(value, str) else value for value in row)
    return sum(text.count(NUL) for text in texts), clean


def _json_without_nul(text: str) -> tuple[int, str]:
    clean = json_text(clean_value(msgspec.json.decode(text)))
    return text.count(_NUL_IN_JSON) - clean.count(_NUL_IN_JSON), clean


def _with(row: Row, place: int, value: Any) -> Row:  # noqa: ANN401  # whatever a row is made of
    return (*row[:place], value, *row[place + 1 :])
