"""The base class of every value in feedmill, and lists: the filter for entries, and pages."""

from datetime import datetime
from typing import Generic, TypeVar, dataclass_transform

import msgspec

T = TypeVar("T")


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=True, field_specifiers=(msgspec.field,)
)
class Value(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fact that was true once and is never changed; change is a new value.

    What is built once from values that were there before is part of no cycle, so the garbage
    collector need not look at values: a tenth of the cost of a poll.
    """


class EntryFilter(Value):
    """Which entries a list shows, and in which order."""

    feed_id: str | None = None
    feed_ids: tuple[str, ...] | None = None  # any of these; an empty list lets nothing through
    tag: str | None = None
    category: str | None = None
    since: datetime | None = None  # first_seen, inclusive
    until: datetime | None = None  # first_seen, exclusive
    text: str | None = None  # prefix of a word in the title
    include_removed: bool = False
    newest_first: bool = False  # of entries that came in together, the newest first; else the last


class Page(Value, Generic[T]):
    """One page of a list, with the cursors of the next and the previous one."""

    items: tuple[T, ...]
    next: str | None = None
    previous: str | None = None  # only where a list can be read backwards
