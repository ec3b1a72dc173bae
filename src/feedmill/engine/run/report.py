"""Logs one line and counts the metrics for each refresh, delivery and store error (002 §4.9).

Gauges that are read from the store: lengths of the queues every 5 s, counts of rows every minute.
"""
# Tested in tests/unit/engine/run/
# Tested in tests/integration/engine/service/test_same_story.py

import collections
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol, get_args

from prometheus_client import Counter

from feedmill.engine.ports.entries import EventLog, WebhookStore
from feedmill.engine.ports.feeds import HostStore, ScheduleStore
from feedmill.engine.ports.io import Clock
from feedmill.engine.ports.maintenance import FigureStore, JobStore, MaintenanceStore
from feedmill.engine.ports.media import MediaStore
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES, fault_of, lag_of, payload_class
from feedmill.fetch.guard import printable_url
from feedmill.model.entry import SUSPICIOUS
from feedmill.model.event import Relayed
from feedmill.model.feed import Feed
from feedmill.model.identity import Added
from feedmill.model.page import HostFilter
from feedmill.model.refresh import Committed, Refresh
from feedmill.model.running.figures import FeedCounts, PayloadClass
from feedmill.model.running.job import Job, JobRunRecord
from feedmill.model.running.webhook import Delivery
from feedmill.observe.log import Logger, logger
from feedmill.observe.metrics import Metrics

_WARNING, _INFO, _DEBUG = 30, 20, 10
_SECURITY: Final = logger("security")
_QUEUES_EVERY_SEC: Final = 5.0
_COUNTS_EVERY_SEC: Final = 60.0
_MOST_HOSTS: Final = 1_000
_TITLE_CHARS: Final = 80
_STATES: Final = FeedCounts.__struct_fields__
_KINDS: Final = (
    "feeds", "paused", "entries", "articles", "blobs", "media", "fulltexts", "clusters",
)  # fmt: skip
_FIGURES: Final = (
    "entries_new", "polls", "bytes_in", "bytes_saved", "failed", "interval_sec", "ewma_sec",
)  # fmt: skip


def report_entries(log: Logger, result: Refresh) -> None:
    """One debug line per entry that came in or changed, and one line about suspicious content (003 §3, §8).

    Counts and kinds, never a text.
    """
    if result.changes is None or not (written := result.changes.written):
        return
    if log.is_enabled_for(_DEBUG):
        for change in written:
            log.debug(
                "entry",
                feed_id=result.feed.id,
                entry_uid=change.entry_uid if isinstance(change, Added) else change.known.entry_uid,
                change="new" if isinstance(change, Added) else "updated",
                modified_fields=len(change.seen.entry.modified),
                findings=len(change.seen.entry.findings),
            )
    kinds = [{f.code for f in one.seen.entry.findings} & SUSPICIOUS for one in written]
    counts = collections.Counter(code for codes in kinds for code in codes)
    if counts:
        _SECURITY.info(
            "suspicious content",
            feed_id=result.feed.id,
            url=printable_url(result.feed.url),
            fetch_id=result.fetch.fetch_id,
            entries=sum(map(bool, kinds)),
            **{code.replace("-", "_"): count for code, count in sorted(counts.items())},
        )


class RefreshReport:
    """Listens to a run; `log` is a structured logger, `metrics` may be shared with a page.

    A feed that fails is a warning, unless the failures are `shown` on the terminal anyway.
    """

    def __init__(self, log: Logger, metrics: Metrics, *, shown: bool = False) -> None:
        self.log = log
        self.metrics = metrics
        self._counters: dict[tuple[Counter, tuple[str, ...]], Counter] = {}
        payloads = (*get_args(PayloadClass), "failed")
        self._latency = {payload: metrics.latency.labels(payload) for payload in payloads}
        for change in ("new", "updated"):
            metrics.entries.labels(change)
        self.failure_level = _INFO if shown else _WARNING

    def refreshed(self, before: Feed, result: Refresh, committed: Committed) -> None:
        """One line and the counters for one refresh."""
        health = result.feed.schedule.health
        if health != before.schedule.health:
            self.metrics.health.labels(health).inc()
        for event in result.events:
            if event.type == "host.state":
                self.metrics.host_states.labels(event.data["after"]).inc()
        report_entries(self.log, result)
        level = _INFO if result.fetch.outcome in SUCCESSFUL_OUTCOMES else self.failure_level
        if self.log.is_enabled_for(level):
            self._say(level, before, result, committed)
        self._count(result, committed)

    def _say(self, level: int, before: Feed, result: Refresh, committed: Committed) -> None:
        fetch, decision = result.fetch, result.decision
        self.log.log(
            level,
            "refreshed",
            feed_id=result.feed.id,
            url=printable_url(result.feed.url),
            outcome=fetch.outcome,
            http_status=fetch.http_status,
            elapsed_ms=fetch.elapsed_ms,
            bytes=fetch.wire_length,
            new=fetch.entries_new,
            updated=fetch.entries_updated,
            decision_reason=decision.reason if decision else None,
            interval_before=round(before.schedule.interval_sec),
            interval_after=round(result.feed.schedule.interval_sec),
            next_poll_at=result.feed.next_poll_at.isoformat(),
            repairs=",".join(fetch.repairs) or None,
            detail=fetch.detail[:200] or None,
            fenced=committed.fenced or None,
        )

    def crashed(self, feed_id: str, url: str | None, problem: Exception) -> None:
        """A bug of our own: the line carries the traceback and the feed, nothing of its content."""
        self.metrics.surprises.inc()
        shown = None if url is None else printable_url(url)
        facts = {"feed_id": feed_id, "url": shown, "op": "refresh"}
        if isinstance(problem, FeedmillError):  # its message says it all
            self.log.error("unexpected error", reason=problem.reason, detail=str(problem), **facts)
            return
        self.log.error("unexpected error", exc_info=problem, **facts)

    def store_failed(self, op: str, problem: FeedmillError | None, wait_sec: float) -> None:
        """A store or a disk that fails, or works again: one line."""
        if problem is None:
            self.log.warning("recovered", op=op)
            return
        self.metrics.troubles.labels(problem.reason).inc()
        self.log.error(
            "troubled", op=op, reason=problem.reason, detail=str(problem), wait_sec=wait_sec
        )

    def lease_lost(self, lane: str) -> None:
        """A lease that ended before its work: one line, for it should be rare."""
        self.log.warning("lease lost", lane=lane)

    def delivered(self, delivery: Delivery) -> None:
        """One line and a counter for one attempt at a webhook; of its address only the host."""
        self._add(self.metrics.deliveries, delivery.result)
        if delivery.buried:
            self.metrics.dead_letters.inc()
        self.log.log(
            _INFO if delivery.result == "delivered" else _WARNING,
            "told",
            webhook_id=delivery.webhook_id,
            host=delivery.host,
            delivery_id=delivery.delivery_id,
            events=delivery.events,
            last_seq=delivery.last_seq,
            result=delivery.result,
            http_status=delivery.status,
            detail=delivery.detail or None,
            attempts=delivery.attempts,
            wait_sec=round(delivery.wait_sec, 3) or None,
            buried=delivery.buried or None,
        )

    def job_ran(self, record: JobRunRecord) -> None:
        """One line and a counter for one step of a background job."""
        self.metrics.job_steps.labels(record.job.kind, record.result).inc()
        self.log.log(
            _WARNING if record.result in {"failed", "retry", "lost"} else _INFO,
            "job step",
            job_id=record.job.id,
            kind=record.job.kind,
            feed_id=record.job.feed_id,
            host=record.job.host,
            result=record.result,
            reason=record.reason or None,
            detail=record.detail[:200] or None,
            attempts=record.job.attempts,
            elapsed_ms=record.elapsed_ms,
            wait_sec=round(record.wait_sec, 3) or None,
        )

    def job_crashed(self, job: Job, problem: Exception) -> None:
        """A bug of our own in a kind of job: the line carries the traceback."""
        self.metrics.surprises.inc()
        self.log.error("unexpected error", job_id=job.id, kind=job.kind, exc_info=problem, op="job")

    def relayed(self, batch: Relayed) -> None:
        """Count what the bus has taken; a bus that lost some is worth a line."""
        self.metrics.bus_events.inc(batch.events)
        if batch.lost:
            self.metrics.bus_lost.inc(batch.lost)
            self.log.warning(
                "bus lost events", bus=batch.bus, lost=batch.lost, again_after=batch.seq
            )

    def _count(self, result: Refresh, committed: Committed) -> None:
        fetch, metrics = result.fetch, self.metrics
        fault = fault_of(fetch.outcome, fetch.http_status)
        self._add(metrics.fetches, fetch.outcome, fault or "none")
        self._add(metrics.statuses, str(fetch.http_status or "none"))
        if fetch.wire_length:
            metrics.bytes_in.inc(fetch.wire_length)
        if fetch.content_length:
            metrics.bytes_decoded.inc(fetch.content_length)
        exemplar = None if fetch.trace_id is None else {"trace_id": fetch.trace_id}
        payload = "failed" if fault else payload_class(fetch.content_length)
        self._latency[payload].observe(fetch.elapsed_ms / 1000, exemplar)
        if fetch.saved_bytes:
            metrics.bytes_saved.inc(fetch.saved_bytes)
        if fetch.interval_sec:
            metrics.lag.observe(lag_of(fetch))
        if fetch.retries:
            metrics.retries.inc(fetch.retries)
        if not fault:
            metrics.new_entries.observe(fetch.entries_new)
        self._add(metrics.entries, "new", amount=fetch.entries_new)
        self._add(metrics.entries, "updated", amount=fetch.entries_updated)
        for code in fetch.repairs:
            self._add(metrics.repairs, code)
        if result.decision is not None:
            self._add(metrics.decisions, result.decision.reason)
            metrics.interval.observe(result.decision.interval_sec)
        cadence = result.feed.schedule.cadence
        if cadence is not None:
            metrics.ewma.observe(cadence.ewma_sec)
        if committed.fenced:
            metrics.fenced.inc()
        if committed.last_seq:
            metrics.last_seq.set(committed.last_seq)

    def _add(self, counter: Counter, *labels: str, amount: int = 1) -> None:
        """Count; the counter of a label is looked up once."""
        if amount:
            found = self._counters.get((counter, labels))
            if found is None:
                found = self._counters[counter, labels] = counter.labels(*labels)
            found.inc(amount)


class GaugedStore(
    ScheduleStore,
    HostStore,
    EventLog,
    WebhookStore,
    FigureStore,
    MaintenanceStore,
    JobStore,
    MediaStore,
    Protocol,
):
    """What is counted."""


async def run_gauges(
    store: GaugedStore,
    clock: Clock,
    metrics: Metrics,
    lifecycle: Lifecycle,
    *,
    consumers: Sequence[str] = (),
) -> None:
    """Update the lengths of the queues until the run ends; `consumers` are cursors of the log."""

    async def update() -> None:
        metrics.lanes.set(lifecycle.lanes)
        metrics.due_lanes.set(await store.due_lanes(clock.now()))
        last_seq = await store.last_seq()
        metrics.last_seq.set(last_seq)
        for consumer in consumers:
            metrics.relay_lag.labels(consumer).set(last_seq - await store.cursor(consumer))
        cursors = [one.cursor for one in await store.webhooks() if one.state == "active"]
        metrics.relay_lag.labels("webhooks").set(last_seq - min(cursors, default=last_seq))

    await _repeat(update, _QUEUES_EVERY_SEC, lifecycle)


async def run_counters(
    store: GaugedStore,
    clock: Clock,
    metrics: Metrics,
    lifecycle: Lifecycle,
    *,
    top_feeds: int = 0,
) -> None:
    """Update what the store knows until the run ends: facts of the store, not of this process."""

    async def update() -> None:
        counts = await store.counts()
        for name in _KINDS:
            metrics.stored.labels(name).set(counts[name])
        usage = await store.media_usage()
        metrics.media_bytes.labels("kept").set(usage.size_bytes)
        metrics.media_bytes.labels("reserved").set(usage.reserved_bytes)
        metrics.last_seq.set(await store.last_seq())
        metrics.jobs.clear()  # a kind without jobs has no line
        for count in await store.job_counts():
            metrics.jobs.labels(count.kind, count.state).set(count.jobs)
        await _count_feeds(store, clock, metrics)
        if top_feeds:
            await _rank_feeds(store, clock, metrics, top_feeds)

    await _repeat(update, _COUNTS_EVERY_SEC, lifecycle)


async def _count_feeds(store: GaugedStore, clock: Clock, metrics: Metrics) -> None:
    """Feeds by state, and hosts that rest by reason."""
    now = clock.now()
    counts = await store.feed_counts(now)
    for state in _STATES:
        metrics.feeds.labels(state).set(getattr(counts, state))
    resting = await store.host_lanes(HostFilter(resting=True), now=now, limit=_MOST_HOSTS)
    reasons = collections.Counter(lane.pace.blocked_reason or "" for lane in resting.items)
    metrics.resting_hosts.clear()
    for reason, number in reasons.items():
        metrics.resting_hosts.labels(reason).set(number)


async def _rank_feeds(store: FigureStore, clock: Clock, metrics: Metrics, most: int) -> None:
    """Series of the feeds with the most new entries today, and of the hosts with the most failures."""
    now = clock.now()
    feeds = await store.top_feeds("new", since=now, until=now, limit=most)
    failures = await store.host_failures(since=now, until=now, limit=most)
    metrics.feed_figures.clear()
    for feed in feeds:
        for figure in _FIGURES:
            value = getattr(feed.figures, figure)
            if value is not None:
                title = (feed.title or feed.url)[:_TITLE_CHARS]
                metrics.feed_figures.labels(feed.feed_id, title, figure).set(value)
    metrics.host_failures.clear()
    for one in failures:
        status = str(one.status or "none")
        metrics.host_failures.labels(one.host or "", one.outcome, status).set(one.count)


async def _repeat(
    update: Callable[[], Awaitable[None]], every_sec: float, lifecycle: Lifecycle
) -> None:
    while not lifecycle.is_stopping():
        with suppress(FeedmillError):  # the scheduler meets the same error and reports it
            await update()
        await lifecycle.sleep_unless_stopping(every_sec)
