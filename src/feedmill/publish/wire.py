"""One wire shape for every door: REST, gRPC, NDJSON, the command line (002 §5).

Values are plain builtins; instants are RFC 3339 in UTC. No credential ever gets here: overrides
are shown by what they change, not by what they hold.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from feedmill.config import ScheduleConfig
from feedmill.model.event import Event, Revision, StoredEntry
from feedmill.model.feed import Feed, FeedOverrides, FetchRecord
from feedmill.model.schedule import Decision


def feed_wire(feed: Feed, config: ScheduleConfig) -> dict[str, Any]:
    """A feed as 002 §5.1 writes it, with what we know beyond it."""
    schedule, hints, own = feed.schedule, feed.hints, feed.overrides
    return {
        "id": feed.id,
        "url": feed.url,
        "type": feed.type,
        "title": feed.title,
        "site_url": feed.site_url,
        "tags": list(feed.tags),
        "paused": feed.paused,
        "health": schedule.health,
        "created_at": instant(feed.created_at),
        "validators": {
            "etag": feed.validators.etag if feed.validators else None,
            "last_modified": feed.validators.last_modified if feed.validators else None,
        },
        "schedule": {
            "interval_sec": round(schedule.interval_sec),
            "min_interval_sec": own.min_interval_sec or config.min_interval_sec,
            "max_interval_sec": own.max_interval_sec or config.max_interval_sec,
            "last_decision_at": instant(feed.last_decision_at),
            "next_poll_at": instant(feed.next_poll_at),
            "reason": feed.reason,
            "retry_after_sec": hints.retry_after_sec.value if hints.retry_after_sec else None,
        },
        "publisher_hints": {
            "ttl_minutes": hints.ttl_sec.value // 60 if hints.ttl_sec else None,
            "skip_hours": list(hints.skip_hours.value) if hints.skip_hours else None,
            "skip_days": list(hints.skip_days.value) if hints.skip_days else None,
        },
        "stats": {
            "last_fetch_at": instant(feed.last_fetch_at),
            "last_success_at": instant(feed.last_success_at),
            "last_result": feed.last_result,
            "last_status": feed.last_status,
            "last_detail": feed.last_detail or None,
            "consecutive_failures": schedule.consecutive_failures,
            "ewma_interarrival_sec": round(schedule.cadence.ewma_sec) if schedule.cadence else None,
            "new_entries_last_fetch": feed.new_entries_last_fetch,
        },
        "self_url": feed.self_url,
        "hubs": list(feed.hubs),
        "validators_ineffective": feed.same_bodies >= 3,
        "overrides": overrides_wire(own),
    }


def entry_wire(entry: StoredEntry) -> dict[str, Any]:
    """An entry as 002 §5.2 writes it."""
    shape: dict[str, Any] = msgspec.to_builtins(entry)
    return shape


def revision_wire(revision: Revision) -> dict[str, Any]:
    """An earlier state of an entry."""
    shape: dict[str, Any] = msgspec.to_builtins(revision)
    return shape


def fetch_wire(fetch: FetchRecord) -> dict[str, Any]:
    """A fetch as 002 §5.3 writes it; headers stay a list of pairs, in order, duplicates kept."""
    shape: dict[str, Any] = msgspec.to_builtins(fetch)
    return shape


def refresh_wire(feed: Feed, fetch: FetchRecord) -> dict[str, Any]:
    """One refresh in short: what came, when the next one is due and why."""
    return {
        "fetch_id": fetch.fetch_id,
        "feed_id": feed.id,
        "url": feed.url,
        "title": feed.title,
        "fetched_at": instant(fetch.fetched_at),
        "outcome": fetch.outcome,
        "http_status": fetch.http_status,
        "detail": fetch.detail,
        "entries_new": fetch.entries_new,
        "entries_updated": fetch.entries_updated,
        "repairs": list(fetch.repairs),
        "health": feed.schedule.health,
        "reason": feed.reason,
        "interval_sec": round(feed.schedule.interval_sec),
        "next_poll_at": instant(feed.next_poll_at),
    }


def decision_wire(decision: Decision) -> dict[str, Any]:
    """A schedule decision with its chain of reasons."""
    inputs = decision.inputs
    return {
        "decided_at": instant(inputs.now),
        "reason": decision.reason,
        "outcome": msgspec.to_builtins(inputs.outcome),
        "interval_before_sec": round(inputs.state.interval_sec, 3),
        "interval_sec": round(decision.interval_sec, 3),
        "delay_sec": round(decision.delay_sec, 3),
        "next_poll_at": instant(decision.next_poll_at),
        "steps": msgspec.to_builtins(decision.steps),
        "hints": msgspec.to_builtins(inputs.hints),
    }


def event_wire(event: Event) -> dict[str, Any]:
    """An event of the log."""
    shape: dict[str, Any] = msgspec.to_builtins(event)
    return shape


def overrides_wire(overrides: FeedOverrides) -> dict[str, Any]:
    """What the feed does differently; credentials and header values are only said to be there."""
    return {
        "min_interval_sec": overrides.min_interval_sec,
        "max_interval_sec": overrides.max_interval_sec,
        "user_agent": overrides.user_agent,
        "header_names": [name for name, _ in overrides.headers],
        "has_credentials": overrides.username is not None or overrides.password is not None,
        "has_proxy": overrides.proxy is not None,
        "verify_tls": overrides.verify_tls,
        "push_only": overrides.push_only,
        "archive_backfill": overrides.archive_backfill,
        "disable_autodiscovery": overrides.disable_autodiscovery,
    }


def instant(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC, ending in Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
