"""Rows for exports, page by page from the views: one query for every table, from its list of fields.

Feeds, entries and articles are read in the order of their numbers. Fetches and decisions are read feed by
feed, each in the order of its runs, because their index begins with the feed; so an export of them is a pass over
what had come in when it began, and the next one is a pass over what has come in since.
"""
# Tested in tests/contracts/store/test_exports.py

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from feedmill.adapters.store.statements import Query, position, rows, value
from feedmill.adapters.store.tables.codec import NEVER, Row, micros
from feedmill.adapters.store.tables.contents.entry_codec import article_position
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
        return (yield from _batch_by_feed(name, where, after, limit))
    if name == "articles":
        keys = ["entry_id", "article_hash"]
        behind = article_position(after) if after else (-NEVER, "")
        found = yield from _rows(name, where, keys, [*behind], limit + 1)
    else:
        keys = [_BY_NUMBER[name]]
        (number,) = position(after, 1) or (-NEVER,)
        found = yield from _rows(name, where, keys, [number], limit + 1)
    shown = found[:limit]
    return ExportBatch(
        rows=_decoded(name, shown, len(keys)),
        cursor=".".join(map(str, shown[-1][: len(keys)])) if shown else after,
        complete=len(found) <= limit,
    )


def _batch_by_feed(
    name: ExportName, where: ExportFilter, after: str | None, limit: int
) -> Query[ExportBatch]:
    """A batch of a pass. Its cursor: the numbers of fetches it is between, and the feed and run it has come to."""
    feed_no: int | None
    if after is not None and "." in after:
        low, high, feed_no, scheduled = position(after, 4) or ()
    else:
        (low,), scheduled = position(after, 1) or (-1,), -NEVER
        high = yield from value("SELECT coalesce(max(fetch_no), 0) FROM fetches")
        feed_no = yield from _next_feed(-1, where)
    found: list[Row] = []
    while feed_no is not None and len(found) <= limit:
        conditions = [("v.feed_no = {}", feed_no), *_between(low, high)]
        wanted = limit + 1 - len(found)
        found += yield from _rows(name, where, ["scheduled_us"], [scheduled], wanted, conditions)
        feed_no, scheduled = (yield from _next_feed(feed_no, where)), -NEVER
    shown, is_complete = found[:limit], len(found) <= limit
    cursor = f"{high}" if is_complete else f"{low}.{high}.{shown[-1][0]}.{shown[-1][1]}"
    return ExportBatch(rows=_decoded(name, shown, 2), cursor=cursor, complete=is_complete)


def _between(low: int, high: int) -> list[tuple[str, Any]]:
    """Fetches that came in after the one, and not after the other."""
    numbered = (
        "EXISTS (SELECT 1 FROM fetches x WHERE x.feed_no = v.feed_no"
        " AND x.scheduled_at = v.scheduled_us AND x.fetch_no "
    )
    return [(f"{numbered}> {{}})", low), (f"{numbered}<= {{}})", high)]


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
    return rows(
        f"SELECT {columns} FROM {name}_view v WHERE {clauses} AND ({named}) > ({places})"
        f" ORDER BY {named} LIMIT ${len(values) + len(keys) + 1}",
        *values,
        *start,
        wanted,
    )


def _chosen(where: ExportFilter) -> list[tuple[str, Any]]:
    pairs = [("v.feed_id = {}", where.feed_id), (_TAGGED, where.tag)]
    return [(clause, one) for clause, one in pairs if one is not None]


def _numbered(conditions: list[tuple[str, Any]]) -> tuple[str, list[Any]]:
    clauses = [clause.format(f"${at}") for at, (clause, _) in enumerate(conditions, start=1)]
    return " AND ".join(["TRUE", *clauses]), [one for _, one in conditions]


def _decoded(name: ExportName, found: list[Row], keys: int) -> tuple[ExportRow, ...]:
    """The rows without their keys; the same of both databases: SQLite keeps texts and numbers, PostgreSQL has types."""
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

    return tuple([decode(one[keys:]) for one in found])


def _iso(at: datetime | str) -> str:
    return at if isinstance(at, str) else at.isoformat(timespec="microseconds")[:-6] + "Z"


def _masked(addresses: str) -> str:
    return msgspec.json.encode(
        [mask_address(one) for one in msgspec.json.decode(addresses)]
    ).decode()


_CHANGES: Final[dict[FieldKind, Callable[[Any], Any]]] = {
    "address": mask_address,
    "addresses": _masked,
    "flag": bool,
    "instant": _iso,
    "json": lambda text: None if text == "null" else text,  # PostgreSQL knows two kinds of nothing
}
