"""Values to rows and back: instants as microseconds, lists and structs as JSON, None as NULL."""
# Tested in tests/contracts/store/

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID, uuid5

import msgspec
from msgspec.structs import replace

from feedmill.adapters.store.secret_keys import SEALED, seal, unseal
from feedmill.errors import DamagedRowError
from feedmill.model.base import filled
from feedmill.model.event import Event, NewEvent
from feedmill.model.feed import BlobRef, Feed, FeedOverrides, HostPace, NewFeed
from feedmill.model.fetch import Headers, Validators
from feedmill.model.schedule import Cadence, Hints, ScheduleState
from feedmill.observe.log import logger

T = TypeVar("T")

# What reading a stored value raises that feedmill did not write.
UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, TypeError, AttributeError)

Row = tuple[Any, ...]

NEVER: Final = 253_402_300_799_000_000  # the end of the year 9999

# By which of its columns a damaged row is named; none of them is a secret.
_KEYS: Final = (
    "id",
    "seq",
    "entry_uid",
    "fetch_id",
    "sha256",
    "article_hash",
    "media_id",
    "feed_id",
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LONGEST_SEC: Final = 1_000 * 365 * 86_400  # what can be added to any instant of our time
_EVENTS: Final = UUID("7b0a6f4e-5d7f-5c0e-9a51-2f6f3c1d8e42")
_NO_OVERRIDES: Final = FeedOverrides()

_encode: Final = msgspec.json.Encoder().encode
_overrides: Final = msgspec.json.Decoder(FeedOverrides).decode
_strings: Final = msgspec.json.Decoder(tuple[str, ...]).decode


def micros(at: datetime) -> int:
    """The instant as the database keeps it."""
    return (at - _EPOCH) // _MICROSECOND


def micros_or_none(at: datetime | None) -> int | None:
    """The instant as the database keeps it, or NULL."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def instant(value: int) -> datetime:
    """The instant that the database keeps."""
    try:
        return _EPOCH + value * _MICROSECOND
    except OverflowError:
        message = f"{value} is no instant between the years 1 and 9999"
        raise msgspec.DecodeError(message) from None


def instant_or_none(value: int | None) -> datetime | None:
    """The instant that the database keeps, or None."""
    return None if value is None else instant(value)


def seconds(value: float) -> float:
    """The interval that the database keeps."""
    if not 0 <= value <= _LONGEST_SEC:
        message = f"{value} is no interval of up to 1,000 years, in seconds"
        raise msgspec.DecodeError(message)
    return value


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


CODECS: Final[dict[str, list["RowCodec[Any]"]]] = {}  # by table, for `check_rows`


class Column(NamedTuple):
    """How a field is kept in its column; None: as it is. What is `empty` is kept as NULL."""

    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None
    empty: Any = None


PLAIN: Final = Column()

INSTANT: Final = Column(micros, instant)

SECONDS: Final = Column(None, seconds)

FLAG: Final = Column(int, bool)

SECRET: Final = Column(seal, unseal)


def json_column(kind: Any, *, empty: Any = None) -> Column:  # noqa: ANN401  # a type, and a value of it
    """A value as JSON."""
    return Column(json_text, msgspec.json.Decoder(kind).decode, empty)


class RowCodec(Generic[T]):
    """The columns of a table that a value is made of, named like its fields and in this order.

    The type of a field says how it is kept: an instant as microseconds, a flag as 0 or 1, a tuple as JSON or NULL
    when it is empty, a value or mapping as JSON. `columns` names those that are kept in another way.

    Polls read and write a hundred columns each, so both ways are compiled, as dataclasses compile theirs:
    a loop over the columns takes more than twice the time.
    """

    def __init__(
        self, made: type[T], names: str, *others: str, table: str = "", **columns: Column
    ) -> None:
        self._made, self._given = made, columns
        self._table = table or made.__name__
        if table:
            CODECS.setdefault(table, []).append(self)
        self._others = others  # fields that come from elsewhere: further arguments of `value`
        self._writers: dict[tuple[str, ...], Callable[[T], Row]] = {}
        self.columns: Final = tuple(names.split())

    def names(self, prefix: str = "") -> str:
        """The columns for a statement, each with the alias of its table."""
        return ", ".join(f"{prefix}{name}" for name in self.columns)

    def row(self, value: T, *names: str) -> Row:
        """The columns of a value, or those of them."""
        if names not in self._writers:
            self._writers[names] = self.writer(*names)
        return self._writers[names](value)

    def writer(self, *names: str) -> Callable[[T], Row]:
        """What makes the row of a value, or of these columns of it."""
        fields = "".join(f"{self._written(name)}, " for name in names or self.columns)
        written: Callable[[T], Row] = self._compiled(f"lambda one: ({fields})")
        return written

    @cached_property
    def value(self) -> Callable[..., T]:
        """What makes the value of a row of all columns."""
        fields = ", ".join(
            [f"{name}={self._read(name)}" for name in self.columns]
            + [f"{name}={name}" for name in self._others]
        )
        make = self._compiled(f"lambda {', '.join((*self.columns, *self._others))}: made({fields})")

        def read(row: Row, *others: object) -> T:
            try:
                made: T = make(*row, *others)
            except UNREADABLE as error:
                raise self._damage(row) or error from error
            return made

        return read

    def problem_of(self, name: str, value: object) -> str | None:
        """What is wrong with a value of this column, in words; None when it can be read."""
        decode = self._kept[name].decode
        try:
            if decode is not None and value is not None:
                decode(value)
        except UNREADABLE as error:
            return f"holds no valid value ({error})"
        return None

    def _damage(self, row: Row) -> DamagedRowError | None:
        """Which column of the row cannot be read."""
        given = dict(zip(self.columns, row, strict=False))
        keys = [f"{name} {given[name]!r}" for name in _KEYS if given.get(name) is not None]
        for name, value in given.items():
            if (why := self.problem_of(name, value)) is not None:
                return DamagedRowError(self._table, keys[0] if keys else "no id", name, why)
        return None

    def _read(self, name: str) -> str:
        kept = self._kept[name]
        value = name if kept.decode is None else f"decode_{name}({name})"
        return value if kept is PLAIN else f"empty_{name} if {name} is None else {value}"

    def _written(self, name: str) -> str:
        kept, value = self._kept[name], f"one.{name}"
        if kept is PLAIN:
            return value
        written = value if kept.encode is None else f"encode_{name}({value})"
        is_empty = "is None" if kept.empty is None else f"== empty_{name}"
        return f"None if {value} {is_empty} else {written}"

    def _compiled(self, source: str) -> Any:  # noqa: ANN401  # a function
        names = {
            f"{part}_{name}": one
            for name, kept in self._kept.items()
            for part, one in kept._asdict().items()
        }
        return eval(source, {"made": self._made, **names})  # noqa: S307  # names of our own fields

    # Types are looked at when a table is used for the first time: a start reads few tables.
    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self._made)

    @cached_property
    def _kept(self) -> dict[str, Column]:
        hints = self._hints
        return {name: self._given.get(name) or _column_of(hints.get(name)) for name in self.columns}


def _column_of(hint: Any) -> Column:  # noqa: ANN401  # a type
    """How a field of this type is kept."""
    kinds = [one for one in get_args(hint) if one is not NoneType]
    kind = kinds[0] if isinstance(hint, UnionType) and len(kinds) == 1 else hint
    if kind is datetime:
        return INSTANT
    if kind is bool:
        return FLAG
    if get_origin(kind) is tuple:
        return json_column(kind, empty=())
    if get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return json_column(kind)
    return PLAIN


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
    return replace(
        own,
        password=None if own.password is None else change(own.password),
        proxy=None if own.proxy is None else change(own.proxy),
        headers=tuple((name, change(text)) for name, text in own.headers),
    )


_VALIDATORS: Final = RowCodec(
    Validators,
    "etag last_modified url vary vary_any",
    table="feeds",
    vary=json_column(Headers),
)
_NO_VALIDATORS: Final = (None, None, None, None, 0)
_CADENCE: Final = RowCodec(Cadence, "ewma_sec last_published_at", table="feeds")
_SCHEDULE: Final = RowCodec(
    ScheduleState,
    "interval_sec consecutive_failures health gone_seen_at arrivals errors",
    "cadence",
    table="feeds",
    interval_sec=SECONDS,
)
_CARRIED: Final = (
    "type title site_url hints reason last_decision_at last_fetch_at last_success_at last_result last_status"
    " last_detail new_entries_last_fetch body_sha256 document_fetch_id document_bytes reader_version same_bodies"
    " self_url hubs ignored_guids ignored_links move validator_use quota volatile_fields"
)
GIVEN_COLUMNS: Final = ("id", "url", "feed_key", "created_at", "tags", "overrides", "paused")
_FEED: Final = RowCodec(
    Feed,
    f"{' '.join(GIVEN_COLUMNS)} next_poll_at https_probed_at {_CARRIED}",
    "schedule",
    "validators",
    table="feeds",
    tags=json_column(tuple[str, ...]),
    overrides=Column(overrides_text, overrides_of, _NO_OVERRIDES),
    hints=json_column(Hints, empty=Hints()),
)
_OWN: Final = len(_FEED.columns)
_STATE: Final = tuple(_CARRIED.split())

# What a poll carries on; everything else of a feed belongs to the subscriber.
STATE_COLUMNS: Final = (
    *_STATE,
    *_SCHEDULE.columns,
    *("ewma_interarrival_sec", "last_published_at"),
    *("etag", "last_modified", "validators_url", "vary", "vary_any"),
)
# What every poll notes of a feed; a 304 changes nothing else, as a rule.
_NOTED: Final = (
    "reason", "hints", "last_decision_at", "last_fetch_at", "last_success_at", "last_result", "last_status",
    "last_detail", "new_entries_last_fetch",
)  # fmt: skip
NOTED_COLUMNS: Final = (*_NOTED, "interval_sec")
_not_noted: Final = attrgetter(
    *(set(Feed.__struct_fields__) - {*_NOTED, "next_poll_at", "schedule"})
)
FEED_COLUMNS: Final = ", ".join(
    "s.next_run_at" if name == "next_poll_at" else f"f.{name}"
    for name in (*_FEED.columns, *STATE_COLUMNS[len(_STATE) :])
)


def feed_of_new(new: NewFeed) -> Feed:
    """The feed that a subscription begins with; its key is frozen here (D7)."""
    return filled(Feed, new, feed_key=new.feed_key or new.url)


given_row: Final = _FEED.writer(*GIVEN_COLUMNS)
_state_row: Final = _FEED.writer(*_STATE)
_noted_row: Final = _FEED.writer(*_NOTED)
_schedule_row: Final = _SCHEDULE.writer()


def state_row(feed: Feed) -> Row:
    """The feed's STATE_COLUMNS."""
    cadence, validators = feed.schedule.cadence, feed.validators
    return (
        *_state_row(feed),
        *_schedule_row(feed.schedule),
        *((None, None) if cadence is None else _CADENCE.row(cadence)),
        *(_NO_VALIDATORS if validators is None else _VALIDATORS.row(validators)),
    )


def noted_row(feed: Feed) -> Row:
    """The feed's NOTED_COLUMNS."""
    return (*_noted_row(feed), feed.schedule.interval_sec)


def is_noted_only(before: Feed, after: Feed) -> bool:
    """True when nothing but NOTED_COLUMNS and the next poll changed."""
    if _not_noted(before) != _not_noted(after):
        return False
    was, now = before.schedule, after.schedule
    return was is now or was == replace(now, interval_sec=was.interval_sec)


def feed_of(row: Row) -> Feed:
    """The feed of a row of FEED_COLUMNS."""
    cadence, validators = row[-7:-5], row[-5:]
    try:
        schedule = _SCHEDULE.value(
            row[_OWN:-7], None if cadence[0] is None else _CADENCE.value(cadence)
        )
        read = None if validators[3] is None else _VALIDATORS.value(validators)
    except DamagedRowError as part:  # it does not know which feed it is a part of
        table, key = "feeds", f"id {row[0]!r}"
        raise DamagedRowError(table, key, part.column, part.why) from part
    return _FEED.value(row[:_OWN], schedule, read)


_PACE: Final = RowCodec(
    HostPace,
    "gap_ms next_ok_at blocked_reason slow_down failures failing_with limited_urls troubled_since canary",
    table="lanes",
)
PACE_COLUMNS: Final = _PACE.names()
pace_row: Final = _PACE.writer()


def pace_of(row: Row) -> HostPace:
    """The pace of a row of PACE_COLUMNS; where it cannot be read, that of a host that nothing is known about."""
    try:
        return _PACE.value(row)
    except DamagedRowError as problem:
        logger("store").error(
            "the pace of a host cannot be read and begins anew", detail=str(problem)
        )
        return HostPace(gap_ms=row[0])


_EVENT: Final = RowCodec(Event, "seq id type feed_id entry_uid occurred_at data", table="events")


def _short_data(event: NewEvent) -> dict[str, Any]:
    """What SQLite keeps of an event's data: `true` for what the columns of its row say."""
    columns = {"entry_uid": event.entry_uid, "feed_id": event.feed_id}
    said = {name: True for name in columns if event.data.get(name, True) == columns[name]}
    at = event.data.get("ingested_at")
    if at == event.occurred_at and at.tzinfo is UTC:  # as it would be written below
        said["ingested_at"] = True
    return {**event.data, **said}


def event_of(row: Row) -> Event:
    """The event of a row. One that cannot be read keeps its place in the log: its `data` says so."""
    try:
        # A damaged page may hold NULL where the schema allows none: that is no JSON.
        return _with_columns(_EVENT.value(row if row[-1] is not None else (*row[:-1], "")))
    except DamagedRowError as problem:
        logger("store").error("an event cannot be read", detail=str(problem))
        seq, event_id, kind, feed_id, entry_uid, at, _ = row
        return Event(
            seq=seq,
            id=event_id,
            type=kind,
            feed_id=feed_id,
            entry_uid=entry_uid,
            occurred_at=_EPOCH if _EVENT.problem_of("occurred_at", at) else instant(at),
            data={"damaged": f"{problem.column} {problem.why}"},
        )


def _with_columns(event: Event) -> Event:
    """The event with its data as it was given."""
    data = event.data
    if data.get("entry_uid") is True:
        data["entry_uid"] = event.entry_uid
    if data.get("feed_id") is True:
        data["feed_id"] = event.feed_id
    if data.get("ingested_at") is True:
        data["ingested_at"] = msgspec.to_builtins(event.occurred_at)
    return event


_new_event_row: Final = RowCodec(NewEvent, "type feed_id entry_uid occurred_at").writer()

# A row of the raw store's index: where a body lies.
_BLOB: Final = RowCodec(
    BlobRef, "sha256 segment offset length coding raw_length prefix_sha256", table="blobs"
)
blob_row: Final = _BLOB.writer()
blob_of: Final = _BLOB.value


def event_id(cause: str, number: int) -> str:
    """The id of an event: it follows from what happened once, wherever the log is copied to."""
    return str(uuid5(_EVENTS, f"{cause}/{number}"))


def event_row(seq: int, event_id: str, event: NewEvent) -> Row:
    """A row of the outbox in SQLite. PostgreSQL keeps all data: processes of the version before may read its log."""
    return (seq, event_id, *_new_event_row(event), json_text(_short_data(event)))
