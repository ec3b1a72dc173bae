"""Runs queries (`statements`) on a SQLite connection, inside the writer's or a reader's thread."""
# Tested in tests/unit/adapters/store/test_statements.py

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

from feedmill.adapters.store.sqlite import event_log
from feedmill.adapters.store.sqlite.claims import lane_of
from feedmill.adapters.store.sqlite.connection import ADD_KEY, is_bad_value
from feedmill.adapters.store.statements import (
    AppendEvents,
    FindTitles,
    IndexQuery,
    LaneOf,
    Macros,
    Query,
    RowStatement,
    Statement,
    Step,
    Storable,
    TitleSearch,
    WriteRows,
    all_of,
    expand,
    expand_rows,
)
from feedmill.adapters.store.tables.codec import Row, json_text
from feedmill.observe.log import logger

T = TypeVar("T")

_LOOK_EVERY: Final = 10_000  # steps of SQLite's machine, about a millisecond


def _rows(parameter: str, *columns: str) -> str:
    names = [column.split()[0] for column in columns]
    values = [f"json_extract(value, '$[{at}]') AS {name}" for at, name in enumerate(names)]
    return f"(SELECT {', '.join(values)} FROM json_each({parameter}))"


MACROS: Final[Macros] = {
    "greatest": "max",
    "least": "min",
    "truncated": lambda number: f"CAST({number} AS INTEGER)",
    "like": "LIKE",
    "lock": lambda _: "",
    "in": lambda parameter: f"IN (SELECT value FROM json_each({parameter}))",
    "rows": _rows,
    "digest": lambda text: text,
    "digest_and_text": lambda _, text: text,
    "digest_and_value": lambda text: text,
    "digest_or_text": lambda _, text: text,
    "add_key": ADD_KEY,
    "locked_entries": "entries",
    "add_keys": ADD_KEY,
    "field": lambda column, name: f"json_extract({column}, '$.{name}')",
    "contains": lambda column, text: f"{text} IN (SELECT value FROM json_each({column}))",
    "has_author": lambda column, text: (
        f"EXISTS (SELECT 1 FROM json_each({column}) WHERE {text} IN"
        " (json_extract(value, '$.name'), json_extract(value, '$.email')))"
    ),
    "earlier_refs": lambda entry: (
        f"CASE WHEN {entry}.revisions > 0 THEN (SELECT json_group_array(json_array(fetch_id, slice_offset,"
        " slice_length)) FROM (SELECT v.fetch_id, v.slice_offset, v.slice_length FROM entry_revisions v"
        f" WHERE v.entry_id = {entry}.entry_id AND v.fetch_id IS NOT NULL ORDER BY v.number DESC LIMIT 19)) END"
    ),
    "holds": lambda column, term: f"coalesce(instr({column}, {term}), 0) > 0",
    "searched": lambda query: (
        "entry_search_index JOIN entry_search s ON s.entry_id = entry_search_index.rowid"
        f" WHERE entry_search_index MATCH {query}"
    ),
    "rebuild_index": "INSERT INTO entry_search_index (entry_search_index) VALUES ('rebuild')",
    "of_host": lambda lane, host: f"{lane}.lane_key = {host}",
    "database_bytes": "(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)",
    "all_events": "outbox",
    "numbered_events": "outbox",
    "last_seq": "(SELECT coalesce(max(seq), 0) FROM outbox)",
}


@lru_cache(maxsize=512)
def translate(sql: str) -> str:
    """The statement in SQLite's dialect: `$1` would be a named parameter, `?1` is a numbered one."""
    return re.sub(r"\$(\d+)", r"?\1", expand(sql, MACROS))


@lru_cache(maxsize=64)
def translate_rows(statement: RowStatement) -> str:
    """The statement for one row."""
    places = {name: f"?{at}" for at, name in enumerate(statement.names, start=1)}
    values = f"VALUES ({', '.join(places.values())})"
    nothing = {"from": "", "using": "", "also": ""}
    return expand_rows(statement, MACROS, places.__getitem__, values=values, **nothing)


class QueryRunner:
    """Runs queries; `gap_ms` is the pace of a host that nothing is known about."""

    def __init__(self, gap_ms: int) -> None:
        self._gap_ms = gap_ms

    def run(self, connection: sqlite3.Connection, query: Query[T]) -> T:
        """The query's result."""
        answer: Any = None
        try:
            while True:
                answer = self._answer(connection, query.send(answer))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]  # of the query's type

    def read(self, connection: sqlite3.Connection, make: Callable[[], Query[T]]) -> T:
        """The result of a query that only reads; a text that is not UTF-8 is read with U+FFFD in it."""
        try:
            return self.run(connection, make())
        except sqlite3.OperationalError as error:
            if not is_bad_value(error):
                raise
            logger("store").error(
                "a text is not UTF-8; `feedmill verify` says where", detail=str(error)
            )
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            return self.run(connection, make())
        finally:
            connection.text_factory = str

    def _answer(self, connection: sqlite3.Connection, step: Step) -> Any:  # noqa: ANN401  # of any query
        match step:
            case Statement():
                return _execute(connection, step)
            case WriteRows():
                return _execute_each(connection, step)
            case Storable():
                return step.value
            case LaneOf():
                return lane_of(connection, step.url, self._gap_ms)
            case FindTitles():
                conditions = [("begins_word(e.title, {})", step.text)]  # of `connection`
                return TitleSearch(step.text, conditions, is_exact=True)
            case IndexQuery():
                return all_of(step.query, both=" AND ", either=" OR ", quote='"', begins="*")
            case AppendEvents():
                return event_log.append_events(connection, step.events, step.cause)


def _execute(connection: sqlite3.Connection, statement: Statement) -> Any:  # noqa: ANN401  # of any query
    kind, sql, arguments, timeout_sec = statement
    if kind == "lock":
        return None
    if kind == "write_many":
        return connection.executemany(translate(sql), arguments).rowcount
    given = [_list_text(one) if type(one) is list else one for one in arguments]
    if timeout_sec is not None:
        with _ended_after(connection, timeout_sec):
            return connection.execute(translate(sql), given).fetchall()
    cursor = connection.execute(translate(sql), given)
    if kind == "rows":
        return cursor.fetchall()
    if kind == "write":
        return cursor.rowcount
    found = cursor.fetchone()
    return found if kind == "row" or found is None else found[0]


def _execute_each(connection: sqlite3.Connection, step: WriteRows) -> list[Row] | None:
    sql = translate_rows(step.statement)
    if not step.returning:
        connection.executemany(sql, step.rows)
        return None
    return [found for one in step.rows for found in connection.execute(sql, one).fetchall()]


@contextmanager
def _ended_after(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Let a statement that takes longer end with SQLITE_INTERRUPT: others wait for its thread."""
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _LOOK_EVERY)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


def _list_text(values: list[Any]) -> str:
    """A list for `@in`. SQLite reads a text from JSON up to its first NUL, and would find another one."""
    return json_text([one for one in values if not (type(one) is str and "\x00" in one)])
