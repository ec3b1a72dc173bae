"""The six ways in which the engine touches the world. Adapters implement them; fakes in tests too.

Clock     what time it is, waiting, new ids
Fetcher   one GET through guard, limits and decoders
Blobs     raw bytes, durable before anybody reads them
Store     everything else that is remembered; one transaction per refresh
Sink      where events go
Screener  one method of judging candidates by topics
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar

import msgspec

from feedmill.model.base import Value
from feedmill.model.candidate import CollectedDocument
from feedmill.model.confirmation import Question
from feedmill.model.event import Event, NewEvent, Revision, StoredArticle, StoredEntry
from feedmill.model.feed import (
    BlobRef,
    Claim,
    Feed,
    FetchRecord,
    HostPace,
    ImportedOutline,
    Lane,
    MergeCounts,
    Move,
    MoveCandidate,
    NewFeed,
)
from feedmill.model.fetch import FetchPlan, Post, RawResponse
from feedmill.model.identity import Changes, IdentityKey, KnownEntry, Removed
from feedmill.model.live_screen import HeldEntry, StandingScreen
from feedmill.model.raw_segment import BlobProblem, Fate, Segment
from feedmill.model.schedule import Decision
from feedmill.model.screening import Method, Score, Text, TopicSet
from feedmill.model.token import Token, TokenSecret
from feedmill.model.webhook import DeadLetter, Settlement, Webhook
from feedmill.model.worker import Worker, WorkerView

T = TypeVar("T")


class Clock(Protocol):
    """Time and ids: the only chance in the program."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def new_id(self) -> str: ...
    def new_secret(self) -> str: ...  # 256 bits
    async def sleep(self, seconds: float) -> None: ...


class Fetcher(Protocol):
    """One GET; every failure is a RawResponse with its reason, never an exception."""

    async def fetch(
        self, plan: FetchPlan, *, verify_tls: bool = True, proxy: str | None = None
    ) -> RawResponse: ...

    async def post(self, post: Post) -> RawResponse: ...  # a redirect is not followed

    async def close(self) -> None: ...


class Blobs(Protocol):
    """Raw bytes by content: append-only segments, hash-checked on every read (D14)."""

    async def put(self, body: bytes, *, sha256: str) -> BlobRef: ...  # durable when it returns
    async def get(self, ref: BlobRef, prefix: bytes | None = None) -> bytes: ...

    # housekeeping: re-encode → move the index → sweep the old segment until it is dropped
    async def seal(self) -> str | None: ...  # the segment that this process was filling
    async def segments(self) -> tuple[Segment, ...]: ...
    async def reencode(
        self,
        bodies: Sequence[tuple[BlobRef, str | None]],  # with the feed's previous body, oldest first
    ) -> tuple[BlobRef, ...]: ...  # without those that cannot be read any more
    async def sweep(self, segment: str, live: Sequence[BlobRef]) -> Fate: ...
    async def drop(self, segment: str) -> None: ...  # at once, whoever still reads it
    async def verify(
        self,
        refs: Sequence[BlobRef],
        *,
        only: Collection[str] | None = None,  # these segments; else all, and things not ours
    ) -> tuple[BlobProblem, ...]: ...
    async def carry_out(self, segment: str) -> bytes: ...  # whole, to another raw store
    async def carry_in(self, segment: str, data: bytes) -> None: ...  # durable when it returns
    async def close(self) -> None: ...


class Refresh(Value):
    """Everything one refresh decided, to be committed as one: all of it or nothing."""

    lane: Lane | None  # None: outside the schedule (ingest-one, insert-selected)
    feed: Feed  # as it is after the refresh
    fetch: FetchRecord
    decision: Decision | None = None
    blob: BlobRef | None = None
    changes: Changes | None = None  # None: no document was read
    removed: tuple[Removed, ...] = ()
    in_document: bool = False  # the changes are the feed's whole current document (D13)
    events: tuple[NewEvent, ...] = ()
    aliases: tuple[str, ...] = ()
    backfill: bool = False
    entries_only: bool = False  # the feed's own state is left alone: nobody polled it
    held: tuple[HeldEntry, ...] = ()  # new entries that wait for somebody's word instead
    released: tuple[str, ...] = ()  # entry_uids that waited, and are stored with this


class Committed(Value):
    """What a commit did; `fenced` when the lane was lost and nothing was written."""

    fenced: bool = False
    duplicate: bool = False  # (feed_id, scheduled_at) had been committed before (D26)
    last_seq: int = 0  # 0 also where events get their numbers later (PostgreSQL)


class Recalled(Value):
    """What the store knows about the entries of a document that was just read."""

    known: tuple[KnownEntry, ...] = ()
    articles: frozenset[str] = frozenset()
    publications: tuple[datetime, ...] = ()


class Standing(Value):
    """What stands between a feed's new entries and the store (001)."""

    screens: tuple[StandingScreen, ...] = ()  # all there are, the oldest first
    # entry_uid: content_hash, of what waits and of what was dropped
    held: dict[str, str] = msgspec.field(default_factory=dict)


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


class Page(Value, Generic[T]):
    items: tuple[T, ...]
    next: str | None = None
    previous: str | None = None  # only where a list can be read backwards


class Store(Protocol):
    """What is remembered. Reads never wait for writes; writes are grouped into transactions."""

    # feeds
    async def add_feed(
        self, new: NewFeed, events: Sequence[NewEvent] = ()
    ) -> tuple[Feed, bool]: ...
    async def feed(self, feed_id: str) -> Feed | None: ...
    async def find_feed(self, urls: Sequence[str]) -> Feed | None: ...
    async def feeds(
        self, *, tag: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Feed]: ...
    async def aliases(self, feed_id: str) -> tuple[str, ...]: ...
    async def change_feed(self, feed: Feed) -> None: ...
    async def remove_feed(self, feed_id: str, events: Sequence[NewEvent] = ()) -> bool: ...
    async def make_due(self, feed_ids: Sequence[str] | None, now: datetime) -> int: ...

    # where feeds live (D6); all of it or nothing
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

    # what an import remembers; `list_id` is a digest of the list
    async def imported(self, list_id: str) -> tuple[ImportedOutline, ...]: ...
    async def note_imported(self, list_id: str, items: Sequence[ImportedOutline]) -> None: ...

    # the pace of a host, for requests outside of its lane
    async def host_pace(self, url: str) -> HostPace | None: ...  # as last stored
    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None: ...

    # the schedule
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
    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int: ...
    async def commit(self, refresh: Refresh) -> Committed: ...

    # identity
    async def known(
        self, feed_id: str, keys: Sequence[IdentityKey], digests: Sequence[str]
    ) -> tuple[KnownEntry, ...]: ...
    async def current_document(
        self, feed_id: str, *, with_keys: bool = True
    ) -> tuple[KnownEntry, ...]: ...
    async def recall(
        self,
        feed_id: str,
        keys: Sequence[IdentityKey],
        article_hashes: Sequence[str],
        *,
        publications: int,  # how many of the newest publication times
    ) -> Recalled: ...  # known, articles and publications in one look
    async def living(self, feed_id: str) -> tuple[KnownEntry, ...]: ...  # all that is not removed
    async def slice_digests(self, feed_id: str) -> frozenset[str]: ...
    async def articles(self, hashes: Sequence[str]) -> frozenset[str]: ...
    async def publications(self, feed_id: str, limit: int) -> tuple[datetime, ...]: ...

    # reading
    async def entries(
        self,
        where: EntryFilter,
        *,
        after: str | None = None,
        before: str | None = None,  # the page in front of this cursor instead
        limit: int = 100,
    ) -> Page[StoredEntry]: ...
    # The same for whoever only passes it on: each as the JSON that an encoder makes of it.
    async def entry_texts(
        self, where: EntryFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[bytes]: ...
    async def entry(self, entry_uid: str) -> StoredEntry | None: ...
    async def revisions(self, entry_uid: str) -> tuple[Revision, ...]: ...
    async def article_page(
        self, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredArticle]: ...
    async def fetches(
        self, feed_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[FetchRecord]: ...
    async def fetch(self, fetch_id: str) -> FetchRecord | None: ...
    async def decisions(self, feed_id: str, limit: int = 20) -> tuple[Decision, ...]: ...
    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]: ...
    async def last_seq(self) -> int: ...
    async def cursor(self, consumer: str) -> int: ...
    async def set_cursor(self, consumer: str, seq: int) -> None: ...
    async def counts(self) -> dict[str, int]: ...

    # the raw store's index
    async def blob(self, sha256: str) -> BlobRef | None: ...
    async def blobs(self, *, segment: str | None = None) -> tuple[BlobRef, ...]: ...
    async def move_blobs(self, refs: Sequence[BlobRef]) -> None: ...
    async def forget_blobs(self, sha256s: Sequence[str]) -> None: ...
    async def spent_blobs(self, *, keep_last: int, before: datetime) -> tuple[str, ...]: ...
    async def raw_chains(
        self, segments: Sequence[str]
    ) -> tuple[tuple[BlobRef, str | None], ...]: ...  # per feed, oldest first, with the one before

    # who may ask
    async def add_token(self, token: Token, sha256: str) -> None: ...
    async def tokens(self) -> tuple[Token, ...]: ...
    async def token_secrets(self, prefix: str) -> tuple[TokenSecret, ...]: ...  # by their hash
    async def rotate_token(
        self, token_id: str, sha256: str, *, old_until: datetime
    ) -> Token | None: ...  # the secret before lives until then, any older one ends now
    async def revoke_token(self, token_id: str, at: datetime) -> bool: ...
    async def touch_token(self, token_id: str, at: datetime) -> None: ...

    # who said yes: questions to a person about candidates, and the tickets of their answers
    async def ask_question(self, question: Question) -> Question: ...  # or the open one like it
    async def questions(self, now: datetime) -> tuple[Question, ...]: ...  # open, the oldest first
    async def question(self, code: str) -> Question | None: ...
    async def answer_question(
        self, answered: Question, *, ticket_sha256: str | None = None
    ) -> bool: ...  # False: it is not open any more
    async def ticket(self, sha256: str) -> Question | None: ...
    async def spend_ticket(self, sha256: str, now: datetime) -> bool: ...  # True once

    # who is told
    async def add_webhook(self, webhook: Webhook, *, after: int | None = None) -> None: ...
    async def webhook(self, webhook_id: str) -> Webhook | None: ...
    async def webhooks(self) -> tuple[Webhook, ...]: ...
    async def change_webhook(self, webhook: Webhook) -> bool: ...
    async def remove_webhook(self, webhook_id: str) -> bool: ...
    async def rewind_webhook(self, webhook_id: str, after: int) -> bool: ...
    async def hold_webhooks(
        self, owner: str, *, now: datetime, until: datetime
    ) -> frozenset[str]: ...  # active ones that nobody else holds
    async def release_webhooks(self, owner: str) -> None: ...
    async def settle_webhook(self, settlement: Settlement) -> bool: ...  # False: overtaken
    async def dead_letters(
        self, webhook_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[DeadLetter]: ...
    async def forget_dead_letters(self, letter_ids: Sequence[str]) -> int: ...
    async def feed_tags(self, feed_ids: Sequence[str]) -> dict[str, tuple[str, ...]]: ...

    # what is collected before anything is stored (001)
    async def keep_collected(self, document: CollectedDocument, blob: BlobRef) -> None: ...
    async def add_screen(self, screen: StandingScreen) -> None: ...
    async def screens(self) -> tuple[StandingScreen, ...]: ...
    async def remove_screen(self, screen_id: str) -> bool: ...
    async def held(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[HeldEntry]: ...  # without those that were dropped, the oldest first
    async def standing(self, feed_id: str) -> Standing: ...
    async def drop_held(self, entry_uids: Sequence[str]) -> int: ...

    # who works here; a hint for people and for affinity, nothing relies on it
    async def note_worker(self, worker: Worker) -> None: ...  # a sign of life
    async def forget_worker(self, name: str) -> None: ...
    async def workers(self) -> tuple[WorkerView, ...]: ...  # with the lanes they hold, by name
    async def due_lanes(self, now: datetime) -> int: ...  # that could be claimed

    # whose turn it is to do what one of many does at a time
    async def hold_lease(
        self, name: str, owner: str, *, now: datetime, until: datetime
    ) -> bool: ...  # False: somebody else has it
    async def end_lease(self, name: str, owner: str) -> None: ...

    # housekeeping
    async def purge(self, *, before: datetime, now: datetime) -> dict[str, int]: ...
    async def problems(self) -> tuple[str, ...]: ...
    async def close(self) -> None: ...


class Sink(Protocol):
    """Where events go: at least once, in order, resumable by their number."""

    name: str

    async def deliver(self, events: Sequence[Event]) -> None: ...
    async def close(self) -> None: ...


class Newest(Value):
    """The newest event that a bus holds."""

    seq: int  # 0: it has never held any
    id: str | None = None  # None: it was let go meanwhile


class Bus(Sink, Protocol):
    """A sink that other programs read; it may know what it holds."""

    async def newest(self) -> Newest | None: ...  # None: it cannot tell


class Screener(Protocol):
    """One method of judging texts by topics; a text that it cannot judge has no score."""

    name: Method
    trouble: str  # why texts of the last call have no score; empty when all is well

    async def score(self, texts: Sequence[Text], topics: TopicSet) -> tuple[Score, ...]: ...
    async def close(self) -> None: ...
