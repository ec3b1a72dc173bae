"""Store protocols: subscriptions, lanes and the pace of hosts, changes of address and merges, progress of imports, WebSub hubs.

Ports: screeners, live screens with the entries they hold, collected documents, confirmations.
"""
# Tested in tests/contracts/

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model import screening
from feedmill.model.candidate import CollectedDocument, Question
from feedmill.model.event import NewEvent
from feedmill.model.feed import (
    BlobRef,
    Claim,
    Feed,
    HostLane,
    HostPace,
    HubTally,
    ImportedOutline,
    Lane,
    MergeCounts,
    MergedFeed,
    Move,
    MoveCandidate,
    NewFeed,
    PushSubscription,
)
from feedmill.model.page import FeedFilter, HostFilter, Page


class FeedStore(Protocol):
    """Subscriptions and their addresses."""

    async def add_feed(
        self, new: NewFeed, events: Sequence[NewEvent] = ()
    ) -> tuple[Feed, bool]: ...
    async def feed(self, feed_id: str) -> Feed | None: ...
    async def find_feed(self, urls: Sequence[str]) -> Feed | None: ...
    async def feeds(
        self, *, tag: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Feed]: ...
    async def find_feeds(
        self, where: FeedFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[Feed]: ...
    async def count_feeds(self, where: FeedFilter, *, at_most: int | None = None) -> int: ...
    async def feed_states(self) -> dict[str, int]: ...  # feeds, paused, never polled …
    async def aliases(self, feed_id: str) -> tuple[str, ...]: ...
    async def change_feed(self, feed: Feed) -> None: ...
    async def remove_feed(self, feed_id: str, events: Sequence[NewEvent] = ()) -> bool: ...
    async def change_feed_hubs(self, feed_id: str, hubs: Sequence[str]) -> None: ...
    async def make_due(self, feed_ids: Sequence[str] | None, now: datetime) -> int: ...
    async def feed_tags(self, feed_ids: Sequence[str]) -> dict[str, tuple[str, ...]]: ...


class MoveStore(Protocol):
    """Changes of address, and merges of two subscriptions (D6); all of it or nothing."""

    async def moves(self, feed_id: str) -> tuple[Move, ...]: ...  # the oldest first
    async def move_feed(
        self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()
    ) -> bool: ...  # False: it does not live there (any more), or the address is another feed's
    async def undo_move(
        self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()
    ) -> bool: ...  # `move.undone_at` says when
    async def save_move_candidate(
        self,
        feed_id: str,
        candidate: MoveCandidate | None,
        *,
        https_probed_at: datetime | None,
        events: Sequence[NewEvent] = (),
    ) -> None: ...
    async def hide_merged(
        self, feed_id: str, into_id: str, *, at: datetime, events: Sequence[NewEvent] = ()
    ) -> bool: ...  # a merge that can be undone: not listed, not polled; its addresses lead there
    async def show_merged(self, feed_id: str, events: Sequence[NewEvent] = ()) -> bool: ...
    async def merged_feeds(self) -> tuple[MergedFeed, ...]: ...  # the last one first
    async def merge_feeds(
        self,
        loser_id: str,
        winner_id: str,
        *,
        at: datetime,
        events: Sequence[NewEvent] = (),  # the counts join the data of feed.merged
        lane: Lane | None = None,  # that the caller holds; others that read either are fenced off
    ) -> MergeCounts | None: ...  # None: one of them is not there


class ImportStore(Protocol):
    """Progress of an import; `list_id` is a digest of the list."""

    async def imported(self, list_id: str) -> tuple[ImportedOutline, ...]: ...
    async def save_imported(self, list_id: str, items: Sequence[ImportedOutline]) -> None: ...


class PushStore(Protocol):
    """Feeds at WebSub hubs."""

    async def add_push_subscription(self, new: PushSubscription) -> PushSubscription: ...
    async def push_subscription(self, token: str) -> PushSubscription | None: ...
    async def push_subscriptions(
        self, feed_id: str | None = None
    ) -> tuple[PushSubscription, ...]: ...  # the live one first
    async def change_push_subscription(
        self, changed: PushSubscription
    ) -> bool: ...  # its counters stay
    async def reject_push(self, subscription_id: int) -> None: ...
    async def hub_tallies(self, hub: str | None = None) -> tuple[HubTally, ...]: ...


class ScheduleStore(Protocol):
    """Lanes: claim, renew, release; what is due and when."""

    async def claim(
        self,
        owner: str,
        *,
        now: datetime,
        lease_sec: float,
        max_lanes: int,
        max_feeds: int,
        only: Sequence[str] | None = None,  # these feeds and no others
    ) -> tuple[Claim, ...]: ...
    async def renew(
        self,
        lane: Lane,
        *,
        owner: str,
        until: datetime,
        feeds: Sequence[str] = (),  # still to be polled: their next run moves along (D25)
    ) -> bool: ...
    async def release(
        self,
        lane: Lane,
        pace: HostPace,
        *,
        now: datetime,
        deferred: Sequence[tuple[str, datetime]] = (),  # feeds not polled after all: (id, due at)
    ) -> None: ...
    async def next_due_at(self, only: Sequence[str] | None = None) -> datetime | None: ...
    async def due_lanes(self, now: datetime) -> int: ...  # that could be claimed
    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int: ...


class HostStore(Protocol):
    """The pace of a host, for requests that no lane makes."""

    async def host_pace(self, url: str) -> HostPace | None: ...  # as last stored
    async def host_lanes(
        self, where: HostFilter, *, now: datetime, after: str | None = None, limit: int = 100
    ) -> Page[HostLane]: ...  # by name; a lane of a big host each
    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None: ...


class ScreenStore(Protocol):
    """Live screens, the entries they hold, and documents collected before anything is stored (001)."""

    async def save_collected(self, document: CollectedDocument, blob: BlobRef) -> None: ...
    async def add_screen(self, screen: screening.LiveScreen) -> None: ...
    async def screens(self) -> tuple[screening.LiveScreen, ...]: ...
    async def remove_screen(self, screen_id: str) -> bool: ...
    async def held(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[screening.HeldEntry]: ...  # without those that were dropped, the oldest first
    async def live_screen_state(self, feed_id: str) -> screening.LiveScreenState: ...
    async def reject_held(self, entry_uids: Sequence[str]) -> int: ...


class ConfirmationStore(Protocol):
    """Questions to a person about candidates, and the tickets of their answers."""

    async def ask_question(self, question: Question) -> Question: ...  # or the open one like it
    async def questions(self, now: datetime) -> tuple[Question, ...]: ...  # open, the oldest first
    async def question(self, code: str) -> Question | None: ...
    async def answer_question(
        self, answered: Question, *, ticket_sha256: str | None = None
    ) -> bool: ...  # False: it is not open any more
    async def ticket(self, sha256: str) -> Question | None: ...
    async def spend_ticket(self, sha256: str, now: datetime) -> bool: ...  # True once


class Screener(Protocol):
    """One method of judging texts by topics; a text that it cannot judge has no score."""

    name: screening.Method
    failure: str  # why texts of the last call have no score; empty when all is well

    async def score(
        self, texts: Sequence[screening.ScreenText], topics: screening.TopicSet
    ) -> tuple[screening.Score, ...]: ...
    async def close(self) -> None: ...
