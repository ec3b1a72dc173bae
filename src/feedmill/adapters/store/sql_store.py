"""The store's operations whose SQL both databases share: which query each one runs, and how.

`read` runs one statement (`kept` none while nothing was committed), `look` several on one snapshot, `write` a transaction. What is hot or differs
for good reasons (claims, commits, identities, the event log) is in the store of each database.
"""
# Tested in tests/contracts/store/

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial, wraps
from secrets import token_hex
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from feedmill.adapters.failpoints import reach
from feedmill.adapters.store import check_rows as checks
from feedmill.adapters.store.log_position import LogPosition
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables import codec, lanes
from feedmill.adapters.store.tables import purge as retention
from feedmill.adapters.store.tables.contents import clusters as cluster_table
from feedmill.adapters.store.tables.contents import entries as entry_table
from feedmill.adapters.store.tables.contents import exports as export_table
from feedmill.adapters.store.tables.contents import fulltexts as fulltext_table
from feedmill.adapters.store.tables.contents import held_entries as held_table
from feedmill.adapters.store.tables.contents import media as media_table
from feedmill.adapters.store.tables.lanes import ClaimTerms, ReleasedLane
from feedmill.adapters.store.tables.running import blobs as blob_table
from feedmill.adapters.store.tables.running import figures as figure_table
from feedmill.adapters.store.tables.running import jobs as job_table
from feedmill.adapters.store.tables.running import secrets as secret_table
from feedmill.adapters.store.tables.running import tokens as token_table
from feedmill.adapters.store.tables.running import webhooks as webhook_table
from feedmill.adapters.store.tables.running import workers as worker_table
from feedmill.adapters.store.tables.subscriptions import feed_lists
from feedmill.adapters.store.tables.subscriptions import feeds as feed_table
from feedmill.adapters.store.tables.subscriptions import fetches as fetch_table
from feedmill.adapters.store.tables.subscriptions import merge_feeds as merge_table
from feedmill.adapters.store.tables.subscriptions import moves as move_table
from feedmill.adapters.store.tables.subscriptions import push as push_table
from feedmill.errors import DAMAGE, StoreError
from feedmill.model.event import Event
from feedmill.model.feed import Claim, HostPace, Lane
from feedmill.model.running.webhook import Settlement
from feedmill.model.running.worker import PurgeCuts, StoreIdentity, Worker

P = ParamSpec("P")
T = TypeVar("T")

_KEPT_ANSWERS: Final = 1_000  # of the reads that belong to every request

Method: TypeAlias = Callable[Concatenate["SqlStore", P], Coroutine[Any, Any, T]]


def _run_by(runner: str) -> Callable[[Callable[P, Query[T]]], Method[P, T]]:
    """What makes a method of a query, which this method of the store runs."""

    def bind(query: Callable[P, Query[T]]) -> Method[P, T]:
        @wraps(query)
        async def method(self: "SqlStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
            found: T = await getattr(self, runner)(lambda: query(*args, **kwargs))
            return found

        return method

    return bind


read = _run_by("_read")  # a query of one statement
look = _run_by("_look")  # several statements on one snapshot
write = _run_by("_write")  # a transaction, which is committed when the query returns


async def sentences_of(check: Awaitable[tuple[str, ...]]) -> tuple[str, ...]:
    """What a check found; damage that ends the check is a sentence of its own."""
    try:
        return await check
    except StoreError as problem:
        if problem.reason not in DAMAGE:
            raise
        return (str(problem),)


def kept(query: Callable[P, Query[T]]) -> Method[P, T]:
    """A read that belongs to every request: its answer is kept until something is committed."""
    ask = read(query)

    @wraps(query)
    async def method(self: "SqlStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        version = self.version()
        if version is None:
            return await ask(self, *args, **kwargs)
        key, answers = (query.__name__, *args, *kwargs.items()), self._kept_answers
        found: tuple[int, T] | None = answers.get(key)
        if found is None or found[0] != version:
            if len(answers) >= _KEPT_ANSWERS:
                answers.clear()
            found = answers[key] = version, await ask(self, *args, **kwargs)
        return found[1]

    return method


class SqlStore(ABC):
    """Most of `engine.ports.store.Store`; `make` makes the query, anew for each attempt."""

    _store_id: str | None = None
    clock_leeway = timedelta(0)  # how far other clocks may be ahead before that is a step
    log_position: LogPosition | None = None  # where to write what was told

    tables_to_check = staticmethod(checks.tables_to_check)
    feed = read(feed_table.feed)
    feeds = read(feed_table.feeds)
    find_feed = read(feed_table.find_feed)
    find_feeds = look(feed_lists.find_feeds)
    count_feeds = read(feed_lists.count_feeds)
    feed_states = look(feed_lists.feed_states)
    aliases = read(feed_table.aliases)
    feed_tags = read(feed_table.feed_tags)
    add_feed = write(feed_table.add_feed)
    change_feed = write(feed_table.change_feed)
    remove_feed = write(feed_table.remove_feed)
    make_due = write(feed_table.make_due)
    change_feed_hubs = write(feed_table.change_feed_hubs)

    moves = read(move_table.moves)
    move_feed = write(move_table.move_feed)
    undo_move = write(move_table.undo_move)
    save_move_candidate = write(move_table.save_move_candidate)
    merge_feeds = write(merge_table.merge_feeds)
    hide_merged = write(move_table.hide_merged)
    show_merged = write(move_table.show_merged)
    merged_feeds = read(move_table.merged_feeds)

    imported = read(feed_table.imported)
    save_imported = write(feed_table.save_imported)

    entries = read(entry_table.entries)
    entry_texts = read(entry_table.entry_texts)
    index_entries = write(fulltext_table.index_entries)
    count_unindexed = read(fulltext_table.count_unindexed)
    rebuild_search_index = write(fulltext_table.rebuild_search_index)
    entry = read(entry_table.entry)
    entries_by_uid = look(entry_table.entries_by_uid)
    revisions = read(entry_table.revisions)
    article_page = read(entry_table.article_page)
    slice_digests = read(entry_table.slice_digests)
    duplicates = look(entry_table.duplicates)
    count_duplicates = read(entry_table.count_duplicates)

    export_batch = look(export_table.export_batch)

    fetches = read(fetch_table.fetches)
    fetch = read(fetch_table.fetch)
    decisions = read(fetch_table.decisions)
    thin_decisions = write(fetch_table.thin_decisions)
    feeds_over_identities = read(retention.feeds_over_identities)
    oldest_tombstones = read(retention.oldest_tombstones)
    forget_tombstones = write(retention.forget_tombstones)
    tell_quota = write(retention.tell_quota)

    feed_days = read(figure_table.feed_days)
    feed_hours = read(figure_table.feed_hours)
    feed_failures = read(figure_table.feed_failures)
    host_failures = read(figure_table.host_failures)
    poll_totals = read(figure_table.poll_totals)
    top_feeds = look(figure_table.top_feeds)
    feed_counts = read(feed_lists.feed_counts)
    budget_counts = read(figure_table.budget_counts)
    freshness = read(figure_table.freshness)
    store_sizes = read(figure_table.store_sizes)
    compact_figures = write(figure_table.compact_figures)
    host_lanes = read(lanes.host_lanes)

    arrival_times = read(fetch_table.arrival_times)
    stored_arrivals = read(fetch_table.stored_arrivals)
    purge_times = write(fetch_table.purge_times)

    blob = read(blob_table.blob)
    blobs = read(blob_table.blobs)
    move_blobs = write(blob_table.move_blobs)
    delete_blobs = write(blob_table.delete_blobs)
    expired_blobs = read(blob_table.expired_blobs)
    blobs_over_quota = read(blob_table.blobs_over_quota)
    blob_chains = look(blob_table.blob_chains)
    known_blobs = read(blob_table.known_blobs)
    segments_in_use = read(blob_table.segments_in_use)
    released_segments = read(blob_table.released_segments)
    forget_released = write(blob_table.forget_released)
    adopt_blobs = write(blob_table.adopt_blobs)
    secret_key = read(secret_table.secret_key)
    save_secret_key = write(secret_table.save_secret_key)
    count_secrets = read(secret_table.count_secrets)
    encrypt_secrets = write(secret_table.encrypt_secrets)
    decrypt_secrets = write(secret_table.decrypt_secrets)
    confirm_raw_place = write(blob_table.confirm_raw_place)

    add_token = write(token_table.add_token)
    tokens = kept(token_table.tokens)
    token_secrets = kept(token_table.token_secrets)
    rotate_token = write(token_table.rotate_token)
    revoke_token = write(token_table.revoke_token)
    touch_token = write(token_table.touch_token)
    open_session = write(token_table.open_session)
    close_session = write(token_table.close_session)

    ask_question = write(held_table.ask_question)
    questions = read(held_table.questions)
    question = read(held_table.question)
    answer_question = write(held_table.answer_question)
    ticket = read(held_table.ticket)
    spend_ticket = write(held_table.spend_ticket)

    add_webhook = write(webhook_table.add_webhook)
    webhook = read(webhook_table.webhook)
    webhooks = read(webhook_table.webhooks)
    change_webhook = write(webhook_table.change_webhook)
    remove_webhook = write(webhook_table.remove_webhook)
    rewind_webhook = write(webhook_table.rewind_webhook)
    lease_webhooks = write(webhook_table.lease_webhooks)
    release_webhooks = write(webhook_table.release_webhooks)
    dead_letters = read(webhook_table.dead_letters)
    delete_dead_letters = write(webhook_table.delete_dead_letters)

    add_job = write(job_table.add_job)
    job = read(job_table.job)
    find_job = read(job_table.find_job)
    jobs = read(job_table.jobs)
    job_counts = read(job_table.job_counts)
    claim_jobs = write(job_table.claim_jobs)
    next_job_at = read(job_table.next_job_at)
    renew_job = write(job_table.renew_job)
    settle_job = write(job_table.settle_job)
    cancel_job = write(job_table.cancel_job)
    retry_job = write(job_table.retry_job)

    add_push_subscription = write(push_table.add_push_subscription)
    push_subscription = read(push_table.push_subscription)
    push_subscriptions = read(push_table.push_subscriptions)
    change_push_subscription = write(push_table.change_push_subscription)
    reject_push = write(push_table.reject_push)
    hub_tallies = read(push_table.hub_tallies)

    save_full_text = write(fulltext_table.save_full_text)
    full_text = read(fulltext_table.full_text)
    full_texts_of = read(fulltext_table.full_texts_of)
    full_texts = read(fulltext_table.full_texts)
    last_page_at = read(fulltext_table.last_page_at)

    story_texts = read(cluster_table.story_texts)
    save_sketches = write(cluster_table.save_sketches)
    repair_clusters = write(cluster_table.repair_clusters)
    clusters = read(cluster_table.clusters)
    cluster = read(cluster_table.cluster)
    cluster_members = look(cluster_table.cluster_members)
    mirrors = read(cluster_table.mirrors)

    queue_media = write(media_table.queue_media)
    media_item = read(media_table.media_item)
    media_items = read(media_table.media_items)
    media_usage = read(media_table.media_usage)
    reserve_media = write(media_table.reserve_media)
    oldest_media = read(media_table.oldest_media)
    prune_media = write(media_table.prune_media)
    media_beyond = read(media_table.media_beyond)
    begin_media_file = write(media_table.begin_media_file)
    save_media = write(media_table.save_media)
    save_media_progress = write(media_table.save_media_progress)
    retry_media = write(media_table.retry_media)
    release_media_files = write(media_table.release_media_files)
    forget_media_files = write(media_table.forget_media_files)
    media_files = read(media_table.media_files)
    media_links = read(media_table.media_links)
    fail_media_without_job = write(media_table.fail_media_without_job)
    media_downloads = read(media_table.media_downloads)

    save_collected = write(held_table.save_collected)
    add_screen = write(held_table.add_screen)
    screens = read(held_table.screens)
    remove_screen = write(held_table.remove_screen)
    held = read(held_table.held)
    live_screen_state = read(held_table.live_screen_state)
    reject_held = write(held_table.reject_held)

    delete_worker = write(worker_table.delete_worker)
    workers = look(worker_table.workers)
    take_lease = write(worker_table.take_lease)
    release_lease = write(worker_table.release_lease)
    cursor = read(worker_table.cursor)
    cursors = look(worker_table.cursors)
    drop_cursor = write(worker_table.drop_cursor)
    counts = read(checks.counts)

    host_pace = read(lanes.host_pace)
    next_due_at = read(lanes.next_due_at)
    due_lanes = read(lanes.due_lanes)
    renew = write(lanes.renew)

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
        """Lease lanes with due feeds; the next run of each feed is persisted with it (D25)."""
        until = now + timedelta(seconds=lease_sec)
        return await self._claim(ClaimTerms(owner, now, until, max_lanes, max_feeds, only))

    async def release(
        self,
        lane: Lane,
        pace: HostPace,
        *,
        now: datetime,  # noqa: ARG002  # of the port; a free lane is due when its feeds are
        deferred: Sequence[tuple[str, datetime]] = (),
    ) -> None:
        """Give the lane back with the pace learnt; nothing happens when it was lost."""
        await self._release(ReleasedLane(lane, pace, deferred))

    async def store_identity(self) -> StoreIdentity:
        """The id of this store, made at random the first time."""
        while (found := await self._read(blob_table.store_identity)) is None:
            store_id = token_hex(16)
            await self._write(lambda: blob_table.save_identity(store_id))  # noqa: B023
        return found

    async def store_id(self) -> str:
        """The id of this store; asked for once."""
        if self._store_id is None:
            self._store_id = (await self.store_identity()).id
        return self._store_id

    async def settle_webhook(self, settlement: Settlement) -> bool:
        """Store the result of an attempt; False when the cursor was moved meanwhile."""
        reach("cursor-move")
        done = await self._write(lambda: webhook_table.settle_webhook(settlement))
        reach("cursor-moved")
        return done

    async def save_worker(self, worker: Worker) -> None:
        """Store a heartbeat."""
        await self._write(lambda: worker_table.save_worker(worker))

    async def follow_clock(self, now: datetime, *, lease_sec: float) -> int:
        """Take back what was dated by a clock that ran ahead; the number of feeds (H32)."""
        if not await self._read(lambda: lanes.is_ahead(now + self.clock_leeway)):
            return 0
        return await self._write(lambda: lanes.follow_clock(now, lease_sec))

    async def set_cursor(self, consumer: str, seq: int) -> None:
        """Store how far a consumer has read; going back is allowed, to replay."""
        reach("cursor-move")
        await self._write(lambda: worker_table.set_cursor(consumer, seq))
        reach("cursor-moved")

    async def purge(
        self, *, before: datetime, now: datetime, cuts: PurgeCuts | None = None
    ) -> dict[str, int]:
        """Delete what was last seen before, or before the cut of its kind; how much of each kind."""
        given = cuts or PurgeCuts(
            entries=before, fetches=before, events=before, unread_events=codec.instant(0)
        )
        kinds = (
            ("entries", retention.ENTRIES, before),
            ("headers", retention.HEADERS, before),
            ("collected", retention.COLLECTED, before),
            ("revisions", retention.REVISIONS, given.revisions),
            ("identities", retention.IDENTITIES, given.identities),
            ("lanes", retention.LANES, now),
        )
        gone = {"fetches": await self._purge_fetches(given.fetches, now)}
        gone["events"] = await self._purge_events(given.events, given.unread_events)
        for name, kind, cut in kinds:
            gone[name] = 0 if cut is None else await self._purge_kind(kind, retention.Cut(cut, now))
        return {**gone, "jobs": await self._purge_jobs(before)}

    async def _purge_kind(self, kind: retention.PurgeKind, cut: retention.Cut) -> int:
        gone, after = 0, -1
        while ids := await self._read(partial(kind.find, after, cut)):
            gone += await self._write(partial(kind.delete, ids, cut))
            after = ids[-1]
        return gone

    async def _purge_jobs(self, before: datetime) -> int:
        """Delete jobs that ended before, in small transactions; how many. Push of gone feeds ends too."""
        await self._write(lambda: push_table.purge_push(before))
        gone = 0
        while True:
            batch = await self._write(lambda: job_table.purge_jobs(before, retention.PURGE_BATCH))
            gone += batch
            if batch < retention.PURGE_BATCH:
                return gone

    async def _note_told(self, event: Event) -> None:
        """Write down that the log was told up to this event, before it is."""
        position = self.log_position
        if position is not None and not position.covers(event.seq):
            await asyncio.to_thread(position.note, event)

    def version(self) -> int | None:
        """A number that changes with every commit; None when the database does not tell it for nothing."""
        return None

    @cached_property
    def _kept_answers(self) -> dict[tuple[object, ...], Any]:
        """Answers of `kept` queries, each with the version before it was read."""
        return {}

    @abstractmethod
    async def _purge_fetches(self, before: datetime, now: datetime) -> int: ...

    @abstractmethod
    async def _purge_events(self, before: datetime, unread: datetime) -> int: ...

    @abstractmethod
    async def _claim(self, terms: ClaimTerms) -> tuple[Claim, ...]: ...

    @abstractmethod
    async def _release(self, given: ReleasedLane) -> None: ...

    @abstractmethod
    async def _read(self, make: Callable[[], Query[T]]) -> T: ...

    @abstractmethod
    async def _look(self, make: Callable[[], Query[T]]) -> T: ...

    @abstractmethod
    async def _write(self, make: Callable[[], Query[T]]) -> T: ...
