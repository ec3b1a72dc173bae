"""What is said about each refresh: one wide log line and the metrics (002 §4.9)."""

from contextlib import suppress
from typing import Any, Final

from feedmill.engine.ports import Committed, Refresh
from feedmill.engine.watch import Watch
from feedmill.engine.world import World
from feedmill.errors import FeedmillError
from feedmill.fetch.guard import shown
from feedmill.model.feed import Feed
from feedmill.observe.metrics import Metrics

GOOD: Final = frozenset({"fresh", "unchanged", "same-body"})

_WARNING, _INFO = 30, 20
_COUNT_EVERY_SEC: Final = 60.0


class Report:
    """Listens to a run; `log` is a structured logger, `metrics` may be shared with a page.

    A feed that fails is a warning, unless the failures are `shown` to somebody anyway.
    """

    def __init__(self, log: Any, metrics: Metrics, *, shown: bool = False) -> None:  # noqa: ANN401
        self.log = log
        self.metrics = metrics
        self.failure_level = _INFO if shown else _WARNING

    def refreshed(self, before: Feed, result: Refresh, committed: Committed) -> None:
        """One line and the counters for one refresh."""
        health = result.feed.schedule.health
        if health != before.schedule.health:
            self.metrics.health.labels(health).inc()
        fetch, decision = result.fetch, result.decision
        self.log.log(
            _INFO if fetch.outcome in GOOD else self.failure_level,
            "refreshed",
            feed_id=result.feed.id,
            url=shown(result.feed.url),
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
        self._count(result, committed)

    def surprised(self, feed: Feed, problem: Exception) -> None:
        """A fault of our own: the line carries the trace, the feed and nothing of its content."""
        self.metrics.surprises.inc()
        self.log.error(
            "surprised", feed_id=feed.id, url=shown(feed.url), exc_info=problem, op="refresh"
        )

    def troubled(self, op: str, problem: FeedmillError | None, wait_sec: float) -> None:
        """A store or a disk that fails, or works again: one line, whatever it cost."""
        if problem is None:
            self.log.warning("recovered", op=op)
            return
        self.metrics.troubles.labels(problem.reason).inc()
        self.log.error(
            "troubled", op=op, reason=problem.reason, detail=str(problem), wait_sec=wait_sec
        )

    def _count(self, result: Refresh, committed: Committed) -> None:
        fetch, metrics = result.fetch, self.metrics
        metrics.fetches.labels(fetch.outcome).inc()
        status = f"{fetch.http_status // 100}xx" if fetch.http_status else "none"
        metrics.statuses.labels("304" if fetch.http_status == 304 else status).inc()
        metrics.bytes_in.inc(fetch.wire_length or 0)
        metrics.bytes_decoded.inc(fetch.content_length or 0)
        metrics.latency.observe(fetch.elapsed_ms / 1000)
        metrics.entries.labels("new").inc(fetch.entries_new)
        metrics.entries.labels("updated").inc(fetch.entries_updated)
        for code in fetch.repairs:
            metrics.repairs.labels(code).inc()
        if result.decision is not None:
            metrics.decisions.labels(result.decision.reason).inc()
            metrics.interval.observe(result.decision.interval_sec)
        cadence = result.feed.schedule.cadence
        if cadence is not None:
            metrics.ewma.observe(cadence.ewma_sec)
        if committed.fenced:
            metrics.fenced.inc()
        if committed.last_seq:
            metrics.last_seq.set(committed.last_seq)


async def keep_counting(world: World, metrics: Metrics, watch: Watch) -> None:
    """Bring the gauges up to date now and then: they are facts of the store, not of this process."""
    while not watch.is_stopping():
        with suppress(FeedmillError):  # whoever polls meets it too, and tells
            counts = await world.store.counts()
            for name in ("feeds", "paused", "entries", "articles", "blobs"):
                metrics.stored.labels(name).set(counts[name])
            metrics.last_seq.set(await world.store.last_seq())
        await watch.pause(_COUNT_EVERY_SEC)
