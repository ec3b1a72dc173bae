"""One page of a list with the cursors of its neighbours, and which entries, feeds and hosts a list shows.

Filters that nothing could pass are refused: a list of nothing would pass for an answer.
"""

from datetime import datetime
from typing import Generic, Literal, TypeVar

from feedmill.errors import FilterError, RangeError
from feedmill.model.base import Value
from feedmill.model.derived.search import SearchQuery

T = TypeVar("T")


EntryOrder = Literal["published", "first_seen", "relevance"]  # the last for a search only
Duplicates = Literal["hide", "include", "cluster"]


class EntryFilter(Value):
    """Which entries a list shows, and in which order: the newest first, unless `ascending`."""

    feed_id: str | None = None
    feed_ids: tuple[str, ...] | None = None  # any of these; an empty list lets nothing through
    tag: str | None = None
    category: str | None = None
    author: str | None = None  # a name or an e-mail address, as the feed gives it
    language: str | None = None  # `en` matches en-GB too
    has_enclosure: bool | None = None
    since: datetime | None = None  # first_seen, inclusive
    until: datetime | None = None  # first_seen, exclusive
    published_since: datetime | None = None  # published_effective, inclusive
    published_until: datetime | None = None  # published_effective, exclusive
    text: str | None = None  # prefix of a word in the title
    query: SearchQuery | None = None  # words in title, summary and content
    include_removed: bool = False
    duplicates: Duplicates = "include"  # "hide": an article once; "cluster": a story once
    order: EntryOrder = "first_seen"
    ascending: bool = False


FeedOrder = Literal["name", "added", "next-poll", "failures"]  # the last lists failing feeds only
FeedListState = Literal[
    "failing", "backing-off", "suspect", "gone", "paused", "circuit-open", "lost"
]


class FeedFilter(Value):
    """Which feeds a list shows, and in which order."""

    text: str | None = None  # part of the title or of an address
    tag: str | None = None
    host: str | None = None  # as lanes are called: host, or host:port
    state: FeedListState | None = None
    late_at: datetime | None = None  # due at this instant for longer than an interval, not paused
    order: FeedOrder = "added"
    descending: bool = False


class ListPage(Value, Generic[T]):
    """One page of a list, with the cursor of the next one."""

    items: tuple[T, ...]
    next: str | None = None


class Page(ListPage[T], Generic[T]):
    """One page of a list of the store, with the cursor of the previous one too."""

    previous: str | None = None  # only where a list can be read backwards


class LinePage(Value):
    """One page of a list as JSON, an item on each line, with the cursor of the next one."""

    lines: bytes  # a newline between two of them, and none elsewhere: JSON escapes it
    next: str | None = None

    @property
    def items(self) -> tuple[bytes, ...]:
        """The items, each as JSON."""
        return tuple(self.lines.split(b"\n")) if self.lines else ()


class HostFilter(Value):
    """Which hosts a list shows."""

    text: str | None = None  # part of the name
    host: str | None = None  # exactly this one, with all its lanes
    troubled: bool = False  # only those that pause or fail
    # only those that are left alone now; those with the most feeds come first
    resting: bool = False


def check_filter(where: EntryFilter) -> None:
    """FilterError when a text is empty, a range ends before it begins, or an order does not go with the rest."""
    for name in ("tag", "category", "author", "language", "text"):
        check_text(name, getattr(where, name))
    check_range(where.since, where.until)
    check_range(where.published_since, where.published_until, "published_")
    if where.order == "relevance" and where.query is None:
        message = "relevance is the order of a search: give one, or another order"
        raise FilterError(message)
    if where.order == "relevance" and where.ascending:
        message = (
            "a search by relevance has the best first;"
            " for the oldest first, order it by published or first_seen"
        )
        raise FilterError(message)


def check_text(name: str, text: str | None) -> None:
    """FilterError when a text is empty: it is a variable that a program did not set, not "any"."""
    if text is not None and not text.strip():
        message = f"{name} is empty; leave it out instead"
        raise FilterError(message)


def check_range(since: datetime | None, until: datetime | None, kind: str = "") -> None:
    """RangeError when the range ends before it begins."""
    if since is not None and until is not None and since > until:
        message = f"{kind}since ({since.isoformat()}) is after {kind}until ({until.isoformat()})"
        raise RangeError(message)
