"""Standing screens: rules by which live polling holds new entries for review (001)."""

from datetime import datetime
from typing import Literal

import msgspec

from feedmill.model.base import Value
from feedmill.model.screening import Screening, TopicSet

LiveScreenMethod = Literal["lexical", "embedding", "hybrid"]


class LiveScreen(Value):
    """A rule for new entries of one feed, or of every feed under a tag."""

    id: str
    created_at: datetime
    feed_id: str | None = None
    tag: str | None = None
    keep_at: float | None = None  # let through what scores so much; None: hold everything
    method: LiveScreenMethod = "hybrid"
    topics: TopicSet | None = None  # that are scored for; needed with `keep_at`


class HeldEntry(Value):
    """An entry that polling found and did not store; its bytes stay in the raw store."""

    feed_id: str
    entry_uid: str
    dedupe_key: str
    content_hash: str
    held_at: datetime
    fetch_id: str
    body_sha256: str
    slice_offset: int | None = None  # where it stands in that body
    title: str | None = None
    is_dropped: bool = False  # reviewed and not wanted
    screening: Screening | None = None  # candidate_id 0: it has none before it is exported


class LiveScreenState(Value):
    """all live screens, and what they hold of one feed (001)."""

    screens: tuple[LiveScreen, ...] = ()  # all there are, the oldest first
    # entry_uid: content_hash, of what waits and of what was dropped
    held: dict[str, str] = msgspec.field(default_factory=dict)
