"""Query parameters that filter entries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from litestar.di import NamedDependency
from litestar.params import QueryParameter

from feedmill.interfaces.rest.parameters import TagIs
from feedmill.interfaces.rest.problems import RequestError
from feedmill.model.base import EntryFilter
from feedmill.normalise.dates.parse import parse_date

_MOMENT = "RFC 3339, or a date."

Since = Annotated[
    str | None, QueryParameter(description=f"First seen at or after this time: {_MOMENT}")
]
Until = Annotated[str | None, QueryParameter(description=f"First seen before this time: {_MOMENT}")]
TextQuery = Annotated[
    str | None,
    QueryParameter(
        description="Only entries with a title word that starts with this.", max_length=200
    ),
]
CategoryQuery = Annotated[
    str | None, QueryParameter(description="Only entries with this category.", max_length=200)
]
FeedsQuery = Annotated[
    list[str] | None, QueryParameter(description="Only entries of this feed; repeatable.")
]
_MOST_FEEDS = 500


QueryFilter = NamedDependency[EntryFilter]


def entry_filter_of_query(
    feed: FeedsQuery = None,
    tag: TagIs = None,
    category: CategoryQuery = None,
    since: Since = None,
    until: Until = None,
    text: TextQuery = None,
) -> EntryFilter:
    """Litestar dependency: the query parameters of /entries as a filter."""
    return entry_filter(feeds=feed, tag=tag, category=category, since=since, until=until, text=text)


def entry_filter(
    *,
    feeds: Sequence[str] | None = None,
    tag: str | None = None,
    category: str | None = None,
    since: str | None = None,
    until: str | None = None,
    text: str | None = None,
) -> EntryFilter:
    """The entry filter of a query; problem 400 for an invalid time."""
    if feeds is not None and len(feeds) > _MOST_FEEDS:
        raise RequestError(code="bad-parameter", detail=f"feed: at most {_MOST_FEEDS} values")
    return EntryFilter(
        feed_ids=None if feeds is None else tuple(feeds),
        tag=tag,
        category=category,
        since=_moment(since, "since"),
        until=_moment(until, "until"),
        text=text,
    )


def _moment(text: str | None, name: str) -> datetime | None:
    if text is None:
        return None
    moment = parse_date(text[:100])
    if moment is None:
        detail = f"{name}: {text[:100]!r} is not a time; use a format like 2025-10-14T09:30:00Z"
        raise RequestError(code="bad-parameter", detail=detail)
    return moment
