"""Queries that are written once and run on both databases.

A query is a generator: it yields a step, is sent the answer, and returns its result. It does not wait
and does not know where it runs: `sqlite/run_query.py` runs it on a `sqlite3` connection inside a thread,
`postgres/run_query.py` on asyncpg. A transaction may be repeated, so a runner is given the function that
makes the query and its arguments, never a generator that has begun.

SQL keeps to what both databases understand, with `$1` placeholders; an argument that is an instant is passed as
microseconds. A word with an `@` stands for what they spell differently; each runner has its own table of these macros:

    @greatest, @least           the larger or smaller of several values
    @like                       LIKE without regard to case (in SQLite, to that of ASCII letters)
    @lock(FOR UPDATE)           a row lock; SQLite has one writer at a time and needs none
    @in($1)                     membership in a list of integers or texts: `id @in($1)`
    @rows($1, a bigint, b text) a JSON list of lists as a table; for texts without NUL
    @digest($1)                 what a long text that has to be unique is found by
    @digest_and_text(h, t)      both columns of such a text, for an INSERT
    @digest_and_value($1)       both values of it
    @digest_or_text(h, t)       the column that is unique
    @add_key                    registers an identity key ($1 its type, $2 its value) for entry $3, unless an entry has it
    @field(data, name)          a field of a JSON object as text
    @contains(tags, $1)         whether a JSON list of texts contains one
    @has_author(authors, $1)    whether a JSON list of authors has one of this name or e-mail address
    @earlier_refs(e)            where earlier states of an entry stand: at most 19 lists, the newest first
    @of_host(l, $1)             true for a lane of this host
    @database_bytes             the size of the database
    @numbered_events            the table of events that have a sequence number
    @holds(terms, $1)           whether a term stands among the tokens of a row
    @searched($1)               the rows `s` of `entry_search` that an index query finds, open for further conditions
    @rebuild_index              makes that index anew
    @all_events, @last_seq      the table of all events, and the newest sequence number

A `RowStatement` is for many rows whose values it names (`:entry_id`). SQLite executes it for each row, PostgreSQL once
for all of them, which come as arrays (`unnest`). It has macros of its own:

    @from, @using, @also        the rows as the only table of an UPDATE or SELECT, of a DELETE, or beside other tables
    @values                     the rows to be inserted as they are
    @locked_entries             `entries`, locked in one order; the first value of the rows is the number
    @add_keys                   registers identity keys, as @add_key does, in the order of their hashes

Pages of lists are the same in every database: a page is found by its key, never by counting rows. Cursors are opaque to callers: an entry's
`first_seen.published.entry_id`, `published.entry_id` or `score.entry_id`, a fetch's `scheduled_at`, a
feed's number, an article's `entry_id.article_hash`.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from feedmill.adapters.store.tables.codec import NEVER, Row, micros
from feedmill.errors import CursorError
from feedmill.model.derived.search import SearchQuery, Term
from feedmill.model.event import NewEvent
from feedmill.model.page import Page

T = TypeVar("T")

KEY_COLUMNS: Final = ("key_type", "key_value", "entry_id")  # of @add_key and @add_keys

Macros: TypeAlias = Mapping[str, "str | Callable[..., str]"]
_VALUE: Final = re.compile(r":([a-z_]+)")
_MACRO: Final = re.compile(r"@(\w+)(?:\(([^()]*)\))?")


class Statement(NamedTuple):
    """One statement and what is wanted of it."""

    kind: Literal["row", "rows", "value", "write", "write_many", "lock"]
    sql: str
    arguments: Sequence[Any]
    timeout_sec: float | None = None  # other than the usual one; on SQLite there is no usual one


class RowStatement(Struct, frozen=True, eq=False):  # found again by identity, which is quick
    """A statement for many rows, and the names of their values, in this order."""

    names: tuple[str, ...]
    sql: str


class WriteRows(NamedTuple):
    """Rows for a statement; with `returning`, what it returns for all of them is wanted."""

    statement: RowStatement
    rows: Sequence[Row]
    returning: bool = False


class Storable(NamedTuple):
    """A value whose texts have to be fit for the database before they are encoded as JSON."""

    value: Any


class LaneOf(NamedTuple):
    """The lane of a feed at this URL, made when it is the first of its host."""

    url: str
    feed_id: str


class FindTitles(NamedTuple):
    """How the database finds titles with a word that starts with the text."""

    text: str


class TitleSearch(NamedTuple):
    """Conditions, each with a place for one parameter, that leave no matching title out."""

    text: str
    conditions: Sequence[tuple[str, str]]
    is_exact: bool  # whether they let only matching titles through

    def match(self, title: str | None) -> bool:
        """True when a word of the title starts with the text, whatever its case."""
        return begins_word(title, self.text)


class IndexQuery(NamedTuple):
    """A search in the language of the database's index: which tokens an entry has to hold."""

    query: SearchQuery


class AppendEvents(NamedTuple):
    """Events to be written to the log; `cause` names what happened once: ids derive from it."""

    events: Sequence[NewEvent]
    cause: str


Step: TypeAlias = Statement | WriteRows | Storable | LaneOf | FindTitles | IndexQuery | AppendEvents
Query: TypeAlias = Generator[Step, Any, T]


def row(sql: str, *arguments: object) -> Query[Row | None]:
    """The first row, None when there is none."""
    return (yield _statement("row", sql, arguments))  # type: ignore[no-any-return]  # the runner's promise


def rows(sql: str, *arguments: object, timeout_sec: float | None = None) -> Query[list[Row]]:
    """All rows."""
    return (yield _statement("rows", sql, arguments, timeout_sec))  # type: ignore[no-any-return]


def value(sql: str, *arguments: object) -> Query[Any]:
    """The first column of the first row, None when there is none."""
    return (yield _statement("value", sql, arguments))


def write(sql: str, *arguments: object) -> Query[int]:
    """Execute the statement; the number of rows that it changed."""
    return (yield _statement("write", sql, arguments))  # type: ignore[no-any-return]


def one_of(value_of: Callable[[Row], T], sql: str, *arguments: object) -> Query[T | None]:
    """The value of the first row, None when there is none."""
    found = yield from row(sql, *arguments)
    return None if found is None else value_of(found)


def each_of(value_of: Callable[[Row], T], sql: str, *arguments: object) -> Query[tuple[T, ...]]:
    """The values of all rows."""
    return tuple(map(value_of, (yield from rows(sql, *arguments))))


def column(sql: str, *arguments: object, timeout_sec: float | None = None) -> Query[list[Any]]:
    """The first column of all rows."""
    return [one[0] for one in (yield from rows(sql, *arguments, timeout_sec=timeout_sec))]


def write_one(sql: str, *arguments: object) -> Query[bool]:
    """Execute the statement; whether it changed a row."""
    return (yield from write(sql, *arguments)) == 1


def write_many(sql: str, arguments: Sequence[Row]) -> Query[None]:
    """Execute the statement once for each tuple of arguments."""
    if arguments:
        yield Statement("write_many", sql, arguments)


def write_rows(statement: RowStatement, rows: Sequence[Row]) -> Query[None]:
    """Execute the statement for these rows; nothing when there are none."""
    if rows:
        yield WriteRows(statement, rows)


def rows_of_rows(statement: RowStatement, rows: Sequence[Row]) -> Query[list[Row]]:
    """Execute the statement for these rows; what it returned for all of them."""
    return (yield WriteRows(statement, rows, returning=True)) if rows else []


def lock(sql: str, *arguments: object) -> Query[None]:
    """Execute a statement that only locks; left out on SQLite, where writers take turns anyway."""
    yield Statement("lock", sql, arguments)


def storable(value: T) -> Query[T]:
    """The value with U+FFFD for characters that PostgreSQL cannot store; as it is on SQLite."""
    return (yield Storable(value))  # type: ignore[no-any-return]


def lane_of(url: str, feed_id: str) -> Query[int]:
    """The number of the lane that a feed at this URL belongs to."""
    return (yield LaneOf(url, feed_id))  # type: ignore[no-any-return]


def title_search(text: str) -> Query[TitleSearch]:
    """How titles with a word that starts with the text are found."""
    return (yield FindTitles(text))  # type: ignore[no-any-return]


def index_query(query: SearchQuery) -> Query[str]:
    """The search in the language of the database's index."""
    return (yield IndexQuery(query))  # type: ignore[no-any-return]


def all_of(query: SearchQuery, *, both: str, either: str, quote: str, begins: str) -> str:
    """The tokens of a search as an expression of an index; a token has letters and digits only."""

    def written(term: Term) -> str:
        tokens = [f"{quote}{token}{quote}" for token in dict.fromkeys(term.tokens)]
        return f"({both.join(tokens)}{begins if term.prefix else ''})"

    return both.join(f"({either.join(map(written, one.terms))})" for one in query.required)


def begins_word(title: str | None, text: str) -> bool:
    """True when a word of the title begins like that, whatever its case."""
    found: Any = title is not None and re.search(
        rf"\b{re.escape(text.casefold())}", title.casefold()
    )
    return bool(found)


def append_events(events: Sequence[NewEvent], cause: str) -> Query[None]:
    """Write events to the log in this transaction."""
    if events:
        yield AppendEvents(events, cause)


def insert_into(table: str, columns: Sequence[str]) -> str:
    """An INSERT of one row with these columns."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({slots(len(columns))})"


def assigned(columns: Sequence[str], first: int = 1) -> str:
    """The columns of an UPDATE, with placeholders from the first on."""
    return ", ".join(f"{name} = ${at}" for at, name in enumerate(columns, first))


def excluded(columns: Sequence[str]) -> str:
    """The columns of an upsert that take the values given."""
    return ", ".join(f"{name} = excluded.{name}" for name in columns)


def slots(count: int) -> str:
    """The placeholders of so many values."""
    return ", ".join(f"${number}" for number in range(1, count + 1))


def expand(sql: str, macros: Macros) -> str:
    """The statement with its macros replaced."""

    def replaced(found: re.Match[str]) -> str:
        name, inner = found.groups()
        macro = macros[name]
        if isinstance(macro, str):
            return macro + found.group()[len(name) + 1 :]
        return macro(*(part.strip() for part in inner.split(",")))

    return _MACRO.sub(replaced, sql)


def named_values(names: Sequence[str]) -> str:
    """The values of the rows of a RowStatement."""
    return ", ".join(f":{name}" for name in names)


def expand_rows(
    statement: RowStatement, macros: Macros, value: Callable[[str], str], **own: str
) -> str:
    """The statement with its values spelled by `value` and its macros replaced, `own` ones first."""
    sql = _VALUE.sub(lambda found: value(found[1]), statement.sql)
    return expand(sql, {**macros, **own})


def _statement(
    kind: Literal["row", "rows", "value", "write"],
    sql: str,
    arguments: Sequence[object],
    timeout_sec: float | None = None,
) -> Statement:
    given = [micros(one) if isinstance(one, datetime) else one for one in arguments]
    return Statement(kind, sql, given, timeout_sec)


def page_of(
    rows: Sequence[Row], limit: int, value_of: Callable[[Row], T], position_of: Callable[[Row], str]
) -> Page[T]:
    """The page; one row more than asked for says that there is another."""
    shown = rows[:limit]
    following = position_of(shown[-1]) if len(rows) > limit and shown else None
    return Page(items=tuple(value_of(row) for row in shown), next=following)


def page_between(
    rows: Sequence[Row],
    limit: int,
    value_of: Callable[[Row], T],
    position_of: Callable[[Row], str],
    *,
    after: str | None,
    before: str | None,
) -> Page[T]:
    """The page of a list that can be read backwards, in the same order whichever way it was read."""
    page = page_of(rows, limit, value_of, position_of)
    shown = rows[:limit]
    if before is None:
        behind = position_of(shown[0]) if after is not None and shown else None
        return Page(items=page.items, next=page.next, previous=behind)
    return Page(
        items=page.items[::-1], next=position_of(shown[0]) if shown else None, previous=page.next
    )


def position(cursor: str | None, parts: int, *, sign: str = "-?") -> tuple[int, ...] | None:
    """The numbers of a cursor; CursorError when it is none of this list's."""
    if cursor is None:
        return None
    pieces = cursor.split(".")
    if len(pieces) != parts or not all(re.fullmatch(sign + "[0-9]{1,18}", one) for one in pieces):
        raise CursorError(cursor)
    return tuple(int(one) for one in pieces)


def escape_like(text: str) -> str:
    """A text inside a LIKE pattern with `!` as its escape character."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def newest_page(
    select: str,
    number: str,
    wanted: Mapping[str, object],
    value_of: Callable[[Row], T],
    *,
    after: str | None,
    limit: int,
) -> Query[Page[T]]:
    """Rows whose columns have the wanted values (None: any), the highest number first; it is the last column."""
    given = {column: one for column, one in wanted.items() if one is not None}
    (last,) = position(after, 1, sign="") or (NEVER,)
    conditions = [f"{column} = ${at}" for at, column in enumerate(given, 3)]
    where = " AND ".join([f"{number} < $1", *conditions])
    found = yield from rows(
        f"{select} WHERE {where} ORDER BY {number} DESC LIMIT $2",  # names of columns
        last,
        limit + 1,
        *given.values(),
    )
    return page_of(found, limit, value_of, lambda one: f"{one[-1]}")
