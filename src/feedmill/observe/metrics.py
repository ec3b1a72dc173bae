"""Counters and histograms of 002 §4.9, without per-feed labels: those figures live in the store."""

from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_INTERVALS: Final = (300, 900, 1800, 3600, 7200, 14400, 43200, 86400)


class Metrics:
    """The metrics of one process; each instance has its own registry."""

    def __init__(self) -> None:
        # One line in two would be the moment at which a counter began.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus-client is half typed
        self.registry = CollectorRegistry()
        self.fetches = Counter(
            "feedmill_fetches",
            "Fetches by outcome: fresh, unchanged, same-body or the reason of a failure.",
            ["outcome"],
            registry=self.registry,
        )
        self.statuses = Counter(
            "feedmill_http_statuses", "Answers by status class.", ["status"], registry=self.registry
        )
        self.bytes_in = Counter(
            "feedmill_bytes_in", "Octets of bodies as transferred.", registry=self.registry
        )
        self.bytes_decoded = Counter(
            "feedmill_bytes_decoded", "Octets of bodies after decoding.", registry=self.registry
        )
        self.latency = Histogram(
            "feedmill_fetch_seconds",
            "Time from request to the end of the answer.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.interval = Histogram(
            "feedmill_interval_seconds",
            "Interval that the scheduler chose.",
            buckets=_INTERVALS,
            registry=self.registry,
        )
        self.ewma = Histogram(
            "feedmill_ewma_interval_seconds",
            "Publication cadence that the scheduler saw.",
            buckets=_INTERVALS,
            registry=self.registry,
        )
        self.entries = Counter(
            "feedmill_entries",
            "Entries by what happened to them.",
            ["change"],
            registry=self.registry,
        )
        self.decisions = Counter(
            "feedmill_decisions",
            "Schedule decisions by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.repairs = Counter(
            "feedmill_repairs", "Documents that needed a repair.", ["code"], registry=self.registry
        )
        self.surprises = Counter(
            "feedmill_surprises", "Faults of our own while refreshing.", registry=self.registry
        )
        self.troubles = Counter(
            "feedmill_troubles",
            "Waits for a store or a disk that failed, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.deliveries = Counter(
            "feedmill_webhook_deliveries",
            "Attempts to hand a batch to a webhook, by result: delivered or why not.",
            ["result"],
            registry=self.registry,
        )
        self.dead_letters = Counter(
            "feedmill_webhook_dead_letters",
            "Batches that were given up after all attempts.",
            registry=self.registry,
        )
        self.fenced = Counter(
            "feedmill_fenced_commits", "Commits under a lost lease.", registry=self.registry
        )
        self.health = Counter(
            "feedmill_health_changes",
            "Feeds whose state of health changed, by the new state.",
            ["health"],
            registry=self.registry,
        )
        self.stored = Gauge(
            "feedmill_stored",
            "What the store holds, by kind: feeds, paused ones, entries, articles, raw bodies.",
            ["kind"],
            registry=self.registry,
        )
        self.requests = Counter(
            "feedmill_http_requests",
            "Requests of other programs, by method, route and status.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.answer_seconds = Histogram(
            "feedmill_http_request_seconds",
            "Time from a request to the end of its answer; streams count when they end.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.last_seq = Gauge(
            "feedmill_log_seq", "Number of the newest event.", registry=self.registry
        )
        self.due_lanes = Gauge(
            "feedmill_due_lanes",
            "Hosts with due feeds that nobody works on, in the whole store.",
            registry=self.registry,
        )
        self.lanes = Gauge(
            "feedmill_lanes_held",
            "Hosts that this process is working on.",
            registry=self.registry,
        )
        self.bus_events = Counter(
            "feedmill_bus_events", "Events that the bus has taken.", registry=self.registry
        )
        self.bus_lost = Counter(
            "feedmill_bus_lost_events",
            "Events that the bus had taken, did not hold any more and was given again.",
            registry=self.registry,
        )
        self.relay_lag = Gauge(
            "feedmill_relay_lag",
            "Events that a consumer of the log has not been given yet: bus, or the last webhook.",
            ["consumer"],
            registry=self.registry,
        )

    def page(self) -> bytes:
        """The text that /metrics serves."""
        return generate_latest(self.registry)
