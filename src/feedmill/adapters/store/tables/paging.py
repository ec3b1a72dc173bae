"""Pages and the cursors between them: the same in every database.

A page is found by its key, never by counting rows. Cursors are opaque to callers: an entry's
`first_seen.published.entry_id`, `published.entry_id` or `score.entry_id`, a fetch's `scheduled_at`, a
feed's number, an article's `entry_id.article_hash`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from feedmill.adapters.store import statements
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import NEVER, Row, RowCodec
from feedmill.errors import UsageError
from feedmill.model.event import StoredArticle
from feedmill.model.page import EntryOrder, Page

T = TypeVar("T")

# What entries are ordered by, and where it stands in a row of STORED_COLUMNS and the entry's number.
ENTRY_ORDERS: Final[dict[EntryOrder, tuple[tuple[str, ...], tuple[int, ...]]]] = {
    "first_seen": (("e.first_seen", "e.published_effective", "e.entry_id"), (2, 19, -1)),
    "published": (("e.published_effective", "e.entry_id"), (19, -1)),
    "relevance": (("e.entry_id",), (-1,)),  # of the entries that are ranked
}
_ARTICLE: Final = RowCodec(
    StoredArticle,
    "article_hash first_seen link entry_uid feed_id title published_effective",
    table="articles",
)
article_of: Final = _ARTICLE.value  # of a row of ARTICLES after the number of its entry
_DIGEST_CHARS: Final = 64
ARTICLES: Final = (
    "SELECT a.entry_id, a.article_hash, a.first_seen, a.link, e.entry_uid, f.id, e.title,"
    " e.published_effective FROM articles a LEFT JOIN entries e ON e.entry_id = a.entry_id"
    " LEFT JOIN feeds f ON f.feed_no = e.feed_no"
)
REVISIONS: Final = (
    "SELECT e.entry_uid, r.number, r.replaced_at, r.changed, r.content_hash, r.title,"
    " r.summary, r.content, r.canonical_link, r.published, r.updated, r.fetch_id"
    " FROM entry_revisions r JOIN entries e ON e.entry_id = r.entry_id"
)


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
    """The numbers of a cursor; UsageError when it is none of this list's."""
    if cursor is None:
        return None
    pieces = cursor.split(".")
    if len(pieces) != parts or not all(re.fullmatch(sign + "[0-9]{1,18}", one) for one in pieces):
        raise foreign_cursor(cursor)
    return tuple(int(one) for one in pieces)


def foreign_cursor(cursor: str | None) -> UsageError:
    """The error for a cursor that no page of this list gave."""
    return UsageError(f"{cursor!r} is no cursor of this list; take the one that the last page gave")


def escape_like(text: str) -> str:
    """A text inside a LIKE pattern with `!` as its escape character."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def article_position(cursor: str | None) -> tuple[int, str]:
    """Where a page of articles begins."""
    if cursor is None:
        return NEVER, ""
    entry_id, _, digest = cursor.partition(".")
    (number,) = position(entry_id, 1) or (NEVER,)
    if digest.isdecimal() and len(digest) < _DIGEST_CHARS:  # of a list of entries
        raise foreign_cursor(cursor)
    return number, digest


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
    found = yield from statements.rows(
        f"{select} WHERE {where} ORDER BY {number} DESC LIMIT $2",  # names of columns
        last,
        limit + 1,
        *given.values(),
    )
    return page_of(found, limit, value_of, lambda one: f"{one[-1]}")
