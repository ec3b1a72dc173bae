"""Values to rows and back: instants as microseconds, lists and structs as JSON, None as NULL."""
# Tested in tests/contracts/store/

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID, uuid5

import msgspec

from feedmill.adapters.store.secret_keys import SEALED, seal, unseal
from feedmill.model.event import Event, NewEvent
from feedmill.model.feed import (
    BlobRef,
    Feed,
    FeedOverrides,
    HostPace,
    MoveCandidate,
    NewFeed,
    QuotaUse,
    VolatileField,
)
from feedmill.model.fetch import Headers, Validators
from feedmill.model.schedule import Arrivals, Cadence, ErrorBudget, Hints, ScheduleState

T = TypeVar("T")

Row = tuple[Any, ...]

NEVER: Final = 253_402_300_799_000_000  # the end of the year 9999

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EVENTS: Final = UUID("7b0a6f4e-5d7f-5c0e-9a51-2f6f3c1d8e42")
_NO_HINTS: Final = Hints()
_NO_OVERRIDES: Final = FeedOverrides()

# What a poll carries on; everything else of a feed belongs to the subscriber.
STATE_COLUMNS: Final = (
    "type", "title", "site_url", "etag", "last_modified", "validators_url", "vary", "vary_any",
    "interval_sec", "consecutive_failures", "health", "gone_seen_at", "ewma_interarrival_sec",
    "last_published_at", "hints", "reason", "last_decision_at", "last_fetch_at",
    "last_success_at", "last_result", "last_status", "last_detail", "new_entries_last_fetch",
    "body_sha256", "document_fetch_id", "document_bytes", "reader_version", "same_bodies", "self_url", "hubs",
    "ignored_guids", "ignored_links", "move", "arrivals",
    "errors", "validator_use", "quota", "volatile_fields",
)  # fmt: skip
FEED_COLUMNS: Final = ", ".join(
    [f"f.{name}" for name in ("id", "url", "feed_key", "created_at", "tags", "paused", "overrides")]
    + ["s.next_run_at"]
    + [f"f.{name}" for name in STATE_COLUMNS]
    + ["f.https_probed_at"]
)
PACE_COLUMNS: Final = (
    "gap_ms, next_ok_at, blocked_reason, slow_down, failures, failing_with, limited_urls,"
    " troubled_since, canary"
)

_encode: Final = msgspec.json.Encoder().encode
_strings: Final = msgspec.json.Decoder(tuple[str, ...]).decode
_headers: Final = msgspec.json.Decoder(Headers).decode
_overrides: Final = msgspec.json.Decoder(FeedOverrides).decode
_hints: Final = msgspec.json.Decoder(Hints).decode
_errors: Final = msgspec.json.Decoder(ErrorBudget).decode
_quota: Final = msgspec.json.Decoder(QuotaUse).decode
_volatile: Final = msgspec.json.Decoder(tuple[VolatileField, ...]).decode
_arrivals: Final = msgspec.json.Decoder(Arrivals).decode
_move: Final = msgspec.json.Decoder(MoveCandidate).decode
_limited: Final = msgspec.json.Decoder(tuple[tuple[str, datetime], ...]).decode
_data: Final = msgspec.json.Decoder(dict[str, Any]).decode


def micros(at: datetime) -> int:
    """The instant as the database keeps it."""
    return (at - _EPOCH) // _MICROSECOND


def micros_or_none(at: datetime | None) -> int | None:
    """The instant as the database keeps it, or NULL."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """The instant that the database keeps."""
    return _EPOCH + timedelta(microseconds=value)


def instant_or_none(value: int | None) -> datetime | None:
    """The instant that the database keeps, or None."""
    return None if value is None else _EPOCH + timedelta(microseconds=value)


def json_text(value: object) -> str:
    """The value as JSON."""
    return _encode(value).decode()


def json_or_null(value: Sequence[object]) -> str | None:
    """The list as JSON, or NULL when it is empty."""
    return _encode(value).decode() if value else None


def strings(text: str | None) -> tuple[str, ...]:
    """A list of strings from its JSON."""
    return _strings(text) if text else ()


def digest(text: str) -> bytes:
    """What a text of any length is found by where it has to be unique (PostgreSQL)."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:20]


class Column(NamedTuple):
    """How a field is kept in its column; None: as it is."""

    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None


PLAIN: Final = Column()

INSTANT: Final = Column(micros_or_none, instant_or_none)

FLAG: Final = Column(int, bool)

SECRET: Final = Column(seal, unseal)


def json_column(kind: Any) -> Column:  # noqa: ANN401  # a type
    """A value as JSON, None as NULL."""
    decode = msgspec.json.Decoder(kind).decode
    return Column(
        lambda value: None if value is None else json_text(value),
        lambda text: None if text is None else decode(text),
    )


def json_list(kind: Any) -> Column:  # noqa: ANN401  # a type
    """A tuple as JSON, an empty one as NULL."""
    decode = msgspec.json.Decoder(kind).decode
    return Column(json_or_null, lambda text: decode(text) if text else ())


class RowCodec(Generic[T]):
    """The columns of a table that a value is made of, named like its fields and in this order."""

    def __init__(self, made: type[T], **columns: Column) -> None:
        self._made, self._columns = made, columns
        self._decoders = [(name, column.decode) for name, column in columns.items()]

    def names(self, prefix: str = "") -> str:
        """The columns for a statement, each with the alias of its table."""
        return ", ".join(f"{prefix}{name}" for name in self._columns)

    def row(self, value: T, *names: str) -> Row:
        """The columns of a value, or those of them."""
        chosen = [(name, self._columns[name].encode) for name in names or self._columns]
        return tuple(
            getattr(value, name) if encode is None else encode(getattr(value, name))
            for name, encode in chosen
        )

    def value(self, row: Row) -> T:
        """The value of a row of all columns."""
        fields = {
            name: one if decode is None else decode(one)
            for (name, decode), one in zip(self._decoders, row, strict=True)
        }
        return self._made(**fields)


def feed_of_new(new: NewFeed) -> Feed:
    """The feed that a subscription begins with; its key is frozen here (D7)."""
    return Feed(
        id=new.id,
        url=new.url,
        feed_key=new.feed_key or new.url,
        created_at=new.created_at,
        next_poll_at=new.next_poll_at,
        schedule=new.schedule,
        title=new.title,
        tags=new.tags,
        overrides=new.overrides,
        paused=new.paused,
    )


def state_row(feed: Feed) -> Row:
    """The feed's STATE_COLUMNS."""
    schedule, validators, cadence = feed.schedule, feed.validators, feed.schedule.cadence
    return (
        feed.type,
        feed.title,
        feed.site_url,
        *(_NO_VALIDATORS if validators is None else _validators_row(validators)),
        schedule.interval_sec,
        schedule.consecutive_failures,
        schedule.health,
        micros_or_none(schedule.gone_seen_at),
        None if cadence is None else cadence.ewma_sec,
        None if cadence is None else micros_or_none(cadence.last_published_at),
        None if feed.hints == _NO_HINTS else json_text(feed.hints),
        feed.reason,
        micros_or_none(feed.last_decision_at),
        micros_or_none(feed.last_fetch_at),
        micros_or_none(feed.last_success_at),
        feed.last_result,
        feed.last_status,
        feed.last_detail,
        feed.new_entries_last_fetch,
        feed.body_sha256,
        feed.document_fetch_id,
        feed.document_bytes,
        feed.reader_version,
        feed.same_bodies,
        feed.self_url,
        json_or_null(feed.hubs),
        json_or_null(feed.ignored_guids),
        json_or_null(feed.ignored_links),
        None if feed.move is None else json_text(feed.move),
        None if schedule.arrivals is None else json_text(schedule.arrivals),
        None if schedule.errors is None else json_text(schedule.errors),
        feed.validator_use,
        quota_text(feed.quota),
        json_or_null(feed.volatile_fields),
    )


def quota_text(use: QuotaUse | None) -> str | None:
    """What a feed brought today as JSON, NULL when it never brought anything."""
    return None if use is None else json_text(use)


def overrides_text(overrides: FeedOverrides) -> str | None:
    """The overrides as JSON with their secrets encrypted, NULL when there are none."""
    if overrides == _NO_OVERRIDES:
        return None
    return json_text(change_overrides(overrides, seal))


def overrides_of(text: str | None) -> FeedOverrides:
    """The overrides of a row."""
    if not text:
        return _NO_OVERRIDES
    stored = _overrides(text)
    return change_overrides(stored, unseal) if SEALED in text else stored


def change_overrides(own: FeedOverrides, change: Callable[[str], str]) -> FeedOverrides:
    """The overrides with every secret changed: password, values of headers, proxy."""
    if own.password is None and own.proxy is None and not own.headers:
        return own
    return msgspec.structs.replace(
        own,
        password=None if own.password is None else change(own.password),
        proxy=None if own.proxy is None else change(own.proxy),
        headers=tuple((name, change(text)) for name, text in own.headers),
    )


def feed_of(row: Row) -> Feed:
    """The feed of a row of FEED_COLUMNS."""
    (
        feed_id, url, feed_key, created_at, tags, paused, overrides, next_run_at,
        kind, title, site_url, etag, last_modified, validators_url, vary, vary_any,
        interval_sec, failures, health, gone_seen_at, ewma_sec, last_published_at, hints,
        reason, last_decision_at, last_fetch_at, last_success_at, last_result, last_status,
        last_detail, new_entries, body_sha256, document_fetch_id, document_bytes, reader_version,
        same_bodies,
        self_url, hubs, ignored_guids, ignored_links, move, arrivals, errors,
        validator_use, quota, volatile_fields, https_probed_at,
    ) = row  # fmt: skip
    return Feed(
        id=feed_id,
        url=url,
        feed_key=feed_key,
        created_at=instant(created_at),
        next_poll_at=instant(next_run_at),
        schedule=ScheduleState(
            interval_sec=interval_sec,
            consecutive_failures=failures,
            health=health,
            gone_seen_at=instant_or_none(gone_seen_at),
            cadence=None if ewma_sec is None else _cadence(ewma_sec, last_published_at),
            arrivals=_arrivals(arrivals) if arrivals else None,
            errors=_errors(errors) if errors else None,
        ),
        type=kind,
        title=title,
        site_url=site_url,
        tags=strings(tags),
        paused=bool(paused),
        overrides=overrides_of(overrides),
        validators=None
        if vary is None
        else Validators(
            etag=etag,
            last_modified=last_modified,
            url=validators_url,
            vary=_headers(vary),
            vary_any=bool(vary_any),
        ),
        hints=_hints(hints) if hints else _NO_HINTS,
        reason=reason,
        last_decision_at=instant_or_none(last_decision_at),
        last_fetch_at=instant_or_none(last_fetch_at),
        last_success_at=instant_or_none(last_success_at),
        last_result=last_result,
        last_status=last_status,
        last_detail=last_detail,
        new_entries_last_fetch=new_entries,
        body_sha256=body_sha256,
        document_fetch_id=document_fetch_id,
        document_bytes=document_bytes,
        reader_version=reader_version,
        same_bodies=same_bodies,
        validator_use=validator_use,
        quota=_quota(quota) if quota else None,
        volatile_fields=_volatile(volatile_fields) if volatile_fields else (),
        self_url=self_url,
        hubs=strings(hubs),
        ignored_guids=strings(ignored_guids),
        ignored_links=strings(ignored_links),
        move=_move(move) if move else None,
        https_probed_at=instant_or_none(https_probed_at),
    )


def pace_row(pace: HostPace) -> Row:
    """The PACE_COLUMNS of a lane."""
    return (
        pace.gap_ms,
        micros_or_none(pace.next_ok_at),
        pace.blocked_reason,
        pace.slow_down,
        pace.failures,
        pace.failing_with,
        json_or_null(pace.limited_urls),
        micros_or_none(pace.troubled_since),
        pace.canary,
    )


def pace_of(row: Row) -> HostPace:
    """The pace of a row of PACE_COLUMNS."""
    (
        gap_ms,
        next_ok_at,
        blocked_reason,
        slow_down,
        failures,
        failing_with,
        limited,
        since,
        canary,
    ) = row
    return HostPace(
        gap_ms=gap_ms,
        next_ok_at=instant_or_none(next_ok_at),
        blocked_reason=blocked_reason,
        slow_down=slow_down,
        failures=failures,
        failing_with=failing_with,
        limited_urls=_limited(limited) if limited else (),
        troubled_since=instant_or_none(since),
        canary=canary,
    )


def event_id(cause: str, number: int) -> str:
    """The id of an event: it follows from what happened once, wherever the log is copied to."""
    return str(uuid5(_EVENTS, f"{cause}/{number}"))


def event_row(seq: int, event_id: str, event: NewEvent) -> Row:
    """A row of the outbox."""
    return (
        seq,
        event_id,
        event.type,
        event.feed_id,
        event.entry_uid,
        micros(event.occurred_at),
        json_text(event.data),
    )


def event_of(row: Row) -> Event:
    """The event of a row of the outbox."""
    seq, event_id, kind, feed_id, entry_uid, occurred_at, data = row
    return Event(
        seq=seq,
        id=event_id,
        type=kind,
        feed_id=feed_id,
        entry_uid=entry_uid,
        occurred_at=instant(occurred_at),
        data=_data(data),
    )


def blob_row(ref: BlobRef) -> Row:
    """A row of the raw store's index."""
    return (
        ref.sha256,
        ref.segment,
        ref.offset,
        ref.length,
        ref.coding,
        ref.raw_length,
        ref.prefix_sha256,
    )


def blob_of(row: Row) -> BlobRef:
    """Where a body lies."""
    sha256, segment, offset, length, coding, raw_length, prefix_sha256 = row
    return BlobRef(
        sha256=sha256,
        segment=segment,
        offset=offset,
        length=length,
        coding=coding,
        raw_length=raw_length,
        prefix_sha256=prefix_sha256,
    )


_NO_VALIDATORS: Final = (None, None, None, None, 0)


def _validators_row(validators: Validators) -> Row:
    return (
        validators.etag,
        validators.last_modified,
        validators.url,
        json_text(validators.vary) if validators.vary else "[]",
        int(validators.vary_any),
    )


def _cadence(ewma_sec: float, last_published_at: int | None) -> Cadence:
    return Cadence(ewma_sec=ewma_sec, last_published_at=instant_or_none(last_published_at))
