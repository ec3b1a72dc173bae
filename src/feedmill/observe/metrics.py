"""Counters, histograms and gauges of 002 §4.9 for Prometheus.

No metric has a label for each feed, because figures of one feed live in the store. Only the first few
feeds and hosts of the day have series of their own, and only when `observe.metrics_top_feeds` asks.
"""
# Tested in tests/unit/interfaces/test_health_page.py

from collections.abc import Sequence
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.openmetrics import exposition as openmetrics

METRICS_TYPE: Final = "text/plain; version=0.0.4"
OPENMETRICS_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_LAGS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10)  # in intervals
_NEW: Final = (0, 1, 2, 5, 10, 20, 50)
_INTERVALS: Final = (300, 900, 1800, 3600, 7200, 14400, 43200, 86400)


class Metrics:
    """The metrics of one process; each instance has its own registry."""

    def __init__(self) -> None:
        # One line in two would be the moment at which a counter began.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus-client is half typed
        registry = self.registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        self.fetches = counter(
            "feedmill_fetches",
            "Fetches by outcome (fresh, unchanged, same-body or the reason of a failure) and by whose"
            " fault a failure is: ours, theirs, host or none.",
            "outcome",
            "fault",
        )
        self.statuses = counter(
            "feedmill_http_statuses", "Answers by status; none: no answer came.", "status"
        )
        self.bytes_in = counter("feedmill_bytes_in", "Octets of bodies as transferred.")
        self.bytes_decoded = counter("feedmill_bytes_decoded", "Octets of bodies after decoding.")
        self.bytes_saved = counter(
            "feedmill_bytes_saved", "Octets of bodies that a 304 made unnecessary."
        )
        self.latency = histogram(
            "feedmill_fetch_seconds",
            "Time from request to the end of the answer, by size of the decoded body: none, 100kB,"
            " 1MB, larger; failed: a poll that failed.",
            _SECONDS,
            "payload",
        )
        self.lag = histogram(
            "feedmill_lag_intervals",
            "How late polls were, in intervals; above 1 is later than twice the interval.",
            _LAGS,
        )
        self.retries = counter("feedmill_retries", "Connection attempts after the first.")
        self.new_entries = histogram(
            "feedmill_new_entries_per_fetch", "New entries of one answered poll.", _NEW
        )
        self.feeds = gauge(
            "feedmill_feeds",
            "Feeds by state: active, backing_off, suspect, gone, paused; due, late by more than an"
            " interval, due but held for their host. Of the whole store.",
            "state",
        )
        self.resting_hosts = gauge(
            "feedmill_resting_hosts",
            "Hosts that are left alone for a while, by reason. Of the whole store.",
            "reason",
        )
        self.feed_figures = gauge(
            "feedmill_feed_figures",
            "Figures of today of the feeds with the most new entries, by feed.",
            "feed_id",
            "title",
            "figure",
        )
        self.host_failures = gauge(
            "feedmill_host_failures",
            "Failed polls of today of the hosts with the most of them.",
            "host",
            "outcome",
            "status",
        )
        self.interval = histogram(
            "feedmill_interval_seconds", "Interval that the scheduler chose.", _INTERVALS
        )
        self.ewma = histogram(
            "feedmill_ewma_interval_seconds",
            "Publication cadence that the scheduler saw.",
            _INTERVALS,
        )
        self.entries = counter("feedmill_entries", "Entries by what happened to them.", "change")
        self.decisions = counter("feedmill_decisions", "Schedule decisions by reason.", "reason")
        self.repairs = counter("feedmill_repairs", "Documents that needed a repair.", "code")
        self.surprises = counter("feedmill_surprises", "Faults of our own while refreshing.")
        self.troubles = counter(
            "feedmill_troubles", "Waits for a store or a disk that failed, by reason.", "reason"
        )
        self.deliveries = counter(
            "feedmill_webhook_deliveries",
            "Attempts to hand a batch to a webhook, by result: delivered or why not.",
            "result",
        )
        self.dead_letters = counter(
            "feedmill_webhook_dead_letters", "Batches that were given up after all attempts."
        )
        self.job_steps = counter(
            "feedmill_job_steps",
            "Steps of background jobs by kind and result: done, again, later, retry, failed, lost.",
            "kind",
            "result",
        )
        self.jobs = gauge(
            "feedmill_jobs", "Background jobs in the store, by kind and state.", "kind", "state"
        )
        self.fenced = counter("feedmill_fenced_commits", "Commits under a lost lease.")
        self.health = counter(
            "feedmill_health_changes",
            "Feeds whose state of health changed, by the new state.",
            "health",
        )
        self.host_states = counter(
            "feedmill_host_changes", "Hosts whose state changed, by the new state.", "state"
        )
        self.stored = gauge(
            "feedmill_stored",
            "What the store holds, by kind: feeds, paused ones, entries, articles, raw bodies, media files,"
            " full texts, clusters.",
            "kind",
        )
        self.media_bytes = gauge(
            "feedmill_media_bytes",
            "Octets of media files: kept, and reserved for downloads under way. Of the whole store.",
            "state",
        )
        self.requests = counter(
            "feedmill_http_requests",
            "Requests of other programs, by method, route and status.",
            "method",
            "route",
            "status",
        )
        self.answer_seconds = histogram(
            "feedmill_http_request_seconds",
            "Time from a request to the end of its answer; streams count when they end.",
            _SECONDS,
        )
        self.last_seq = gauge("feedmill_log_seq", "Number of the newest event.")
        self.due_lanes = gauge(
            "feedmill_due_lanes",
            "Hosts with due feeds that no worker has leased, in the whole store.",
        )
        self.lanes = gauge("feedmill_lanes_held", "Hosts that this process is working on.")
        self.bus_events = counter("feedmill_bus_events", "Events that the bus has taken.")
        self.bus_lost = counter(
            "feedmill_bus_lost_events",
            "Events that the bus had taken, did not hold any more and was given again.",
        )
        self.relay_lag = gauge(
            "feedmill_relay_lag",
            "Events that a consumer of the log has not been given yet: bus, or the last webhook.",
            "consumer",
        )

    def page(self) -> bytes:
        """The text that /metrics serves."""
        return generate_latest(self.registry)

    def page_for(self, accept: str) -> tuple[bytes, str]:
        """The page and its type: OpenMetrics, which has exemplars, for a client that accepts it."""
        if OPENMETRICS_TYPE.partition(";")[0] in accept:
            page: bytes = openmetrics.generate_latest(self.registry)  # type: ignore[no-untyped-call]
            return page, OPENMETRICS_TYPE
        return self.page(), METRICS_TYPE
