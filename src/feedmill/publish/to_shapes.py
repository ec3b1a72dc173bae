"""Converts stored values to response shapes: one function per shape."""

from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from feedmill.config import MovesConfig, ScheduleConfig
from feedmill.model.addresses import mask_address
from feedmill.model.base import filled
from feedmill.model.feed import BodyRef, Feed, FeedOverrides, FetchRecord
from feedmill.model.running.webhook import Webhook
from feedmill.model.schedule import Decision, Hint, Hints
from feedmill.publish import shapes
from feedmill.publish.move_shapes import DEFAULT_MOVES, candidate_shape

_STORAGES: Final = {"s3": "s3", "s3a": "s3", "gs": "gcs", "az": "azure", "azure": "azure"}


def feed_shape(
    feed: Feed, config: ScheduleConfig, moves: MovesConfig = DEFAULT_MOVES
) -> shapes.FeedShape:
    """A feed as 002 §5.1 writes it, with what we know beyond it."""
    return shapes.FeedShape(
        id=feed.id,
        url=mask_address(feed.url),
        type=feed.type,
        title=feed.title,
        site_url=feed.site_url and mask_address(feed.site_url),
        tags=feed.tags,
        paused=feed.paused,
        health=feed.schedule.health,
        circuit=feed.schedule.circuit,
        created_at=to_utc(feed.created_at),
        validators=shapes.FeedValidators(
            etag=feed.validators.etag if feed.validators else None,
            last_modified=feed.validators.last_modified if feed.validators else None,
        ),
        schedule=_schedule(feed, config),
        publisher_hints=_publisher_hints(feed.hints),
        stats=_stats(feed),
        self_url=feed.self_url and mask_address(feed.self_url),
        hubs=tuple(map(mask_address, feed.hubs)),
        validators_ineffective=feed.same_bodies >= 3,
        overrides=overrides_shape(feed.overrides),
        move=None if feed.move is None else candidate_shape(feed.move, moves),
    )


def feed_detail(feed: Feed, aliases: tuple[str, ...], config: ScheduleConfig) -> shapes.FeedDetail:
    """The feed with its addresses."""
    shown = feed_shape(feed, config)
    return filled(shapes.FeedDetail, shown, aliases=tuple(map(mask_address, aliases)))


def added_feed(feed: Feed, config: ScheduleConfig, *, created: bool) -> shapes.AddedFeed:
    """The feed that an address led to."""
    return filled(shapes.AddedFeed, feed_shape(feed, config), created=created)


def overrides_shape(own: FeedOverrides) -> shapes.OverridesShape:
    """The overrides of a feed, without its secrets."""
    return filled(
        shapes.OverridesShape,
        own,
        header_names=tuple(name for name, _ in own.headers),
        has_credentials=own.username is not None or own.password is not None,
        has_proxy=own.proxy is not None,
    )


def decision_shape(decision: Decision, words: tuple[str, ...] = ()) -> shapes.DecisionShape:
    """A decision with its chain of reasons; `words` are the same in sentences."""
    inputs, hints = decision.inputs, decision.inputs.hints
    return shapes.DecisionShape(
        decided_at=to_utc(inputs.now),
        reason=decision.reason,
        outcome=filled(shapes.OutcomeShape, inputs.outcome),
        interval_before_sec=round(inputs.state.interval_sec, 3),
        interval_sec=round(decision.interval_sec, 3),
        delay_sec=round(decision.delay_sec, 3),
        next_poll_at=to_utc(decision.next_poll_at),
        steps=tuple(filled(shapes.StepShape, step) for step in decision.steps),
        hints={name: _hint(getattr(hints, name)) for name in hints.__struct_fields__},
        words=words,
    )


def fetch_shape(fetch: FetchRecord, raw_url: str | None = None) -> FetchRecord:
    """A fetch as 002 §5.3 writes it, without the tokens of addresses; `raw_url` is that of the raw store."""
    digest = fetch.body_sha256
    return replace(
        fetch,
        url=mask_address(fetch.url),
        final_url=mask_address(fetch.final_url),
        hops=tuple(
            replace(hop, url=mask_address(hop.url), location=mask_address(hop.location))
            for hop in fetch.hops
        ),
        body_ref=digest and BodyRef(storage=storage_of(raw_url), key=f"sha256:{digest}"),
    )


def storage_of(raw_url: str | None) -> str:
    """The kind of storage at an address of a raw store; None is the local disk."""
    scheme = (raw_url or "file:").partition(":")[0].lower()
    return _STORAGES.get(scheme, "localfs" if scheme in {"file", "memory"} else scheme)


def attempt_shape(fetch: FetchRecord) -> shapes.Attempt:
    """One poll in short."""
    at = to_utc(fetch.fetched_at)
    return filled(shapes.Attempt, fetch, fetched_at=at, detail=fetch.detail or None)


def webhook_shape(webhook: Webhook) -> shapes.WebhookShape:
    """The webhook without its secrets."""
    return filled(
        shapes.WebhookShape,
        webhook,
        url=mask_address(webhook.url),
        topic=webhook.topic and mask_address(webhook.topic),
    )


def new_webhook(webhook: Webhook) -> shapes.NewWebhook:
    """The webhook with the secret that its deliveries are signed with: shown once, to its creator."""
    secret = webhook.secrets[0].value
    return filled(shapes.NewWebhook, webhook_shape(webhook), secret=secret)


def to_utc(moment: datetime) -> datetime:
    """The same instant in UTC, so that it is written with a Z."""
    return moment.astimezone(UTC)


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else to_utc(moment)


def _schedule(feed: Feed, config: ScheduleConfig) -> shapes.FeedSchedule:
    pause = feed.hints.retry_after_sec
    limits = config.with_limits(feed.overrides.min_interval_sec, feed.overrides.max_interval_sec)
    return shapes.FeedSchedule(
        interval_sec=round(feed.schedule.interval_sec),
        min_interval_sec=limits.min_interval_sec,
        max_interval_sec=limits.max_interval_sec,
        last_decision_at=_utc(feed.last_decision_at),
        next_poll_at=to_utc(feed.next_poll_at),
        reason=feed.reason,
        retry_after_sec=pause.value if pause else None,
    )


def _publisher_hints(hints: Hints) -> shapes.PublisherHints:
    return shapes.PublisherHints(
        ttl_minutes=hints.ttl_sec.value // 60 if hints.ttl_sec else None,
        skip_hours=hints.skip_hours.value if hints.skip_hours else None,
        skip_days=hints.skip_days.value if hints.skip_days else None,
    )


def _stats(feed: Feed) -> shapes.FeedStats:
    cadence = feed.schedule.cadence
    return shapes.FeedStats(
        last_fetch_at=_utc(feed.last_fetch_at),
        last_success_at=_utc(feed.last_success_at),
        last_result=feed.last_result,
        last_status=feed.last_status,
        last_detail=feed.last_detail or None,
        consecutive_failures=feed.schedule.consecutive_failures,
        ewma_interarrival_sec=round(cadence.ewma_sec) if cadence else None,
        new_entries_last_fetch=feed.new_entries_last_fetch,
    )


def _hint(hint: Hint[Any] | None) -> shapes.HintShape | None:
    if hint is None:
        return None
    return filled(shapes.HintShape, hint, seen_at=to_utc(hint.seen_at))
