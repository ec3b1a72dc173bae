"""What a publisher changed from one document to the next, entry by entry."""
# Tested in tests/unit/identify/test_compare_documents.py

from datetime import datetime
from typing import Any, Literal

from feedmill.model.base import Value


class FieldChange(Value):
    """One field whose value differs; None: it is not there."""

    field: str
    before: Any = None
    after: Any = None


class EntryChange(Value):
    """One entry that was added, removed, changed, or that only stands in another place."""

    change: Literal["added", "removed", "changed", "moved"]
    id: str | None = None
    link: str | None = None
    title: str | None = None
    before: int | None = None  # its place in the document, from 1
    after: int | None = None
    moved: bool = False  # its place among the entries that stayed is another
    fields: tuple[FieldChange, ...] = ()


class DocumentDiff(Value):
    """Two documents of one feed compared."""

    feed: tuple[FieldChange, ...] = ()  # fields of the feed itself
    entries: tuple[EntryChange, ...] = ()  # those of the later document first, then the removed
    unchanged: int = 0  # entries that are equal and stand in the same order

    @property
    def is_empty(self) -> bool:
        """True when the publisher changed nothing that the parser reads."""
        return not self.feed and not self.entries


class FetchDiff(Value):
    """What changed between the documents of two fetches."""

    feed_id: str
    before: str  # fetch ids
    after: str
    before_at: datetime
    after_at: datetime
    same_bytes: bool
    diff: DocumentDiff
