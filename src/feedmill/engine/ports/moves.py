"""Store protocol: changes of address, and merges of two subscriptions (D6); all of it or nothing."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.event import NewEvent
from feedmill.model.feed import Lane, MergeCounts, Move, MoveCandidate


class MoveStore(Protocol):
    """Changes of address, and merges of two subscriptions (D6); all of it or nothing."""

    async def moves(self, feed_id: str) -> tuple[Move, ...]: ...  # the oldest first
    async def move_feed(
        self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()
    ) -> bool: ...  # False: it does not live there (any more), or the address is another feed's
    async def undo_move(
        self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()
    ) -> bool: ...  # `move.undone_at` says when
    async def note_candidate(
        self,
        feed_id: str,
        candidate: MoveCandidate | None,
        *,
        https_probed_at: datetime | None,
        events: Sequence[NewEvent] = (),
    ) -> None: ...
    async def merge_feeds(
        self,
        loser_id: str,
        winner_id: str,
        *,
        at: datetime,
        events: Sequence[NewEvent] = (),  # the counts join the data of feed.merged
        lane: Lane | None = None,  # that the caller holds; others that read either are fenced off
    ) -> MergeCounts | None: ...  # None: one of them is not there
