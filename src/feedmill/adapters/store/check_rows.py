"""Reads every row of every table through the codecs of the program, page by page, and names what cannot be read.

A row is read as it is stored: on SQLite texts come as bytes, so that one that is not UTF-8 is found in its column. A column
without a codec is checked for what all its values have to be: JSON, or an instant.
"""
# Tested in tests/contracts/store/test_damaged_rows.py

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from feedmill.adapters.store.statements import Query, rows
from feedmill.adapters.store.tables.codec import CODECS, UNREADABLE, Row, RowCodec, instant
from feedmill.adapters.store.tables.subscriptions.decision_codec import decision_of
from feedmill.adapters.store.transfer.tables import LEFT_BEHIND, TABLES, Table
from feedmill.errors import FeedmillError
from feedmill.model.addresses import mask_address
from feedmill.model.running.worker import CheckedRows

ROWS_AT_ONCE: Final = 200
_TABLES: Final = {table.name: table for table in TABLES} | {
    name: Table(name=name, key=()) for name in sorted(LEFT_BEHIND)
}
# What grows with the time that a store is used; the rest is read in moments.
_LARGE: Final = frozenset(
    {"entries", "entry_revisions", "entry_identities", "entry_search", "fetches", "header_blocks"}
    | {"events", "articles", "tombstones", "blobs", "feed_days", "cluster_keys", "cluster_sketches"}
)
_INSTANTS: Final = ("_at", "_seen", "until")  # how their names end
_SECRETS: Final = frozenset({"code", "sha256"})  # of a key


class Catalogue(NamedTuple):
    """Where a database lists the columns of a table: name, type, place in the primary key or 0."""

    columns: str
    is_sqlite: bool = False


SQLITE: Final = Catalogue(
    "SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid", is_sqlite=True
)
POSTGRES: Final = Catalogue(
    "SELECT a.attname, format_type(a.atttypid, NULL),"
    " coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)"
    " FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary"
    " WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)


def tables_to_check(*, large: bool = True) -> tuple[str, ...]:
    """The tables in the order in which they are checked, with or without the large ones."""
    return tuple(name for name in _TABLES if large or name not in _LARGE)


def check_rows(catalogue: Catalogue, name: str, after: Row | None = None) -> Query[CheckedRows]:
    """What cannot be read among the next rows of a table, and the key of the last one; None at the end."""
    table = _TABLES[name]
    stored = table.old_name if catalogue.is_sqlite else name
    columns = yield from rows(catalogue.columns, stored)
    keys = [one[0] for one in sorted(columns, key=lambda one: one[2]) if one[2]] or [*table.key]
    texts = {one[0] for one in columns if one[1] == "TEXT"} if catalogue.is_sqlite else set()
    shown = [f'CAST("{one[0]}" AS BLOB)' if one[0] in texts else f'"{one[0]}"' for one in columns]
    places = [
        f"CAST(${at} AS TEXT)" if one in texts else f"${at}" for at, one in enumerate(keys, start=2)
    ]
    order = ", ".join(f'"{one}"' for one in keys)
    where = "" if after is None else f" WHERE ({order}) > ({', '.join(places)})"
    found = yield from rows(
        f"SELECT {', '.join(shown)} FROM {stored}{where} ORDER BY {order} LIMIT $1",
        ROWS_AT_ONCE,
        *(after or ()),
    )
    names = [one[0] for one in columns]
    check = _RowCheck(table, names, keys, texts)
    is_last = len(found) < ROWS_AT_ONCE
    return CheckedRows(
        rows=len(found),
        problems=tuple(one for row in found for one in check.problems(row)),
        last_key=None if is_last else tuple(found[-1][names.index(key)] for key in keys),
    )


class _RowCheck:
    """The checks of one table."""

    def __init__(
        self, table: Table, names: Sequence[str], keys: Sequence[str], texts: set[str]
    ) -> None:
        self._table, self._names, self._keys, self._texts = table, names, keys, texts
        self._codecs: dict[str, RowCodec[Any]] = {}
        for codec in CODECS.get(table.name, ()):
            for name in codec.columns:
                self._codecs.setdefault(name, codec)

    def problems(self, row: Row) -> list[str]:
        """One sentence for each column of the row that cannot be read."""
        values, found = dict(zip(self._names, row, strict=True)), list[str]()
        for name, value in values.items():
            try:
                why = None if value is None else self._problem(name, value)
            except UNREADABLE as error:
                why = f"holds no valid value ({error})"
            except FeedmillError:  # a secret whose key is not at hand
                continue
            if why is not None:
                found.append(f"{self._table.name}: the row with {self._key(values)}: {name} {why}")
        return found

    def _problem(self, name: str, value: Any) -> str | None:  # noqa: ANN401  # of any column
        if name in self._texts:
            value = value.decode()
        if name in self._codecs:
            return self._codecs[name].problem_of(name, value)
        if name.endswith(_INSTANTS):
            instant(value)
        elif name == "decision":
            decision_of("", 0, value)
        elif name in self._table.json:
            msgspec.json.decode(value)
        return None

    def _key(self, values: Mapping[str, Any]) -> str:
        return ", ".join(f"{key} {_shown(key, values[key])}" for key in self._keys)


def _shown(key: str, value: Any) -> str:  # noqa: ANN401  # of any column
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        value = f"{value[:8]}…" if key in _SECRETS else mask_address(value)
    return repr(value)
