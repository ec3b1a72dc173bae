"""One page of a list whose newest rows come first: jobs, media."""
# Tested in tests/contracts/store/test_jobs.py

from collections.abc import Callable, Mapping
from typing import TypeVar

from feedmill.adapters.store import statements
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import NEVER, Row
from feedmill.adapters.store.tables.paging import page_of, position
from feedmill.model.page import Page

T = TypeVar("T")


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
