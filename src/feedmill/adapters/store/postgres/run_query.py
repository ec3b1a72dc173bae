"""Runs queries (`statements`) on PostgreSQL.

Titles: the rule (`statements.begins_word`) folds case as Unicode does, and no database does the same under
every locale. Letters of ASCII fold into ASCII everywhere, and nothing folds into Han, Kana or Hangul but
itself; so a title of ASCII alone is compared by PostgreSQL, a run of those signs has to stand in the
title as it is, and every other title with a sign beyond ASCII is looked at here.
"""
# Tested in tests/unit/adapters/store/test_statements.py

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from feedmill.adapters.store import statements
from feedmill.adapters.store.postgres import event_log
from feedmill.adapters.store.postgres.lanes import LaneSettings, lane_of
from feedmill.adapters.store.postgres.parameters import (
    clean_value,
    postgres_text,
    to_columns,
    unnest_rows,
)
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.statements import (
    KEY_COLUMNS,
    Macros,
    Query,
    RowStatement,
    Statement,
    Step,
    expand,
)
from feedmill.adapters.store.tables.codec import Row

T = TypeVar("T")


_UNCASED: Final = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")

_BEYOND_ASCII: Final = "octet_length(e.title) > char_length(e.title)"


def _rows(parameter: str, *columns: str) -> str:
    named = [column.split() for column in columns]
    values = [f"(v ->> {at})::{kind} AS {name}" for at, (name, kind) in enumerate(named)]
    return f"(SELECT {', '.join(values)} FROM json_array_elements({parameter}::json) AS v)"


def _digest(text: str) -> str:
    return f"substr(sha256(convert_to({text}, 'UTF8')), 1, 20)"  # as `codec.digest`


MACROS: Final[Macros] = {
    "greatest": "greatest",
    "least": "least",
    "truncated": lambda number: f"trunc({number})::bigint",
    "like": "ILIKE",
    "lock": lambda clause: clause,
    "in": lambda parameter: f"= ANY({parameter})",
    "rows": _rows,
    "digest": _digest,
    "digest_and_text": lambda digest, text: f"{digest}, {text}",
    "digest_and_value": lambda text: f"{_digest(text)}, {text}",
    "digest_or_text": lambda digest, _: digest,
    "add_key": "INSERT INTO entry_identities (key_type, key_hash, key_value, entry_id)"
    f" VALUES ($1, {_digest('$2')}, $2, $3) ON CONFLICT DO NOTHING",
    "locked_entries": "(SELECT * FROM entries WHERE entry_id = ANY($1::bigint[])"
    " ORDER BY entry_id FOR NO KEY UPDATE)",
    "add_keys": "INSERT INTO entry_identities (key_type, key_hash, key_value, entry_id)"
    f" SELECT n.key_type, {_digest('n.key_value')}, n.key_value, n.entry_id"
    f' FROM {unnest_rows(KEY_COLUMNS)} ORDER BY 2, n.key_type COLLATE "C" ON CONFLICT DO NOTHING',
    "field": lambda column, name: f"({column}::jsonb ->> '{name}')",
    "contains": lambda column, text: f"{column}::jsonb ? {text}",
    "has_author": lambda column, text: (
        f"EXISTS (SELECT 1 FROM jsonb_array_elements({column}::jsonb) a"
        f" WHERE {text} IN (a ->> 'name', a ->> 'email'))"
    ),
    "earlier_refs": lambda entry: (
        f"CASE WHEN {entry}.revisions > 0 THEN (SELECT json_agg(json_build_array(fetch_id, slice_offset,"
        " slice_length))::text FROM (SELECT v.fetch_id, v.slice_offset, v.slice_length FROM entry_revisions v"
        f" WHERE v.entry_id = {entry}.entry_id AND v.fetch_id IS NOT NULL ORDER BY v.number DESC LIMIT 19) w) END"
    ),
    "holds": lambda column, term: f"coalesce(strpos({column}, {term}), 0) > 0",
    "searched": lambda query: (
        "entry_search s WHERE feedmill_tokens(s.terms, s.full_terms)"
        f" @@ CAST(CAST({query} AS text) AS tsquery)"
    ),
    "rebuild_index": "REINDEX INDEX entry_search_index",
    "of_host": lambda lane, host: (
        f"({lane}.lane_key = {host} OR ({lane}.host = {host} AND {lane}.lane_key <> {lane}.host))"
    ),
    "database_bytes": "pg_database_size(current_database())",
    "numbered_events": "events",
    "all_events": "(SELECT type, feed_id, data FROM events"
    " UNION ALL SELECT type, feed_id, data FROM outbox)",
    "last_seq": "(SELECT seq FROM log_head)",
}


@lru_cache(maxsize=512)
def translate(sql: str) -> str:
    """The statement in PostgreSQL's dialect."""
    return expand(sql, MACROS)


@lru_cache(maxsize=64)
def translate_rows(statement: RowStatement) -> str:
    """The statement for many rows, which come as an array for each value."""
    given = unnest_rows(statement.names)
    own = {
        "from": f"FROM {given}",
        "using": f"USING {given}",
        "also": f", {given}",
        "values": f"SELECT * FROM {given}",
    }
    return statements.expand_rows(statement, MACROS, lambda name: f"n.{name}", **own)


class QueryRunner:
    """Runs queries; `pacing` says how many lanes a host has, and its first pace."""

    def __init__(self, pacing: LaneSettings) -> None:
        self._pacing = pacing

    async def run(self, connection: PgConnection, query: Query[T]) -> T:
        """The query's result."""
        answer: Any = None
        try:
            while True:
                answer = await self._answer(connection, query.send(answer))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # of the query's type

    async def _answer(self, connection: PgConnection, step: Step) -> Any:  # noqa: ANN401  # of any query
        match step:
            case Statement():
                return await _execute(connection, step)
            case statements.WriteRows():
                return await _execute_all(connection, step)
            case statements.Storable():
                return clean_value(step.value)
            case statements.LaneOf():
                return await lane_of(connection, step.url, self._pacing, step.feed_id)
            case statements.FindTitles():
                return title_search(step.text)
            case statements.IndexQuery():
                return statements.all_of(
                    step.query, both=" & ", either=" | ", quote="'", begins=":*"
                )
            case statements.AppendEvents():
                return await event_log.append(connection, step.events, step.cause)


async def _execute(connection: PgConnection, statement: Statement) -> Any:  # noqa: ANN401  # of any query
    kind, text, given, timeout_sec = statement
    sql = translate(text)
    if kind == "write_many":
        return await connection.executemany(sql, [_storable(row) for row in given])
    arguments = _storable(given)
    if kind == "rows":
        found = await connection.fetch(sql, *arguments, timeout=timeout_sec)
        return [tuple(row) for row in found]
    if kind == "row":
        row = await connection.fetchrow(sql, *arguments)
        return None if row is None else tuple(row)
    if kind == "value":
        return await connection.fetchval(sql, *arguments)
    status = await connection.execute(sql, *arguments)
    return int(status.rpartition(" ")[2])


async def _execute_all(connection: PgConnection, step: statements.WriteRows) -> list[Row] | None:
    sql, columns = translate_rows(step.statement), to_columns(step.rows)
    if not step.returning:
        await connection.execute(sql, *columns)
        return None
    return [tuple(row) for row in await connection.fetch(sql, *columns)]


def _storable(arguments: Sequence[Any]) -> list[Any]:
    """The arguments, with U+FFFD for what PostgreSQL cannot store in a text."""
    return [
        postgres_text(one) if type(one) is str else clean_value(one) if type(one) is list else one
        for one in arguments
    ]


def title_search(text: str) -> statements.TitleSearch:
    """How titles with a word that starts with the text are found."""
    kept = postgres_text(text)
    return statements.TitleSearch(kept, _conditions(kept.casefold()), is_exact=False)


def _conditions(text: str) -> list[tuple[str, str]]:
    """Clauses with a place for one parameter each; no title that matches is left out."""
    if text.isascii():
        pattern = "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
        return [(f'(e.title COLLATE "C" ILIKE {{}} OR {_BEYOND_ASCII})', pattern)]
    return [("strpos(e.title, {}) > 0", run.group()) for run in _UNCASED.finditer(text)] or [
        (f"{{}}::text IS NOT NULL AND {_BEYOND_ASCII}", text)
    ]
