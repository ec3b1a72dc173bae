"""What feeds looked like when they were taken in, until they are polled."""

from typing import Final

from feedmill.canonicalise.signature import same_feed
from feedmill.model.canonical import Seen

MAX_RECENT_SUBSCRIPTIONS: Final = 10_000  # remembered; the oldest goes


class RecentlySubscribed:
    """Feeds by what was seen of them: one that comes again under another name is known by it."""

    def __init__(self) -> None:
        self._faces: dict[str, Seen] = {}

    def matches(self, feed_id: str, seen: Seen) -> bool:
        """Whether the answer proves to be what the feed was when it was taken in."""
        face = self._faces.get(feed_id)
        return face is not None and same_feed(face, seen) is not None

    def add(self, feed_id: str, face: Seen) -> None:
        """Know the feed by what was seen of it."""
        if len(self._faces) >= MAX_RECENT_SUBSCRIPTIONS:
            del self._faces[next(iter(self._faces))]
        self._faces[feed_id] = face
