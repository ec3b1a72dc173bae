"""Table `fetches` and its view `schedule_decisions`: requests, and the decisions after them."""

# ruff: noqa: S608  # names come from the list beside; values are parameters

from typing import Final

from feedmill.adapters.store.statements import Query, row, rows
from feedmill.adapters.store.tables.codec import NEVER
from feedmill.adapters.store.tables.decision_codec import decision_of
from feedmill.adapters.store.tables.fetch_codec import FETCH_SELECT, fetch_of
from feedmill.adapters.store.tables.paging import page_of, position
from feedmill.model.feed import FetchRecord
from feedmill.model.page import Page
from feedmill.model.schedule import Decision

_FEED_NO: Final = "(SELECT feed_no FROM feeds WHERE id = $1)"
_PAGE: Final = (
    f"{FETCH_SELECT.replace('SELECT ', 'SELECT x.scheduled_at, ', 1)} WHERE x.feed_no = {_FEED_NO}"
    " AND x.scheduled_at < $2 ORDER BY x.scheduled_at DESC LIMIT $3"
)


def fetches(
    feed_id: str, *, after: str | None = None, limit: int = 100
) -> Query[Page[FetchRecord]]:
    """Fetches of a feed, the newest first."""
    (scheduled_at,) = position(after, 1) or (NEVER,)
    found = yield from rows(_PAGE, feed_id, scheduled_at, limit + 1)
    return page_of(found, limit, lambda one: fetch_of(one[1:]), lambda one: f"{one[0]}")


def fetch(fetch_id: str) -> Query[FetchRecord | None]:
    """The fetch of that id."""
    found = yield from row(f"{FETCH_SELECT} WHERE x.fetch_id = $1", fetch_id)
    return None if found is None else fetch_of(found)


def decisions(feed_id: str, limit: int = 20) -> Query[tuple[Decision, ...]]:
    """Why the feed is polled as it is, the newest decision first (D23)."""
    found = yield from rows(
        f"SELECT decision FROM schedule_decisions WHERE feed_no = {_FEED_NO}"
        " ORDER BY scheduled_at DESC LIMIT $2",
        feed_id,
        limit,
    )
    return tuple(decision_of(feed_id, text) for (text,) in found)
