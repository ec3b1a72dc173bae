"""Which entries a list shows, and in which order."""

from datetime import datetime

from feedmill.model.base import Value


class EntryFilter(Value):
    feed_id: str | None = None
    feed_ids: tuple[str, ...] | None = None  # any of these; an empty list lets nothing through
    tag: str | None = None
    category: str | None = None
    since: datetime | None = None  # first_seen, inclusive
    until: datetime | None = None  # first_seen, exclusive
    text: str | None = None  # prefix of a word in the title
    include_removed: bool = False
    newest_first: bool = False  # of entries that came in together, the newest first; else the last
