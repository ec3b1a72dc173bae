"""The Store on PostgreSQL: the same promises as on one file, for as many processes as you like.

PostgreSQL coordinates: lanes are leased by rows, commits are fenced by epochs, runs are unique. Work is
grouped into transactions (`group`), events get their numbers when nobody can come before them any more
(`log`), and every statement of an area stands in the module of its name, as on SQLite.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self, TypeVar

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store.postgres import (
    access,
    claims,
    clock_steps,
    confirmations,
    event_log,
    health,
    holding,
    hooks,
    identities,
    imports,
    leases,
    merging,
    moving,
    queries,
    raw_index,
    subscriptions,
    workers,
)
from feedmill.adapters.store.postgres import purge as retention
from feedmill.adapters.store.postgres.claim_planner import Frontier, Pacing
from feedmill.adapters.store.postgres.commit_batcher import Committer
from feedmill.adapters.store.postgres.lane_layout import relane
from feedmill.adapters.store.postgres.migrate import check_schema
from feedmill.adapters.store.postgres.pool import Database, Job, LostCommitError
from feedmill.adapters.store.postgres.release_batcher import GivenBack, Releaser
from feedmill.errors import StoreError
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
from feedmill.model.identity import IdentityKey, KnownEntry
from feedmill.model.live_screen import HeldEntry, Standing, StandingScreen
from feedmill.model.page import EntryFilter, Page
from feedmill.model.refresh import Committed, Recalled, Refresh
from feedmill.model.schedule import Decision
from feedmill.model.token import Token, TokenSecret
from feedmill.model.webhook import DeadLetter, Settlement, Webhook
from feedmill.model.worker import Worker, WorkerView

T = TypeVar("T")


class PostgresStore:
    """Implements `engine.ports.store.Store`; made by `open`, ended by `close`."""

    def __init__(self, database: Database, pacing: Pacing) -> None:
        self._database, self._pacing = database, pacing
        self._frontier, self._log = Frontier(), event_log.Log(database)
        self._committer, self._releaser = Committer(database, pacing), Releaser(database)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        gap_ms: int = 1_000,
        lanes: Mapping[str, int] | None = None,
        connections: int = 10,
        timeout_sec: float = 60.0,
        pooled: bool = False,
        wait_sec: float = 0.0,
    ) -> Self:
        """Connect to a database that `feedmill migrate` has prepared, waiting for that if asked to.

        `gap_ms` is the pace of a host that nothing is known about, `lanes` how many lanes big hosts
        have: those that have another number are changed, unless it is None. With `pooled`, a pooler in transaction mode stands between.
        """
        database = await Database.open(
            url, connections=connections, timeout_sec=timeout_sec, pooled=pooled
        )
        try:
            await check_schema(database, wait_sec=wait_sec)
            pacing = Pacing(gap_ms=gap_ms, lanes=dict(lanes or {}))
            if lanes is not None:
                await relane(database, pacing)
        except BaseException:
            await database.close()
            raise
        return cls(database, pacing)

    @property
    def database(self) -> Database:
        """The connections, for the clock that follows the database's."""
        return self._database

    async def close(self) -> None:
        """Write what was asked, then close every connection."""
        await self._committer.close()
        await self._releaser.close()
        await self._database.close()

    # feeds

    async def add_feed(self, new: NewFeed, events: Sequence[NewEvent] = ()) -> tuple[Feed, bool]:
        """The feed, and whether it is new; one known under any of its addresses is returned."""
        return await self._write(lambda c: subscriptions.add_feed(c, new, events, self._pacing))

    async def feed(self, feed_id: str) -> Feed | None:
        """The feed of that id."""
        return await self._read(lambda c: queries.feed(c, feed_id))

    async def find_feed(self, urls: Sequence[str]) -> Feed | None:
        """The feed that has one of the addresses."""
        return await self._read(lambda c: subscriptions.find_feed(c, urls))

    async def feeds(
        self, *, tag: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Feed]:
        """Feeds in the order in which they were added."""
        return await self._read(lambda c: queries.feeds(c, tag, after, limit))

    async def aliases(self, feed_id: str) -> tuple[str, ...]:
        """Every address of the feed."""
        return await self._read(lambda c: queries.aliases(c, feed_id))

    async def change_feed(self, feed: Feed) -> None:
        """Write what a subscriber decides; what polls carry on is left alone."""
        await self._write(lambda c: subscriptions.change_feed(c, feed, self._pacing))

    async def remove_feed(self, feed_id: str, events: Sequence[NewEvent] = ()) -> bool:
        """Forget a feed with its entries; its events stay in the log."""
        return await self._write(lambda c: subscriptions.remove_feed(c, feed_id, events))

    async def make_due(self, feed_ids: Sequence[str] | None, now: datetime) -> int:
        """Let feeds be polled now; how many are due. None: all that are not paused."""
        return await self._write(lambda c: subscriptions.make_due(c, feed_ids, now))

    # where feeds live

    async def moves(self, feed_id: str) -> tuple[Move, ...]:
        """Every change of address of the feed, the oldest first."""
        return await self._read(lambda c: moving.moves(c, feed_id))

    async def move_feed(self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()) -> bool:
        """Let the feed live elsewhere; False when it is not there or the address is taken."""
        return await self._write(lambda c: moving.move_feed(c, feed_id, move, events, self._pacing))

    async def undo_move(self, feed_id: str, move: Move, events: Sequence[NewEvent] = ()) -> bool:
        """Let the feed live where it came from; False when it is not there any more."""
        return await self._write(lambda c: moving.undo_move(c, feed_id, move, events, self._pacing))

    async def note_candidate(
        self,
        feed_id: str,
        candidate: MoveCandidate | None,
        *,
        https_probed_at: datetime | None,
        events: Sequence[NewEvent] = (),
    ) -> None:
        """Write what is known of where the feed may have moved to, and nothing else."""
        await self._write(
            lambda c: moving.note_candidate(c, feed_id, candidate, https_probed_at, events)
        )

    async def merge_feeds(
        self,
        loser_id: str,
        winner_id: str,
        *,
        at: datetime,
        events: Sequence[NewEvent] = (),
        lane: Lane | None = None,
    ) -> MergeCounts | None:
        """Give everything of one feed to another; None when one of them is not there."""
        return await self._write(
            lambda c: merging.merge_feeds(c, loser_id, winner_id, at, events, lane)
        )

    # what an import remembers

    async def imported(self, list_id: str) -> tuple[ImportedOutline, ...]:
        """The outlines of a list that were dealt with."""
        return await self._read(lambda c: imports.imported(c, list_id))

    async def note_imported(self, list_id: str, items: Sequence[ImportedOutline]) -> None:
        """Remember what became of these outlines."""
        await self._write(lambda c: imports.note_imported(c, list_id, items))

    # the pace of a host outside of its lane

    async def host_pace(self, url: str) -> HostPace | None:
        """How the URL's host is treated, as last stored."""
        return await self._read(lambda c: claims.host_pace(c, url))

    async def limit_host(self, url: str, until: datetime, reason: str | None = None) -> None:
        """Let nobody ask the URL's host before `until`."""
        await self._write(lambda c: claims.limit_host(c, url, until, reason, self._pacing))

    # the schedule

    async def claim(
        self,
        owner: str,
        *,
        now: datetime,
        lease_sec: float,
        max_lanes: int,
        max_feeds: int,
        only: Sequence[str] | None = None,
    ) -> tuple[Claim, ...]:
        """Lease lanes with due feeds; the next run of each feed is persisted with it (D25).

        The lanes of this process's own shards come first; when they do not fill the places, any do.
        """
        try:
            lanes = await self._database.write(
                lambda c: claims.claim(
                    c, self._frontier, owner, now, lease_sec, max_lanes, max_feeds, only
                )
            )
        except StoreError as problem:
            lanes = await self._claimed_after_all(owner, problem)
        self._frontier.claimed(lanes)
        return lanes

    async def renew(
        self, lane: Lane, *, owner: str, until: datetime, feeds: Sequence[str] = ()
    ) -> bool:
        """Hold the lane longer, for these feeds still to be polled; False when it is not ours."""
        return await self._write(lambda c: claims.renew(c, lane, owner, until, feeds))

    async def release(
        self,
        lane: Lane,
        pace: HostPace,
        *,
        now: datetime,  # noqa: ARG002  # of the port; a free lane is due when its feeds are
        deferred: Sequence[tuple[str, datetime]] = (),
    ) -> None:
        """Give the lane back with the pace learnt; nothing happens when it was lost."""
        await self._releaser.release(GivenBack(lane, pace, deferred))

    async def next_due_at(self, only: Sequence[str] | None = None) -> datetime | None:
        """When the next lane can be claimed: it is due, or its lease ends."""
        return await self._read(lambda c: claims.next_due_at(c, only))

    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int:
        """Take back what was dated by a clock that ran ahead; how many feeds that were (H32)."""
        if not await self._read(lambda c: clock_steps.is_ahead(c, now)):
            return 0
        return await self._write(lambda c: clock_steps.follow_clock(c, now, lease_sec))

    async def commit(self, refresh: Refresh) -> Committed:
        """Write what a refresh decided: all or nothing, once per run."""
        return await self._committer.commit(refresh)

    # identity

    async def known(
        self, feed_id: str, keys: Sequence[IdentityKey], digests: Sequence[str]
    ) -> tuple[KnownEntry, ...]:
        """Every row that holds one of the keys, or has one of the slices in this feed."""
        return await self._read(lambda c: identities.known(c, feed_id, keys, digests))

    async def current_document(
        self, feed_id: str, *, with_keys: bool = True
    ) -> tuple[KnownEntry, ...]:
        """The rows of the feed's last document."""
        return await self._read(
            lambda c: identities.current_document(c, feed_id, with_keys=with_keys)
        )

    async def recall(
        self,
        feed_id: str,
        keys: Sequence[IdentityKey],
        article_hashes: Sequence[str],
        *,
        publications: int,
    ) -> Recalled:
        """What there is about a document's entries: one look instead of three."""
        return await self._read(
            lambda c: identities.recall(c, feed_id, keys, article_hashes, publications)
        )

    async def living(self, feed_id: str) -> tuple[KnownEntry, ...]:
        """Every row of the feed that was not removed."""
        return await self._read(lambda c: identities.living(c, feed_id))

    async def slice_digests(self, feed_id: str) -> frozenset[str]:
        """The digests of the slices of the feed's last document."""
        return await self._read(lambda c: identities.slice_digests(c, feed_id))

    async def articles(self, hashes: Sequence[str]) -> frozenset[str]:
        """Those of the hashes that somebody has published already."""
        return await self._read(lambda c: identities.articles(c, hashes))

    async def publications(self, feed_id: str, limit: int) -> tuple[datetime, ...]:
        """When the feed's newest entries were published, the newest first."""
        return await self._read(lambda c: identities.publications(c, feed_id, limit))

    # reading

    async def entries(
        self,
        where: EntryFilter,
        *,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> Page[StoredEntry]:
        """Entries that the filter lets through, the last that came in first."""
        return await self._read(lambda c: queries.entries(c, where, after, limit, before))

    async def entry_texts(
        self, where: EntryFilter, *, after: str | None = None, limit: int = 100
    ) -> Page[bytes]:
        """The same as JSON."""
        return await self._read(lambda c: queries.entry_texts(c, where, after, limit))

    async def entry(self, entry_uid: str) -> StoredEntry | None:
        """The entry of that public id; None also when retention took it."""
        return await self._read(lambda c: queries.entry(c, entry_uid))

    async def revisions(self, entry_uid: str) -> tuple[Revision, ...]:
        """Earlier states of an entry, the oldest first."""
        return await self._read(lambda c: queries.revisions(c, entry_uid))

    async def article_page(
        self, *, after: str | None = None, limit: int = 100
    ) -> Page[StoredArticle]:
        """Articles, the last that came in first."""
        return await self._read(lambda c: queries.article_page(c, after, limit))

    async def fetches(
        self, feed_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[FetchRecord]:
        """Fetches of a feed, the newest first."""
        return await self._read(lambda c: queries.fetches(c, feed_id, after, limit))

    async def fetch(self, fetch_id: str) -> FetchRecord | None:
        """The fetch of that id."""
        return await self._read(lambda c: queries.fetch(c, fetch_id))

    async def decisions(self, feed_id: str, limit: int = 20) -> tuple[Decision, ...]:
        """Why the feed is polled as it is, the newest decision first."""
        return await self._read(lambda c: queries.decisions(c, feed_id, limit))

    async def events(self, *, after: int, limit: int = 1000) -> tuple[Event, ...]:
        """Events after a number, in order."""
        return await self._log.events(after, limit)

    async def last_seq(self) -> int:
        """The number of the newest event, 0 before the first."""
        return await self._log.last_seq()

    async def cursor(self, consumer: str) -> int:
        """How far a consumer has read, 0 before it began."""
        return await self._read(lambda c: event_log.cursor(c, consumer))

    async def set_cursor(self, consumer: str, seq: int) -> None:
        """Remember how far a consumer has read; going back is allowed, to replay."""
        reach("cursor-move")
        await self._write(lambda c: event_log.set_cursor(c, consumer, seq))
        reach("cursor-moved")

    async def counts(self) -> dict[str, int]:
        """How many rows there are of each kind."""
        return await self._read(queries.counts)

    # the raw store's index

    async def blob(self, sha256: str) -> BlobRef | None:
        """Where a body lies."""
        return await self._read(lambda c: queries.blob(c, sha256))

    async def blobs(self, *, segment: str | None = None) -> tuple[BlobRef, ...]:
        """Where all bodies lie, or those of one segment, in the order of the bytes."""
        return await self._read(lambda c: queries.blobs(c, segment))

    async def move_blobs(self, refs: Sequence[BlobRef]) -> None:
        """Note that bodies lie elsewhere now; one that was forgotten meanwhile stays so."""
        await self._write(lambda c: raw_index.move(c, refs))

    async def spent_blobs(self, *, keep_last: int, before: datetime) -> tuple[str, ...]:
        """Bodies that retention no longer keeps for any feed (D13)."""
        return await self._read(lambda c: raw_index.spent(c, keep_last, before))

    async def raw_chains(self, segments: Sequence[str]) -> tuple[tuple[BlobRef, str | None], ...]:
        """The bodies of these segments per feed, oldest first, each with the one before it."""
        return await self._read(lambda c: raw_index.chains(c, segments))

    async def forget_blobs(self, sha256s: Sequence[str]) -> None:
        """Note that bodies are gone."""
        await self._write(lambda c: raw_index.forget(c, sha256s))

    # who may ask

    async def add_token(self, token: Token, sha256: str) -> None:
        """Keep a token and the hash of its secret."""
        await self._write(lambda c: access.add_token(c, token, sha256))

    async def tokens(self) -> tuple[Token, ...]:
        """Every token there ever was, the oldest first."""
        return await self._read(access.tokens)

    async def token_secrets(self, prefix: str) -> tuple[TokenSecret, ...]:
        """The secrets whose hash begins like that, with their tokens."""
        return await self._read(lambda c: access.token_secrets(c, prefix))

    async def rotate_token(
        self, token_id: str, sha256: str, *, old_until: datetime
    ) -> Token | None:
        """Add a secret to a token and let the one before end; None when there is no such token."""
        return await self._write(lambda c: access.rotate_token(c, token_id, sha256, old_until))

    async def revoke_token(self, token_id: str, at: datetime) -> bool:
        """End a token and forget its secrets; False when there is none."""
        return await self._write(lambda c: access.revoke_token(c, token_id, at))

    async def touch_token(self, token_id: str, at: datetime) -> None:
        """Note that a token was used."""
        await self._write(lambda c: access.touch_token(c, token_id, at))

    # who said yes

    async def ask_question(self, question: Question) -> Question:
        """The question that is open for this selection already, or else this one, kept."""
        return await self._write(lambda c: confirmations.ask(c, question))

    async def questions(self, now: datetime) -> tuple[Question, ...]:
        """Those that wait for an answer, the oldest first."""
        return await self._read(lambda c: confirmations.questions(c, now))

    async def question(self, code: str) -> Question | None:
        """One of them, whatever came of it."""
        return await self._read(lambda c: confirmations.question(c, code))

    async def answer_question(
        self, answered: Question, *, ticket_sha256: str | None = None
    ) -> bool:
        """Note the answer to a question that is still open; False when it is not."""
        return await self._write(lambda c: confirmations.answer(c, answered, ticket_sha256))

    async def ticket(self, sha256: str) -> Question | None:
        """The question whose yes made the ticket of this hash."""
        return await self._read(lambda c: confirmations.ticket(c, sha256))

    async def spend_ticket(self, sha256: str, now: datetime) -> bool:
        """Take a ticket; False when somebody took it before, or when it is too old."""
        return await self._write(lambda c: confirmations.spend(c, sha256, now))

    # who is told

    async def add_webhook(self, webhook: Webhook, *, after: int | None = None) -> None:
        """Keep a webhook; it is told what follows `after`, or what follows now."""
        await self._number()
        await self._write(lambda c: hooks.add_webhook(c, webhook, after))

    async def webhook(self, webhook_id: str) -> Webhook | None:
        """The webhook of that id."""
        return await self._read(lambda c: hooks.webhook(c, webhook_id))

    async def webhooks(self) -> tuple[Webhook, ...]:
        """All of them, the oldest first."""
        return await self._read(hooks.webhooks)

    async def change_webhook(self, webhook: Webhook) -> bool:
        """Write what its owner decides; False when it is gone. The cursor is left alone."""
        return await self._write(lambda c: hooks.change_webhook(c, webhook))

    async def remove_webhook(self, webhook_id: str) -> bool:
        """Forget a webhook with its cursor and its dead letters; False when there is none."""
        return await self._write(lambda c: hooks.remove_webhook(c, webhook_id))

    async def rewind_webhook(self, webhook_id: str, after: int) -> bool:
        """Let it be told again what follows `after`; False when there is none."""
        await self._number()
        return await self._write(lambda c: hooks.rewind_webhook(c, webhook_id, after))

    async def hold_webhooks(self, owner: str, *, now: datetime, until: datetime) -> frozenset[str]:
        """Lease every active webhook that nobody else holds; those that are ours now."""
        return await self._write(lambda c: hooks.hold_webhooks(c, owner, now, until))

    async def release_webhooks(self, owner: str) -> None:
        """Give back what is leased."""
        await self._write(lambda c: hooks.release_webhooks(c, owner))

    async def settle_webhook(self, settlement: Settlement) -> bool:
        """Write what an attempt came to; False when the cursor was moved meanwhile."""
        reach("cursor-move")
        done = await self._write(lambda c: hooks.settle_webhook(c, settlement))
        reach("cursor-moved")
        return done

    async def dead_letters(
        self, webhook_id: str, *, after: str | None = None, limit: int = 100
    ) -> Page[DeadLetter]:
        """What was given up, the oldest first."""
        return await self._read(lambda c: hooks.dead_letters(c, webhook_id, after, limit))

    async def forget_dead_letters(self, letter_ids: Sequence[str]) -> int:
        """Drop letters; how many there were."""
        return await self._write(lambda c: hooks.forget_dead_letters(c, letter_ids))

    async def feed_tags(self, feed_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The tags of feeds, also of those that are gone."""
        return await self._read(lambda c: hooks.feed_tags(c, feed_ids))

    # what is collected before anything is stored

    async def keep_collected(self, document: CollectedDocument, blob: BlobRef) -> None:
        """Index a document that a window was collected from."""
        await self._write(lambda c: holding.keep_collected(c, document, blob))

    async def add_screen(self, screen: StandingScreen) -> None:
        """Keep a standing screen."""
        await self._write(lambda c: holding.add_screen(c, screen))

    async def screens(self) -> tuple[StandingScreen, ...]:
        """Every standing screen, the oldest first."""
        return await self._read(holding.screens)

    async def remove_screen(self, screen_id: str) -> bool:
        """Forget a standing screen; what it holds stays held."""
        return await self._write(lambda c: holding.remove_screen(c, screen_id))

    async def held(
        self, *, feed_id: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[HeldEntry]:
        """What waits for somebody's word, the oldest first."""
        return await self._read(lambda c: holding.held(c, feed_id, after, limit))

    async def standing(self, feed_id: str) -> Standing:
        """What a feed's new entries have to pass, in one look."""
        return await self._read(lambda c: holding.standing(c, feed_id))

    async def drop_held(self, entry_uids: Sequence[str]) -> int:
        """Note that nobody wants these; how many of them were waiting."""
        return await self._write(lambda c: holding.drop_held(c, entry_uids))

    # housekeeping

    async def purge(self, *, before: datetime, now: datetime) -> dict[str, int]:
        """Let go of what was last seen before; how much of each kind went."""
        await self._number()
        return await retention.purge(self._database, before=before, now=now)

    async def problems(self) -> tuple[str, ...]:
        """What is wrong with the store, in words; nothing when all is well."""
        await self._number()
        return await self._look(health.problems)

    # who works here

    async def note_worker(self, worker: Worker) -> None:
        """Write a sign of life, and learn who else is there: shards are shared among them."""
        live = await self._write(lambda c: workers.note(c, worker))
        self._frontier.share(worker.name, live)

    async def forget_worker(self, name: str) -> None:
        """Note that a worker has left."""
        await self._write(lambda c: workers.forget(c, name))

    async def workers(self) -> tuple[WorkerView, ...]:
        """Everybody at work, with the lanes that they hold."""
        return await self._look(workers.workers)

    async def due_lanes(self, now: datetime) -> int:
        """How many lanes could be claimed now."""
        return await self._read(lambda c: claims.due_lanes(c, now))

    # whose turn it is

    async def hold_lease(self, name: str, owner: str, *, now: datetime, until: datetime) -> bool:
        """Take a lease that nobody else has, or hold it longer; False when somebody else has it."""
        return await self._write(lambda c: leases.hold(c, name, owner, now, until))

    async def end_lease(self, name: str, owner: str) -> None:
        """Give a lease back."""
        await self._write(lambda c: leases.end(c, name, owner))

    async def _claimed_after_all(self, owner: str, problem: StoreError) -> tuple[Claim, ...]:
        """What a claim has leased whose commit got no answer; else nobody would work those lanes."""
        lost = problem.__cause__
        if not isinstance(lost, LostCommitError):
            raise problem
        made: tuple[Claim, ...] = lost.value  # type: ignore[assignment]  # what a claim returns
        held = await self._read(lambda c: claims.still_held(c, owner, made))
        if not held:
            raise problem
        return held

    async def _number(self) -> None:
        """Give numbers to the events that can have one."""
        await self._log.number()

    async def _write(self, job: Job[T]) -> T:
        return await self._database.write(job)

    async def _look(self, query: Job[T]) -> T:
        return await self._database.look(query)

    async def _read(self, query: Job[T]) -> T:
        return await self._database.read(query)
