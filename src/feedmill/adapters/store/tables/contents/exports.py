"""Rows for exports, page by page from the views: one query for every table, from its list of fields.

Feeds, entries and articles are read in the order of their numbers. Fetches and decisions are read feed by
feed, each in the order of its runs: their index begins with the feed.
"""
# Tested in tests/contracts/store/test_exports.py

# ruff: noqa: S608  # names come from the lists of fields; values are parameters

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from feedmill.adapters.store.statements import Query, rows, value
from feedmill.adapters.store.tables.codec import NEVER, Row, micros
from feedmill.adapters.store.tables.paging import article_position, position
from feedmill.model.addresses import mask_address
from feedmill.model.running.export import (
    EXPORTS,
    ExportBatch,
    ExportFilter,
    ExportName,
    ExportRow,
    FieldKind,
)

_TAGGED: Final = "v.feed_no IN (SELECT feed_no FROM feed_tags WHERE tag = {})"
_BY_NUMBER: Final = {"entries": "entry_id", "feeds": "feed_no"}
_TIME: Final = {
    "entries": "first_seen_us",
    "articles": "first_seen_us",
    "feeds": "created_us",
    "fetches": "scheduled_us",
    "decisions": "scheduled_us",
}


def export_batch(
    name: ExportName, where: ExportFilter, *, after: str | None = None, limit: int = 1_000
) -> Query[ExportBatch]:
    """Rows after a cursor, in the order of the table's key."""
    if name in ("fetches", "decisions"):
        keys = ["feed_no", "scheduled_us"]
        found = yield from _rows_by_feed(name, where, after, limit + 1)
    elif name == "articles":
        keys = ["entry_id", "article_hash"]
        behind = article_position(after) if after else (-NEVER, "")
        found = yield from _rows(name, where, keys, [*behind], limit + 1)
    else:
        keys = [_BY_NUMBER[name]]
        (number,) = position(after, 1) or (-NEVER,)
        found = yield from _rows(name, where, keys, [number], limit + 1)
    decode, shown = _decoder(name), found[:limit]
    return ExportBatch(
        rows=tuple([decode(one[len(keys) :]) for one in shown]),
        cursor=".".join(map(str, shown[-1][: len(keys)])) if shown else after,
        complete=len(found) <= limit,
    )


def _rows_by_feed(
    name: ExportName, where: ExportFilter, after: str | None, wanted: int
) -> Query[list[Row]]:
    start = position(after, 2)
    feed_no = start[0] if start else (yield from _next_feed(-1, where))
    scheduled = start[1] if start else -NEVER
    found: list[Row] = []
    while feed_no is not None and len(found) < wanted:
        conditions = [("v.feed_no = {}", feed_no)]
        found += yield from _rows(
            name, where, ["scheduled_us"], [scheduled], wanted - len(found), conditions
        )
        feed_no, scheduled = (yield from _next_feed(feed_no, where)), -NEVER
    return found


def _next_feed(feed_no: int, where: ExportFilter) -> Query[int | None]:
    conditions = [("v.feed_no > {}", feed_no), *_chosen(where)]
    clauses, values = _numbered(conditions)
    found: int | None = yield from value(
        f"SELECT v.feed_no FROM (SELECT feed_no, id AS feed_id FROM feeds) v WHERE {clauses}"
        " ORDER BY v.feed_no LIMIT 1",
        *values,
    )
    return found


def _rows(
    name: ExportName,
    where: ExportFilter,
    keys: list[str],
    start: list[Any],
    wanted: int,
    conditions: list[tuple[str, Any]] | None = None,
) -> Query[list[Row]]:
    """Rows beyond the start, the columns of the cursor first."""
    cursor = ["feed_no", *keys] if conditions else keys
    columns = ", ".join(f"v.{one}" for one in (*cursor, *(field.name for field in EXPORTS[name])))
    conditions = [*(_chosen(where) if conditions is None else conditions)]
    conditions += [
        (f"v.{_TIME[name]} {sign} {{}}", micros(at))
        for sign, at in ((">=", where.since), ("<", where.until))
        if at is not None
    ]
    clauses, values = _numbered(conditions)
    places = ", ".join(f"${len(values) + at}" for at in range(1, len(keys) + 1))
    named = ", ".join(f"v.{key}" for key in keys)
    return (
        yield from rows(
            f"SELECT {columns} FROM {name}_view v WHERE {clauses} AND ({named}) > ({places})"
            f" ORDER BY {named} LIMIT ${len(values) + len(keys) + 1}",
            *values,
            *start,
            wanted,
        )
    )


def _chosen(where: ExportFilter) -> list[tuple[str, Any]]:
    pairs = [("v.feed_id = {}", where.feed_id), (_TAGGED, where.tag)]
    return [(clause, one) for clause, one in pairs if one is not None]


def _numbered(conditions: list[tuple[str, Any]]) -> tuple[str, list[Any]]:
    clauses = [clause.format(f"${at}") for at, (clause, _) in enumerate(conditions, start=1)]
    return " AND ".join(["TRUE", *clauses]), [one for _, one in conditions]


def _decoder(name: ExportName) -> Callable[[Row], ExportRow]:
    """Make the values of both databases the same: SQLite keeps texts and numbers, PostgreSQL has types."""
    changed = [
        (at, _CHANGES[field.kind])
        for at, field in enumerate(EXPORTS[name])
        if field.kind in _CHANGES
    ]

    def decode(row: Row) -> ExportRow:
        values = list(row)
        for at, change in changed:
            if values[at] is not None:
                values[at] = change(values[at])
        return tuple(values)

    return decode


def _iso(at: datetime | str) -> str:
    return at if isinstance(at, str) else at.isoformat(timespec="microseconds")[:-6] + "Z"


_CHANGES: Final[dict[FieldKind, Callable[[Any], Any]]] = {
    "address": mask_address,
    "flag": bool,
    "instant": _iso,
}
