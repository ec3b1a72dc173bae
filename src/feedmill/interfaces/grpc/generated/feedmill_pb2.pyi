import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListFeedsRequest(_message.Message):
    __slots__ = ("tag", "cursor", "limit")
    TAG_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    tag: str
    cursor: str
    limit: int
    def __init__(self, tag: _Optional[str] = ..., cursor: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class FeedRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    def __init__(self, id: _Optional[str] = ...) -> None: ...

class FeedPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Feed]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Feed, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Feed(_message.Message):
    __slots__ = ("id", "url", "type", "title", "site_url", "tags", "paused", "health", "created_at", "validators", "schedule", "publisher_hints", "stats", "self_url", "hubs", "validators_ineffective", "overrides", "aliases", "move", "circuit")
    ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SITE_URL_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    VALIDATORS_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHER_HINTS_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    SELF_URL_FIELD_NUMBER: _ClassVar[int]
    HUBS_FIELD_NUMBER: _ClassVar[int]
    VALIDATORS_INEFFECTIVE_FIELD_NUMBER: _ClassVar[int]
    OVERRIDES_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    MOVE_FIELD_NUMBER: _ClassVar[int]
    CIRCUIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    url: str
    type: str
    title: str
    site_url: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    paused: bool
    health: str
    created_at: _timestamp_pb2.Timestamp
    validators: FeedValidators
    schedule: FeedSchedule
    publisher_hints: PublisherHints
    stats: FeedStats
    self_url: str
    hubs: _containers.RepeatedScalarFieldContainer[str]
    validators_ineffective: bool
    overrides: FeedOverrides
    aliases: _containers.RepeatedScalarFieldContainer[str]
    move: MoveCandidate
    circuit: str
    def __init__(self, id: _Optional[str] = ..., url: _Optional[str] = ..., type: _Optional[str] = ..., title: _Optional[str] = ..., site_url: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., paused: _Optional[bool] = ..., health: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., validators: _Optional[_Union[FeedValidators, _Mapping]] = ..., schedule: _Optional[_Union[FeedSchedule, _Mapping]] = ..., publisher_hints: _Optional[_Union[PublisherHints, _Mapping]] = ..., stats: _Optional[_Union[FeedStats, _Mapping]] = ..., self_url: _Optional[str] = ..., hubs: _Optional[_Iterable[str]] = ..., validators_ineffective: _Optional[bool] = ..., overrides: _Optional[_Union[FeedOverrides, _Mapping]] = ..., aliases: _Optional[_Iterable[str]] = ..., move: _Optional[_Union[MoveCandidate, _Mapping]] = ..., circuit: _Optional[str] = ...) -> None: ...

class MoveCandidate(_message.Message):
    __slots__ = ("url", "source", "sightings", "first_seen_at", "last_seen_at", "attempts", "refuted_at", "retry_at", "reason", "missing")
    URL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SIGHTINGS_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    REFUTED_AT_FIELD_NUMBER: _ClassVar[int]
    RETRY_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    url: str
    source: str
    sightings: int
    first_seen_at: _timestamp_pb2.Timestamp
    last_seen_at: _timestamp_pb2.Timestamp
    attempts: int
    refuted_at: _timestamp_pb2.Timestamp
    retry_at: _timestamp_pb2.Timestamp
    reason: str
    missing: MoveMissing
    def __init__(self, url: _Optional[str] = ..., source: _Optional[str] = ..., sightings: _Optional[int] = ..., first_seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempts: _Optional[int] = ..., refuted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., retry_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., missing: _Optional[_Union[MoveMissing, _Mapping]] = ...) -> None: ...

class MoveMissing(_message.Message):
    __slots__ = ("sightings", "hours", "proof")
    SIGHTINGS_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    sightings: int
    hours: float
    proof: bool
    def __init__(self, sightings: _Optional[int] = ..., hours: _Optional[float] = ..., proof: _Optional[bool] = ...) -> None: ...

class FeedValidators(_message.Message):
    __slots__ = ("etag", "last_modified")
    ETAG_FIELD_NUMBER: _ClassVar[int]
    LAST_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    etag: str
    last_modified: str
    def __init__(self, etag: _Optional[str] = ..., last_modified: _Optional[str] = ...) -> None: ...

class FeedSchedule(_message.Message):
    __slots__ = ("interval_sec", "min_interval_sec", "max_interval_sec", "last_decision_at", "next_poll_at", "reason", "retry_after_sec")
    INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    LAST_DECISION_AT_FIELD_NUMBER: _ClassVar[int]
    NEXT_POLL_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_SEC_FIELD_NUMBER: _ClassVar[int]
    interval_sec: int
    min_interval_sec: int
    max_interval_sec: int
    last_decision_at: _timestamp_pb2.Timestamp
    next_poll_at: _timestamp_pb2.Timestamp
    reason: str
    retry_after_sec: int
    def __init__(self, interval_sec: _Optional[int] = ..., min_interval_sec: _Optional[int] = ..., max_interval_sec: _Optional[int] = ..., last_decision_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_poll_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., retry_after_sec: _Optional[int] = ...) -> None: ...

class PublisherHints(_message.Message):
    __slots__ = ("ttl_minutes", "skip_hours", "skip_days")
    TTL_MINUTES_FIELD_NUMBER: _ClassVar[int]
    SKIP_HOURS_FIELD_NUMBER: _ClassVar[int]
    SKIP_DAYS_FIELD_NUMBER: _ClassVar[int]
    ttl_minutes: int
    skip_hours: _containers.RepeatedScalarFieldContainer[int]
    skip_days: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ttl_minutes: _Optional[int] = ..., skip_hours: _Optional[_Iterable[int]] = ..., skip_days: _Optional[_Iterable[str]] = ...) -> None: ...

class FeedStats(_message.Message):
    __slots__ = ("last_fetch_at", "last_success_at", "last_result", "last_status", "last_detail", "consecutive_failures", "ewma_interarrival_sec", "new_entries_last_fetch")
    LAST_FETCH_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_SUCCESS_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_RESULT_FIELD_NUMBER: _ClassVar[int]
    LAST_STATUS_FIELD_NUMBER: _ClassVar[int]
    LAST_DETAIL_FIELD_NUMBER: _ClassVar[int]
    CONSECUTIVE_FAILURES_FIELD_NUMBER: _ClassVar[int]
    EWMA_INTERARRIVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    NEW_ENTRIES_LAST_FETCH_FIELD_NUMBER: _ClassVar[int]
    last_fetch_at: _timestamp_pb2.Timestamp
    last_success_at: _timestamp_pb2.Timestamp
    last_result: str
    last_status: int
    last_detail: str
    consecutive_failures: int
    ewma_interarrival_sec: int
    new_entries_last_fetch: int
    def __init__(self, last_fetch_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_success_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_result: _Optional[str] = ..., last_status: _Optional[int] = ..., last_detail: _Optional[str] = ..., consecutive_failures: _Optional[int] = ..., ewma_interarrival_sec: _Optional[int] = ..., new_entries_last_fetch: _Optional[int] = ...) -> None: ...

class FeedOverrides(_message.Message):
    __slots__ = ("min_interval_sec", "max_interval_sec", "user_agent", "header_names", "has_credentials", "has_proxy", "verify_tls", "push_only", "archive_backfill", "disable_autodiscovery", "full_text", "full_text_selector", "quota", "media", "media_types", "media_newest", "media_max_bytes", "clusters")
    MIN_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    USER_AGENT_FIELD_NUMBER: _ClassVar[int]
    HEADER_NAMES_FIELD_NUMBER: _ClassVar[int]
    HAS_CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    HAS_PROXY_FIELD_NUMBER: _ClassVar[int]
    VERIFY_TLS_FIELD_NUMBER: _ClassVar[int]
    PUSH_ONLY_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_BACKFILL_FIELD_NUMBER: _ClassVar[int]
    DISABLE_AUTODISCOVERY_FIELD_NUMBER: _ClassVar[int]
    FULL_TEXT_FIELD_NUMBER: _ClassVar[int]
    FULL_TEXT_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPES_FIELD_NUMBER: _ClassVar[int]
    MEDIA_NEWEST_FIELD_NUMBER: _ClassVar[int]
    MEDIA_MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    min_interval_sec: int
    max_interval_sec: int
    user_agent: str
    header_names: _containers.RepeatedScalarFieldContainer[str]
    has_credentials: bool
    has_proxy: bool
    verify_tls: bool
    push_only: bool
    archive_backfill: bool
    disable_autodiscovery: bool
    full_text: bool
    full_text_selector: str
    quota: float
    media: bool
    media_types: _containers.RepeatedScalarFieldContainer[str]
    media_newest: int
    media_max_bytes: int
    clusters: bool
    def __init__(self, min_interval_sec: _Optional[int] = ..., max_interval_sec: _Optional[int] = ..., user_agent: _Optional[str] = ..., header_names: _Optional[_Iterable[str]] = ..., has_credentials: _Optional[bool] = ..., has_proxy: _Optional[bool] = ..., verify_tls: _Optional[bool] = ..., push_only: _Optional[bool] = ..., archive_backfill: _Optional[bool] = ..., disable_autodiscovery: _Optional[bool] = ..., full_text: _Optional[bool] = ..., full_text_selector: _Optional[str] = ..., quota: _Optional[float] = ..., media: _Optional[bool] = ..., media_types: _Optional[_Iterable[str]] = ..., media_newest: _Optional[int] = ..., media_max_bytes: _Optional[int] = ..., clusters: _Optional[bool] = ...) -> None: ...

class AddFeedRequest(_message.Message):
    __slots__ = ("url", "title", "tags", "min_interval_sec", "max_interval_sec", "user_agent", "headers", "username", "password", "as_is", "choose", "history", "budget")
    URL_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    USER_AGENT_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    AS_IS_FIELD_NUMBER: _ClassVar[int]
    CHOOSE_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    url: str
    title: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    min_interval_sec: int
    max_interval_sec: int
    user_agent: str
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    username: str
    password: str
    as_is: bool
    choose: int
    history: bool
    budget: int
    def __init__(self, url: _Optional[str] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., min_interval_sec: _Optional[int] = ..., max_interval_sec: _Optional[int] = ..., user_agent: _Optional[str] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., username: _Optional[str] = ..., password: _Optional[str] = ..., as_is: _Optional[bool] = ..., choose: _Optional[int] = ..., history: _Optional[bool] = ..., budget: _Optional[int] = ...) -> None: ...

class AddFeedReply(_message.Message):
    __slots__ = ("feed", "created", "choices")
    FEED_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    CHOICES_FIELD_NUMBER: _ClassVar[int]
    feed: Feed
    created: bool
    choices: _containers.RepeatedCompositeFieldContainer[FoundFeed]
    def __init__(self, feed: _Optional[_Union[Feed, _Mapping]] = ..., created: _Optional[bool] = ..., choices: _Optional[_Iterable[_Union[FoundFeed, _Mapping]]] = ...) -> None: ...

class FoundFeed(_message.Message):
    __slots__ = ("url", "found_by", "title", "type", "is_comments", "rule", "is_published", "is_extra", "is_fetched", "format", "entries", "last_post", "language", "cleanliness", "alternatives", "chosen_for")
    URL_FIELD_NUMBER: _ClassVar[int]
    FOUND_BY_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    IS_COMMENTS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    IS_PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    IS_EXTRA_FIELD_NUMBER: _ClassVar[int]
    IS_FETCHED_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    LAST_POST_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    CLEANLINESS_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FOR_FIELD_NUMBER: _ClassVar[int]
    url: str
    found_by: str
    title: str
    type: str
    is_comments: bool
    rule: str
    is_published: bool
    is_extra: bool
    is_fetched: bool
    format: str
    entries: int
    last_post: _timestamp_pb2.Timestamp
    language: str
    cleanliness: float
    alternatives: _containers.RepeatedScalarFieldContainer[str]
    chosen_for: str
    def __init__(self, url: _Optional[str] = ..., found_by: _Optional[str] = ..., title: _Optional[str] = ..., type: _Optional[str] = ..., is_comments: _Optional[bool] = ..., rule: _Optional[str] = ..., is_published: _Optional[bool] = ..., is_extra: _Optional[bool] = ..., is_fetched: _Optional[bool] = ..., format: _Optional[str] = ..., entries: _Optional[int] = ..., last_post: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., language: _Optional[str] = ..., cleanliness: _Optional[float] = ..., alternatives: _Optional[_Iterable[str]] = ..., chosen_for: _Optional[str] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ChangeFeedRequest(_message.Message):
    __slots__ = ("id", "title", "tags", "paused", "min_interval_sec", "max_interval_sec", "user_agent", "headers", "username", "password", "push_only", "archive_backfill", "disable_autodiscovery", "update_mask", "full_text", "full_text_selector", "quota", "media", "media_types", "media_newest", "media_max_bytes", "clusters")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    USER_AGENT_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    USERNAME_FIELD_NUMBER: _ClassVar[int]
    PASSWORD_FIELD_NUMBER: _ClassVar[int]
    PUSH_ONLY_FIELD_NUMBER: _ClassVar[int]
    ARCHIVE_BACKFILL_FIELD_NUMBER: _ClassVar[int]
    DISABLE_AUTODISCOVERY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    FULL_TEXT_FIELD_NUMBER: _ClassVar[int]
    FULL_TEXT_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    QUOTA_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPES_FIELD_NUMBER: _ClassVar[int]
    MEDIA_NEWEST_FIELD_NUMBER: _ClassVar[int]
    MEDIA_MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    paused: bool
    min_interval_sec: int
    max_interval_sec: int
    user_agent: str
    headers: _containers.RepeatedCompositeFieldContainer[Header]
    username: str
    password: str
    push_only: bool
    archive_backfill: bool
    disable_autodiscovery: bool
    update_mask: _field_mask_pb2.FieldMask
    full_text: bool
    full_text_selector: str
    quota: float
    media: bool
    media_types: _containers.RepeatedScalarFieldContainer[str]
    media_newest: int
    media_max_bytes: int
    clusters: bool
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., paused: _Optional[bool] = ..., min_interval_sec: _Optional[int] = ..., max_interval_sec: _Optional[int] = ..., user_agent: _Optional[str] = ..., headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., username: _Optional[str] = ..., password: _Optional[str] = ..., push_only: _Optional[bool] = ..., archive_backfill: _Optional[bool] = ..., disable_autodiscovery: _Optional[bool] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., full_text: _Optional[bool] = ..., full_text_selector: _Optional[str] = ..., quota: _Optional[float] = ..., media: _Optional[bool] = ..., media_types: _Optional[_Iterable[str]] = ..., media_newest: _Optional[int] = ..., media_max_bytes: _Optional[int] = ..., clusters: _Optional[bool] = ...) -> None: ...

class RemoveFeedReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RefetchReply(_message.Message):
    __slots__ = ("feed_id", "next_poll_at")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    NEXT_POLL_AT_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    next_poll_at: _timestamp_pb2.Timestamp
    def __init__(self, feed_id: _Optional[str] = ..., next_poll_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ScheduleRequest(_message.Message):
    __slots__ = ("id", "limit")
    ID_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    id: str
    limit: int
    def __init__(self, id: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class DecisionPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Decision]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("decided_at", "reason", "outcome", "interval_before_sec", "interval_sec", "delay_sec", "next_poll_at", "steps", "hints", "words")
    class HintsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Hint
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Hint, _Mapping]] = ...) -> None: ...
    DECIDED_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_BEFORE_SEC_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    DELAY_SEC_FIELD_NUMBER: _ClassVar[int]
    NEXT_POLL_AT_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    HINTS_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    decided_at: _timestamp_pb2.Timestamp
    reason: str
    outcome: Outcome
    interval_before_sec: float
    interval_sec: float
    delay_sec: float
    next_poll_at: _timestamp_pb2.Timestamp
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    hints: _containers.MessageMap[str, Hint]
    words: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, decided_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, _Mapping]] = ..., interval_before_sec: _Optional[float] = ..., interval_sec: _Optional[float] = ..., delay_sec: _Optional[float] = ..., next_poll_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ..., hints: _Optional[_Mapping[str, Hint]] = ..., words: _Optional[_Iterable[str]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("kind", "http_status", "new_entries", "retry_after_sec", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    NEW_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_SEC_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: str
    http_status: int
    new_entries: int
    retry_after_sec: float
    reason: str
    def __init__(self, kind: _Optional[str] = ..., http_status: _Optional[int] = ..., new_entries: _Optional[int] = ..., retry_after_sec: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("code", "of", "before", "after")
    CODE_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    code: str
    of: str
    before: float
    after: float
    def __init__(self, code: _Optional[str] = ..., of: _Optional[str] = ..., before: _Optional[float] = ..., after: _Optional[float] = ...) -> None: ...

class Hint(_message.Message):
    __slots__ = ("value_json", "source", "seen_at")
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SEEN_AT_FIELD_NUMBER: _ClassVar[int]
    value_json: str
    source: str
    seen_at: _timestamp_pb2.Timestamp
    def __init__(self, value_json: _Optional[str] = ..., source: _Optional[str] = ..., seen_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FeedHealth(_message.Message):
    __slots__ = ("feed_id", "url", "health", "kind", "paused", "reason", "detail", "since", "consecutive_failures", "last_success_at", "next_poll_at", "line", "column", "attempts", "words", "circuit", "circuit_since", "error_budget_used", "volatile_fields")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    CONSECUTIVE_FAILURES_FIELD_NUMBER: _ClassVar[int]
    LAST_SUCCESS_AT_FIELD_NUMBER: _ClassVar[int]
    NEXT_POLL_AT_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    CIRCUIT_FIELD_NUMBER: _ClassVar[int]
    CIRCUIT_SINCE_FIELD_NUMBER: _ClassVar[int]
    ERROR_BUDGET_USED_FIELD_NUMBER: _ClassVar[int]
    VOLATILE_FIELDS_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    url: str
    health: str
    kind: str
    paused: bool
    reason: str
    detail: str
    since: _timestamp_pb2.Timestamp
    consecutive_failures: int
    last_success_at: _timestamp_pb2.Timestamp
    next_poll_at: _timestamp_pb2.Timestamp
    line: int
    column: int
    attempts: _containers.RepeatedCompositeFieldContainer[Attempt]
    words: _containers.RepeatedScalarFieldContainer[str]
    circuit: str
    circuit_since: _timestamp_pb2.Timestamp
    error_budget_used: float
    volatile_fields: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, feed_id: _Optional[str] = ..., url: _Optional[str] = ..., health: _Optional[str] = ..., kind: _Optional[str] = ..., paused: _Optional[bool] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., consecutive_failures: _Optional[int] = ..., last_success_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_poll_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., line: _Optional[int] = ..., column: _Optional[int] = ..., attempts: _Optional[_Iterable[_Union[Attempt, _Mapping]]] = ..., words: _Optional[_Iterable[str]] = ..., circuit: _Optional[str] = ..., circuit_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., error_budget_used: _Optional[float] = ..., volatile_fields: _Optional[_Iterable[str]] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("fetch_id", "fetched_at", "outcome", "http_status", "detail", "elapsed_ms")
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    FETCHED_AT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    fetch_id: str
    fetched_at: _timestamp_pb2.Timestamp
    outcome: str
    http_status: int
    detail: str
    elapsed_ms: int
    def __init__(self, fetch_id: _Optional[str] = ..., fetched_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., outcome: _Optional[str] = ..., http_status: _Optional[int] = ..., detail: _Optional[str] = ..., elapsed_ms: _Optional[int] = ...) -> None: ...

class ListEntriesRequest(_message.Message):
    __slots__ = ("feed_id", "feed_ids", "tag", "category", "since", "until", "text", "include_removed", "cursor", "limit", "author", "language", "has_enclosure", "published_since", "published_until", "include_duplicates", "by_publication", "oldest_first", "one_per_cluster", "query", "search_full_texts", "by_arrival")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    FEED_IDS_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_REMOVED_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    HAS_ENCLOSURE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_SINCE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_UNTIL_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    BY_PUBLICATION_FIELD_NUMBER: _ClassVar[int]
    OLDEST_FIRST_FIELD_NUMBER: _ClassVar[int]
    ONE_PER_CLUSTER_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FULL_TEXTS_FIELD_NUMBER: _ClassVar[int]
    BY_ARRIVAL_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    feed_ids: _containers.RepeatedScalarFieldContainer[str]
    tag: str
    category: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    text: str
    include_removed: bool
    cursor: str
    limit: int
    author: str
    language: str
    has_enclosure: bool
    published_since: _timestamp_pb2.Timestamp
    published_until: _timestamp_pb2.Timestamp
    include_duplicates: bool
    by_publication: bool
    oldest_first: bool
    one_per_cluster: bool
    query: str
    search_full_texts: bool
    by_arrival: bool
    def __init__(self, feed_id: _Optional[str] = ..., feed_ids: _Optional[_Iterable[str]] = ..., tag: _Optional[str] = ..., category: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ..., include_removed: _Optional[bool] = ..., cursor: _Optional[str] = ..., limit: _Optional[int] = ..., author: _Optional[str] = ..., language: _Optional[str] = ..., has_enclosure: _Optional[bool] = ..., published_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., published_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., include_duplicates: _Optional[bool] = ..., by_publication: _Optional[bool] = ..., oldest_first: _Optional[bool] = ..., one_per_cluster: _Optional[bool] = ..., query: _Optional[str] = ..., search_full_texts: _Optional[bool] = ..., by_arrival: _Optional[bool] = ...) -> None: ...

class EntryRequest(_message.Message):
    __slots__ = ("entry_uid",)
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    entry_uid: str
    def __init__(self, entry_uid: _Optional[str] = ...) -> None: ...

class EntryPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Entry]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Entry, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Entry(_message.Message):
    __slots__ = ("entry_uid", "feed_id", "first_seen", "last_seen", "seen_count", "content_hash", "dedupe_key", "match_confidence", "guid", "link", "canonical_link", "title", "summary", "content", "authors", "categories", "enclosures", "published", "updated", "published_effective", "published_source", "language", "image", "comments_url", "article_hash", "revisions", "removed_at", "raw_refs", "backfill", "feed_url", "feed_title", "article_id", "duplicate_of", "cluster_id", "highlight")
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_FIELD_NUMBER: _ClassVar[int]
    SEEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    DEDUPE_KEY_FIELD_NUMBER: _ClassVar[int]
    MATCH_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    GUID_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    CANONICAL_LINK_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    AUTHORS_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    ENCLOSURES_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_EFFECTIVE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_SOURCE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    COMMENTS_URL_FIELD_NUMBER: _ClassVar[int]
    ARTICLE_HASH_FIELD_NUMBER: _ClassVar[int]
    REVISIONS_FIELD_NUMBER: _ClassVar[int]
    REMOVED_AT_FIELD_NUMBER: _ClassVar[int]
    RAW_REFS_FIELD_NUMBER: _ClassVar[int]
    BACKFILL_FIELD_NUMBER: _ClassVar[int]
    FEED_URL_FIELD_NUMBER: _ClassVar[int]
    FEED_TITLE_FIELD_NUMBER: _ClassVar[int]
    ARTICLE_ID_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_OF_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    HIGHLIGHT_FIELD_NUMBER: _ClassVar[int]
    entry_uid: str
    feed_id: str
    first_seen: _timestamp_pb2.Timestamp
    last_seen: _timestamp_pb2.Timestamp
    seen_count: int
    content_hash: str
    dedupe_key: str
    match_confidence: str
    guid: str
    link: str
    canonical_link: str
    title: str
    summary: str
    content: str
    authors: _containers.RepeatedCompositeFieldContainer[Author]
    categories: _containers.RepeatedScalarFieldContainer[str]
    enclosures: _containers.RepeatedCompositeFieldContainer[Enclosure]
    published: _timestamp_pb2.Timestamp
    updated: _timestamp_pb2.Timestamp
    published_effective: _timestamp_pb2.Timestamp
    published_source: str
    language: str
    image: str
    comments_url: str
    article_hash: str
    revisions: int
    removed_at: _timestamp_pb2.Timestamp
    raw_refs: _containers.RepeatedCompositeFieldContainer[RawRef]
    backfill: bool
    feed_url: str
    feed_title: str
    article_id: str
    duplicate_of: str
    cluster_id: str
    highlight: Highlight
    def __init__(self, entry_uid: _Optional[str] = ..., feed_id: _Optional[str] = ..., first_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seen_count: _Optional[int] = ..., content_hash: _Optional[str] = ..., dedupe_key: _Optional[str] = ..., match_confidence: _Optional[str] = ..., guid: _Optional[str] = ..., link: _Optional[str] = ..., canonical_link: _Optional[str] = ..., title: _Optional[str] = ..., summary: _Optional[str] = ..., content: _Optional[str] = ..., authors: _Optional[_Iterable[_Union[Author, _Mapping]]] = ..., categories: _Optional[_Iterable[str]] = ..., enclosures: _Optional[_Iterable[_Union[Enclosure, _Mapping]]] = ..., published: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., published_effective: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., published_source: _Optional[str] = ..., language: _Optional[str] = ..., image: _Optional[str] = ..., comments_url: _Optional[str] = ..., article_hash: _Optional[str] = ..., revisions: _Optional[int] = ..., removed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., raw_refs: _Optional[_Iterable[_Union[RawRef, _Mapping]]] = ..., backfill: _Optional[bool] = ..., feed_url: _Optional[str] = ..., feed_title: _Optional[str] = ..., article_id: _Optional[str] = ..., duplicate_of: _Optional[str] = ..., cluster_id: _Optional[str] = ..., highlight: _Optional[_Union[Highlight, _Mapping]] = ...) -> None: ...

class Highlight(_message.Message):
    __slots__ = ("title", "excerpt")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_FIELD_NUMBER: _ClassVar[int]
    title: _containers.RepeatedCompositeFieldContainer[Fragment]
    excerpt: _containers.RepeatedCompositeFieldContainer[Fragment]
    def __init__(self, title: _Optional[_Iterable[_Union[Fragment, _Mapping]]] = ..., excerpt: _Optional[_Iterable[_Union[Fragment, _Mapping]]] = ...) -> None: ...

class Fragment(_message.Message):
    __slots__ = ("text", "match")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MATCH_FIELD_NUMBER: _ClassVar[int]
    text: str
    match: bool
    def __init__(self, text: _Optional[str] = ..., match: _Optional[bool] = ...) -> None: ...

class Author(_message.Message):
    __slots__ = ("name", "email", "uri")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EMAIL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    name: str
    email: str
    uri: str
    def __init__(self, name: _Optional[str] = ..., email: _Optional[str] = ..., uri: _Optional[str] = ...) -> None: ...

class Enclosure(_message.Message):
    __slots__ = ("url", "type", "length", "title", "duration", "alternate", "integrity")
    URL_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    ALTERNATE_FIELD_NUMBER: _ClassVar[int]
    INTEGRITY_FIELD_NUMBER: _ClassVar[int]
    url: str
    type: str
    length: int
    title: str
    duration: int
    alternate: bool
    integrity: str
    def __init__(self, url: _Optional[str] = ..., type: _Optional[str] = ..., length: _Optional[int] = ..., title: _Optional[str] = ..., duration: _Optional[int] = ..., alternate: _Optional[bool] = ..., integrity: _Optional[str] = ...) -> None: ...

class RawRef(_message.Message):
    __slots__ = ("fetch_id", "offset", "length", "note")
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    fetch_id: str
    offset: int
    length: int
    note: str
    def __init__(self, fetch_id: _Optional[str] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., note: _Optional[str] = ...) -> None: ...

class RevisionPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Revision]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Revision, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Revision(_message.Message):
    __slots__ = ("entry_uid", "number", "replaced_at", "changed", "content_hash", "title", "summary", "content", "canonical_link", "published", "updated", "fetch_id")
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REPLACED_AT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CANONICAL_LINK_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_FIELD_NUMBER: _ClassVar[int]
    UPDATED_FIELD_NUMBER: _ClassVar[int]
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    entry_uid: str
    number: int
    replaced_at: _timestamp_pb2.Timestamp
    changed: _containers.RepeatedScalarFieldContainer[str]
    content_hash: str
    title: str
    summary: str
    content: str
    canonical_link: str
    published: _timestamp_pb2.Timestamp
    updated: _timestamp_pb2.Timestamp
    fetch_id: str
    def __init__(self, entry_uid: _Optional[str] = ..., number: _Optional[int] = ..., replaced_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed: _Optional[_Iterable[str]] = ..., content_hash: _Optional[str] = ..., title: _Optional[str] = ..., summary: _Optional[str] = ..., content: _Optional[str] = ..., canonical_link: _Optional[str] = ..., published: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fetch_id: _Optional[str] = ...) -> None: ...

class RawRequest(_message.Message):
    __slots__ = ("entry_uid", "fetch_id")
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    entry_uid: str
    fetch_id: str
    def __init__(self, entry_uid: _Optional[str] = ..., fetch_id: _Optional[str] = ...) -> None: ...

class RawPart(_message.Message):
    __slots__ = ("fetch", "offset", "length", "data")
    FETCH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    fetch: Fetch
    offset: int
    length: int
    data: bytes
    def __init__(self, fetch: _Optional[_Union[Fetch, _Mapping]] = ..., offset: _Optional[int] = ..., length: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Fetch(_message.Message):
    __slots__ = ("fetch_id", "feed_id", "scheduled_at", "fetched_at", "url", "final_url", "outcome", "http_status", "detail", "request_headers", "response_headers", "hops", "body_sha256", "content_type", "content_length", "wire_length", "elapsed_ms", "entries_seen", "entries_new", "entries_updated", "repairs", "truncated", "trace_id", "interval_sec", "saved_bytes", "retries", "body_ref")
    FETCH_ID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    SCHEDULED_AT_FIELD_NUMBER: _ClassVar[int]
    FETCHED_AT_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    FINAL_URL_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_HEADERS_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_HEADERS_FIELD_NUMBER: _ClassVar[int]
    HOPS_FIELD_NUMBER: _ClassVar[int]
    BODY_SHA256_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_LENGTH_FIELD_NUMBER: _ClassVar[int]
    WIRE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_SEEN_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_NEW_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_UPDATED_FIELD_NUMBER: _ClassVar[int]
    REPAIRS_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    SAVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    BODY_REF_FIELD_NUMBER: _ClassVar[int]
    fetch_id: str
    feed_id: str
    scheduled_at: _timestamp_pb2.Timestamp
    fetched_at: _timestamp_pb2.Timestamp
    url: str
    final_url: str
    outcome: str
    http_status: int
    detail: str
    request_headers: _containers.RepeatedCompositeFieldContainer[Header]
    response_headers: _containers.RepeatedCompositeFieldContainer[Header]
    hops: _containers.RepeatedCompositeFieldContainer[Hop]
    body_sha256: str
    content_type: str
    content_length: int
    wire_length: int
    elapsed_ms: int
    entries_seen: int
    entries_new: int
    entries_updated: int
    repairs: _containers.RepeatedScalarFieldContainer[str]
    truncated: bool
    trace_id: str
    interval_sec: float
    saved_bytes: int
    retries: int
    body_ref: BodyRef
    def __init__(self, fetch_id: _Optional[str] = ..., feed_id: _Optional[str] = ..., scheduled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fetched_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., url: _Optional[str] = ..., final_url: _Optional[str] = ..., outcome: _Optional[str] = ..., http_status: _Optional[int] = ..., detail: _Optional[str] = ..., request_headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., response_headers: _Optional[_Iterable[_Union[Header, _Mapping]]] = ..., hops: _Optional[_Iterable[_Union[Hop, _Mapping]]] = ..., body_sha256: _Optional[str] = ..., content_type: _Optional[str] = ..., content_length: _Optional[int] = ..., wire_length: _Optional[int] = ..., elapsed_ms: _Optional[int] = ..., entries_seen: _Optional[int] = ..., entries_new: _Optional[int] = ..., entries_updated: _Optional[int] = ..., repairs: _Optional[_Iterable[str]] = ..., truncated: _Optional[bool] = ..., trace_id: _Optional[str] = ..., interval_sec: _Optional[float] = ..., saved_bytes: _Optional[int] = ..., retries: _Optional[int] = ..., body_ref: _Optional[_Union[BodyRef, _Mapping]] = ...) -> None: ...

class BodyRef(_message.Message):
    __slots__ = ("storage", "key")
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    storage: str
    key: str
    def __init__(self, storage: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class Hop(_message.Message):
    __slots__ = ("url", "status", "location")
    URL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    url: str
    status: int
    location: str
    def __init__(self, url: _Optional[str] = ..., status: _Optional[int] = ..., location: _Optional[str] = ...) -> None: ...

class ListArticlesRequest(_message.Message):
    __slots__ = ("cursor", "limit")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    limit: int
    def __init__(self, cursor: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ArticlePage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Article]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Article, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Article(_message.Message):
    __slots__ = ("article_hash", "first_seen", "link", "entry_uid", "feed_id", "title", "published_effective")
    ARTICLE_HASH_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_EFFECTIVE_FIELD_NUMBER: _ClassVar[int]
    article_hash: str
    first_seen: _timestamp_pb2.Timestamp
    link: str
    entry_uid: str
    feed_id: str
    title: str
    published_effective: _timestamp_pb2.Timestamp
    def __init__(self, article_hash: _Optional[str] = ..., first_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., link: _Optional[str] = ..., entry_uid: _Optional[str] = ..., feed_id: _Optional[str] = ..., title: _Optional[str] = ..., published_effective: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("kind", "state", "feed_id", "cursor", "limit")
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    state: str
    feed_id: str
    cursor: str
    limit: int
    def __init__(self, kind: _Optional[str] = ..., state: _Optional[str] = ..., feed_id: _Optional[str] = ..., cursor: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class JobRequest(_message.Message):
    __slots__ = ("id",)
    ID_FIELD_NUMBER: _ClassVar[int]
    id: int
    def __init__(self, id: _Optional[int] = ...) -> None: ...

class JobPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Job]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("id", "kind", "key", "state", "feed_id", "host", "url", "priority", "not_before", "attempts", "steps", "progress_json", "owner", "lease_until", "last_error", "created_at", "updated_at", "ended_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_JSON_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    id: int
    kind: str
    key: str
    state: str
    feed_id: str
    host: str
    url: str
    priority: int
    not_before: _timestamp_pb2.Timestamp
    attempts: int
    steps: int
    progress_json: str
    owner: str
    lease_until: _timestamp_pb2.Timestamp
    last_error: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[int] = ..., kind: _Optional[str] = ..., key: _Optional[str] = ..., state: _Optional[str] = ..., feed_id: _Optional[str] = ..., host: _Optional[str] = ..., url: _Optional[str] = ..., priority: _Optional[int] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempts: _Optional[int] = ..., steps: _Optional[int] = ..., progress_json: _Optional[str] = ..., owner: _Optional[str] = ..., lease_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_error: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListMediaRequest(_message.Message):
    __slots__ = ("feed_id", "entry_uid", "state", "cursor", "limit")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    entry_uid: str
    state: str
    cursor: str
    limit: int
    def __init__(self, feed_id: _Optional[str] = ..., entry_uid: _Optional[str] = ..., state: _Optional[str] = ..., cursor: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class MediaRequest(_message.Message):
    __slots__ = ("media_id",)
    MEDIA_ID_FIELD_NUMBER: _ClassVar[int]
    media_id: str
    def __init__(self, media_id: _Optional[str] = ...) -> None: ...

class MediaPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[MediaFile]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[MediaFile, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class MediaFile(_message.Message):
    __slots__ = ("media_id", "entry_uid", "feed_id", "url", "published_at", "type", "length", "integrity", "state", "queued_at", "received_bytes", "ended_at", "final_url", "http_status", "media_type", "sha256", "size_bytes", "path", "reason", "detail")
    MEDIA_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    PUBLISHED_AT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    INTEGRITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    QUEUED_AT_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_BYTES_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    FINAL_URL_FIELD_NUMBER: _ClassVar[int]
    HTTP_STATUS_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    media_id: str
    entry_uid: str
    feed_id: str
    url: str
    published_at: _timestamp_pb2.Timestamp
    type: str
    length: int
    integrity: str
    state: str
    queued_at: _timestamp_pb2.Timestamp
    received_bytes: int
    ended_at: _timestamp_pb2.Timestamp
    final_url: str
    http_status: int
    media_type: str
    sha256: str
    size_bytes: int
    path: str
    reason: str
    detail: str
    def __init__(self, media_id: _Optional[str] = ..., entry_uid: _Optional[str] = ..., feed_id: _Optional[str] = ..., url: _Optional[str] = ..., published_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., type: _Optional[str] = ..., length: _Optional[int] = ..., integrity: _Optional[str] = ..., state: _Optional[str] = ..., queued_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., received_bytes: _Optional[int] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., final_url: _Optional[str] = ..., http_status: _Optional[int] = ..., media_type: _Optional[str] = ..., sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., path: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class ListClustersRequest(_message.Message):
    __slots__ = ("min_feeds", "cursor", "limit")
    MIN_FEEDS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    min_feeds: int
    cursor: str
    limit: int
    def __init__(self, min_feeds: _Optional[int] = ..., cursor: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ClusterRequest(_message.Message):
    __slots__ = ("cluster_id",)
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    def __init__(self, cluster_id: _Optional[str] = ...) -> None: ...

class ClusterPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Cluster]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Cluster, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Cluster(_message.Message):
    __slots__ = ("cluster_id", "feeds", "representative", "title", "link", "first_seen", "updated_at", "members")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    REPRESENTATIVE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    feeds: int
    representative: str
    title: str
    link: str
    first_seen: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    members: _containers.RepeatedCompositeFieldContainer[ClusterMember]
    def __init__(self, cluster_id: _Optional[str] = ..., feeds: _Optional[int] = ..., representative: _Optional[str] = ..., title: _Optional[str] = ..., link: _Optional[str] = ..., first_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., members: _Optional[_Iterable[_Union[ClusterMember, _Mapping]]] = ...) -> None: ...

class ClusterMember(_message.Message):
    __slots__ = ("entry_uid", "feed_id", "feed_title", "title", "link", "first_seen", "representative", "evidence")
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    FEED_TITLE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEEN_FIELD_NUMBER: _ClassVar[int]
    REPRESENTATIVE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    entry_uid: str
    feed_id: str
    feed_title: str
    title: str
    link: str
    first_seen: _timestamp_pb2.Timestamp
    representative: bool
    evidence: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, entry_uid: _Optional[str] = ..., feed_id: _Optional[str] = ..., feed_title: _Optional[str] = ..., title: _Optional[str] = ..., link: _Optional[str] = ..., first_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., representative: _Optional[bool] = ..., evidence: _Optional[_Iterable[str]] = ...) -> None: ...

class StartBackfillRequest(_message.Message):
    __slots__ = ("id", "pages")
    ID_FIELD_NUMBER: _ClassVar[int]
    PAGES_FIELD_NUMBER: _ClassVar[int]
    id: str
    pages: int
    def __init__(self, id: _Optional[str] = ..., pages: _Optional[int] = ...) -> None: ...

class Backfill(_message.Message):
    __slots__ = ("feed_id", "state", "reason", "kind", "first_url", "job")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    FIRST_URL_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    state: str
    reason: str
    kind: str
    first_url: str
    job: Job
    def __init__(self, feed_id: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., kind: _Optional[str] = ..., first_url: _Optional[str] = ..., job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class ListHubsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HubPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Hub]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Hub, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Hub(_message.Message):
    __slots__ = ("hub", "subscriptions", "active", "pushes", "by_push", "by_poll", "last_push_at", "missed_at", "words")
    HUB_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    PUSHES_FIELD_NUMBER: _ClassVar[int]
    BY_PUSH_FIELD_NUMBER: _ClassVar[int]
    BY_POLL_FIELD_NUMBER: _ClassVar[int]
    LAST_PUSH_AT_FIELD_NUMBER: _ClassVar[int]
    MISSED_AT_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    hub: str
    subscriptions: int
    active: int
    pushes: int
    by_push: int
    by_poll: int
    last_push_at: _timestamp_pb2.Timestamp
    missed_at: _timestamp_pb2.Timestamp
    words: str
    def __init__(self, hub: _Optional[str] = ..., subscriptions: _Optional[int] = ..., active: _Optional[int] = ..., pushes: _Optional[int] = ..., by_push: _Optional[int] = ..., by_poll: _Optional[int] = ..., last_push_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., missed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., words: _Optional[str] = ...) -> None: ...

class FeedPush(_message.Message):
    __slots__ = ("feed_id", "hubs", "trusted", "words", "subscriptions")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    HUBS_FIELD_NUMBER: _ClassVar[int]
    TRUSTED_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTIONS_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    hubs: _containers.RepeatedScalarFieldContainer[str]
    trusted: bool
    words: str
    subscriptions: _containers.RepeatedCompositeFieldContainer[PushSubscription]
    def __init__(self, feed_id: _Optional[str] = ..., hubs: _Optional[_Iterable[str]] = ..., trusted: _Optional[bool] = ..., words: _Optional[str] = ..., subscriptions: _Optional[_Iterable[_Union[PushSubscription, _Mapping]]] = ...) -> None: ...

class PushSubscription(_message.Message):
    __slots__ = ("hub", "topic", "state", "created_at", "asked_at", "verified_at", "lease_until", "last_push_at", "pushes", "rejected", "by_push", "by_poll", "streak", "last_error")
    HUB_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    LEASE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    LAST_PUSH_AT_FIELD_NUMBER: _ClassVar[int]
    PUSHES_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    BY_PUSH_FIELD_NUMBER: _ClassVar[int]
    BY_POLL_FIELD_NUMBER: _ClassVar[int]
    STREAK_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    hub: str
    topic: str
    state: str
    created_at: _timestamp_pb2.Timestamp
    asked_at: _timestamp_pb2.Timestamp
    verified_at: _timestamp_pb2.Timestamp
    lease_until: _timestamp_pb2.Timestamp
    last_push_at: _timestamp_pb2.Timestamp
    pushes: int
    rejected: int
    by_push: int
    by_poll: int
    streak: int
    last_error: str
    def __init__(self, hub: _Optional[str] = ..., topic: _Optional[str] = ..., state: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., asked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., verified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lease_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_push_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., pushes: _Optional[int] = ..., rejected: _Optional[int] = ..., by_push: _Optional[int] = ..., by_poll: _Optional[int] = ..., streak: _Optional[int] = ..., last_error: _Optional[str] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("after_seq", "types", "feed_ids", "limit")
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    FEED_IDS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after_seq: int
    types: _containers.RepeatedScalarFieldContainer[str]
    feed_ids: _containers.RepeatedScalarFieldContainer[str]
    limit: int
    def __init__(self, after_seq: _Optional[int] = ..., types: _Optional[_Iterable[str]] = ..., feed_ids: _Optional[_Iterable[str]] = ..., limit: _Optional[int] = ...) -> None: ...

class EventPage(_message.Message):
    __slots__ = ("items", "next", "last_seq")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Event]
    next: int
    last_seq: int
    def __init__(self, items: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., next: _Optional[int] = ..., last_seq: _Optional[int] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("seq", "id", "type", "feed_id", "occurred_at", "entry_uid", "data_json")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    OCCURRED_AT_FIELD_NUMBER: _ClassVar[int]
    ENTRY_UID_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    seq: int
    id: str
    type: str
    feed_id: str
    occurred_at: _timestamp_pb2.Timestamp
    entry_uid: str
    data_json: str
    def __init__(self, seq: _Optional[int] = ..., id: _Optional[str] = ..., type: _Optional[str] = ..., feed_id: _Optional[str] = ..., occurred_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., entry_uid: _Optional[str] = ..., data_json: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("after_seq", "types", "feed_ids")
    AFTER_SEQ_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    FEED_IDS_FIELD_NUMBER: _ClassVar[int]
    after_seq: int
    types: _containers.RepeatedScalarFieldContainer[str]
    feed_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, after_seq: _Optional[int] = ..., types: _Optional[_Iterable[str]] = ..., feed_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchReply(_message.Message):
    __slots__ = ("events", "next")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    next: int
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., next: _Optional[int] = ...) -> None: ...

class CanonicalizeRequest(_message.Message):
    __slots__ = ("url",)
    URL_FIELD_NUMBER: _ClassVar[int]
    url: str
    def __init__(self, url: _Optional[str] = ...) -> None: ...

class CanonicalizeReply(_message.Message):
    __slots__ = ("url", "reason", "requests", "source", "preset", "level", "input_url", "response_url", "self_url", "proven", "candidates", "asked")
    URL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PRESET_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    INPUT_URL_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_URL_FIELD_NUMBER: _ClassVar[int]
    SELF_URL_FIELD_NUMBER: _ClassVar[int]
    PROVEN_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    ASKED_FIELD_NUMBER: _ClassVar[int]
    url: str
    reason: str
    requests: int
    source: str
    preset: str
    level: int
    input_url: str
    response_url: str
    self_url: str
    proven: _containers.RepeatedScalarFieldContainer[str]
    candidates: _containers.RepeatedCompositeFieldContainer[Candidate]
    asked: _containers.RepeatedCompositeFieldContainer[Asked]
    def __init__(self, url: _Optional[str] = ..., reason: _Optional[str] = ..., requests: _Optional[int] = ..., source: _Optional[str] = ..., preset: _Optional[str] = ..., level: _Optional[int] = ..., input_url: _Optional[str] = ..., response_url: _Optional[str] = ..., self_url: _Optional[str] = ..., proven: _Optional[_Iterable[str]] = ..., candidates: _Optional[_Iterable[_Union[Candidate, _Mapping]]] = ..., asked: _Optional[_Iterable[_Union[Asked, _Mapping]]] = ...) -> None: ...

class DiscoverRequest(_message.Message):
    __slots__ = ("url", "budget")
    URL_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    url: str
    budget: int
    def __init__(self, url: _Optional[str] = ..., budget: _Optional[int] = ...) -> None: ...

class DiscoverReply(_message.Message):
    __slots__ = ("url", "reason", "words", "requests", "feeds", "tried", "untried")
    URL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    TRIED_FIELD_NUMBER: _ClassVar[int]
    UNTRIED_FIELD_NUMBER: _ClassVar[int]
    url: str
    reason: str
    words: str
    requests: int
    feeds: _containers.RepeatedCompositeFieldContainer[FoundFeed]
    tried: _containers.RepeatedCompositeFieldContainer[Asked]
    untried: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, url: _Optional[str] = ..., reason: _Optional[str] = ..., words: _Optional[str] = ..., requests: _Optional[int] = ..., feeds: _Optional[_Iterable[_Union[FoundFeed, _Mapping]]] = ..., tried: _Optional[_Iterable[_Union[Asked, _Mapping]]] = ..., untried: _Optional[_Iterable[str]] = ...) -> None: ...

class Candidate(_message.Message):
    __slots__ = ("url", "cleanliness", "source", "preset", "verdict")
    URL_FIELD_NUMBER: _ClassVar[int]
    CLEANLINESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PRESET_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    url: str
    cleanliness: float
    source: str
    preset: str
    verdict: str
    def __init__(self, url: _Optional[str] = ..., cleanliness: _Optional[float] = ..., source: _Optional[str] = ..., preset: _Optional[str] = ..., verdict: _Optional[str] = ...) -> None: ...

class Asked(_message.Message):
    __slots__ = ("url", "role", "final_url", "status", "verdict", "detail")
    URL_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    FINAL_URL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    url: str
    role: str
    final_url: str
    status: int
    verdict: str
    detail: str
    def __init__(self, url: _Optional[str] = ..., role: _Optional[str] = ..., final_url: _Optional[str] = ..., status: _Optional[int] = ..., verdict: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class FeedStatsRequest(_message.Message):
    __slots__ = ("id", "since", "until", "granularity")
    ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    id: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    granularity: str
    def __init__(self, id: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., granularity: _Optional[str] = ...) -> None: ...

class FiguresRequest(_message.Message):
    __slots__ = ("since", "until", "granularity")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    granularity: str
    def __init__(self, since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., granularity: _Optional[str] = ...) -> None: ...

class FeedFigures(_message.Message):
    __slots__ = ("feed_id", "granularity", "since", "until", "total", "points", "failures")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    granularity: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    total: PollFigures
    points: _containers.RepeatedCompositeFieldContainer[FiguresPoint]
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    def __init__(self, feed_id: _Optional[str] = ..., granularity: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., total: _Optional[_Union[PollFigures, _Mapping]] = ..., points: _Optional[_Iterable[_Union[FiguresPoint, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ...) -> None: ...

class TotalFigures(_message.Message):
    __slots__ = ("granularity", "since", "until", "total", "points", "outcomes", "failures", "latency", "new_entries")
    class NewEntriesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    GRANULARITY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    NEW_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    granularity: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    total: PollFigures
    points: _containers.RepeatedCompositeFieldContainer[FiguresPoint]
    outcomes: _containers.RepeatedCompositeFieldContainer[OutcomeCount]
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    latency: _containers.RepeatedCompositeFieldContainer[Latency]
    new_entries: _containers.ScalarMap[str, int]
    def __init__(self, granularity: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., total: _Optional[_Union[PollFigures, _Mapping]] = ..., points: _Optional[_Iterable[_Union[FiguresPoint, _Mapping]]] = ..., outcomes: _Optional[_Iterable[_Union[OutcomeCount, _Mapping]]] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ..., latency: _Optional[_Iterable[_Union[Latency, _Mapping]]] = ..., new_entries: _Optional[_Mapping[str, int]] = ...) -> None: ...

class FiguresPoint(_message.Message):
    __slots__ = ("start", "figures")
    START_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    start: _timestamp_pb2.Timestamp
    figures: PollFigures
    def __init__(self, start: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., figures: _Optional[_Union[PollFigures, _Mapping]] = ...) -> None: ...

class PollFigures(_message.Message):
    __slots__ = ("polls", "fresh", "unchanged", "same_body", "failed", "failed_ours", "failed_theirs", "failed_host", "success_rate", "not_modified_rate", "bytes_in", "bytes_decoded", "bytes_saved", "compression_ratio", "entries_new", "entries_updated", "new_per_poll", "latency_ms", "latency_max_ms", "lag", "lag_max", "late", "retries", "interval_sec", "ewma_sec")
    POLLS_FIELD_NUMBER: _ClassVar[int]
    FRESH_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    SAME_BODY_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    FAILED_OURS_FIELD_NUMBER: _ClassVar[int]
    FAILED_THEIRS_FIELD_NUMBER: _ClassVar[int]
    FAILED_HOST_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_RATE_FIELD_NUMBER: _ClassVar[int]
    NOT_MODIFIED_RATE_FIELD_NUMBER: _ClassVar[int]
    BYTES_IN_FIELD_NUMBER: _ClassVar[int]
    BYTES_DECODED_FIELD_NUMBER: _ClassVar[int]
    BYTES_SAVED_FIELD_NUMBER: _ClassVar[int]
    COMPRESSION_RATIO_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_NEW_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_UPDATED_FIELD_NUMBER: _ClassVar[int]
    NEW_PER_POLL_FIELD_NUMBER: _ClassVar[int]
    LATENCY_MS_FIELD_NUMBER: _ClassVar[int]
    LATENCY_MAX_MS_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    LAG_MAX_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_SEC_FIELD_NUMBER: _ClassVar[int]
    EWMA_SEC_FIELD_NUMBER: _ClassVar[int]
    polls: int
    fresh: int
    unchanged: int
    same_body: int
    failed: int
    failed_ours: int
    failed_theirs: int
    failed_host: int
    success_rate: float
    not_modified_rate: float
    bytes_in: int
    bytes_decoded: int
    bytes_saved: int
    compression_ratio: float
    entries_new: int
    entries_updated: int
    new_per_poll: float
    latency_ms: float
    latency_max_ms: int
    lag: float
    lag_max: float
    late: int
    retries: int
    interval_sec: float
    ewma_sec: float
    def __init__(self, polls: _Optional[int] = ..., fresh: _Optional[int] = ..., unchanged: _Optional[int] = ..., same_body: _Optional[int] = ..., failed: _Optional[int] = ..., failed_ours: _Optional[int] = ..., failed_theirs: _Optional[int] = ..., failed_host: _Optional[int] = ..., success_rate: _Optional[float] = ..., not_modified_rate: _Optional[float] = ..., bytes_in: _Optional[int] = ..., bytes_decoded: _Optional[int] = ..., bytes_saved: _Optional[int] = ..., compression_ratio: _Optional[float] = ..., entries_new: _Optional[int] = ..., entries_updated: _Optional[int] = ..., new_per_poll: _Optional[float] = ..., latency_ms: _Optional[float] = ..., latency_max_ms: _Optional[int] = ..., lag: _Optional[float] = ..., lag_max: _Optional[float] = ..., late: _Optional[int] = ..., retries: _Optional[int] = ..., interval_sec: _Optional[float] = ..., ewma_sec: _Optional[float] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("outcome", "status", "fault", "count", "host", "feeds")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    status: int
    fault: str
    count: int
    host: str
    feeds: int
    def __init__(self, outcome: _Optional[str] = ..., status: _Optional[int] = ..., fault: _Optional[str] = ..., count: _Optional[int] = ..., host: _Optional[str] = ..., feeds: _Optional[int] = ...) -> None: ...

class OutcomeCount(_message.Message):
    __slots__ = ("outcome", "status", "fault", "count")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    status: int
    fault: str
    count: int
    def __init__(self, outcome: _Optional[str] = ..., status: _Optional[int] = ..., fault: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class Latency(_message.Message):
    __slots__ = ("payload", "polls", "p50_ms", "p95_ms", "p99_ms")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    POLLS_FIELD_NUMBER: _ClassVar[int]
    P50_MS_FIELD_NUMBER: _ClassVar[int]
    P95_MS_FIELD_NUMBER: _ClassVar[int]
    P99_MS_FIELD_NUMBER: _ClassVar[int]
    payload: str
    polls: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    def __init__(self, payload: _Optional[str] = ..., polls: _Optional[int] = ..., p50_ms: _Optional[float] = ..., p95_ms: _Optional[float] = ..., p99_ms: _Optional[float] = ...) -> None: ...

class TopFeedsRequest(_message.Message):
    __slots__ = ("by", "since", "until", "limit")
    BY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    by: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    limit: int
    def __init__(self, by: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class TopFeeds(_message.Message):
    __slots__ = ("by", "since", "until", "items")
    BY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    by: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    items: _containers.RepeatedCompositeFieldContainer[RankedFeed]
    def __init__(self, by: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., items: _Optional[_Iterable[_Union[RankedFeed, _Mapping]]] = ...) -> None: ...

class RankedFeed(_message.Message):
    __slots__ = ("feed_id", "url", "title", "host", "value", "figures")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    url: str
    title: str
    host: str
    value: float
    figures: PollFigures
    def __init__(self, feed_id: _Optional[str] = ..., url: _Optional[str] = ..., title: _Optional[str] = ..., host: _Optional[str] = ..., value: _Optional[float] = ..., figures: _Optional[_Union[PollFigures, _Mapping]] = ...) -> None: ...

class ServiceLevelsRequest(_message.Message):
    __slots__ = ("day",)
    DAY_FIELD_NUMBER: _ClassVar[int]
    day: _timestamp_pb2.Timestamp
    def __init__(self, day: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ServiceLevelsReply(_message.Message):
    __slots__ = ("day", "levels")
    DAY_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    day: _timestamp_pb2.Timestamp
    levels: _containers.RepeatedCompositeFieldContainer[ServiceLevel]
    def __init__(self, day: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., levels: _Optional[_Iterable[_Union[ServiceLevel, _Mapping]]] = ...) -> None: ...

class ServiceLevel(_message.Message):
    __slots__ = ("name", "target", "value", "met", "words", "payload", "measured", "missed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    MET_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    MEASURED_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    name: str
    target: float
    value: float
    met: bool
    words: str
    payload: str
    measured: int
    missed: int
    def __init__(self, name: _Optional[str] = ..., target: _Optional[float] = ..., value: _Optional[float] = ..., met: _Optional[bool] = ..., words: _Optional[str] = ..., payload: _Optional[str] = ..., measured: _Optional[int] = ..., missed: _Optional[int] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("at", "feeds", "since", "recent", "failures", "resting_hosts", "sizes", "levels", "advice")
    AT_FIELD_NUMBER: _ClassVar[int]
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    RECENT_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    RESTING_HOSTS_FIELD_NUMBER: _ClassVar[int]
    SIZES_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    feeds: FeedCounts
    since: _timestamp_pb2.Timestamp
    recent: PollFigures
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    resting_hosts: _containers.RepeatedCompositeFieldContainer[Host]
    sizes: StoreSizes
    levels: _containers.RepeatedCompositeFieldContainer[ServiceLevel]
    advice: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., feeds: _Optional[_Union[FeedCounts, _Mapping]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recent: _Optional[_Union[PollFigures, _Mapping]] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ..., resting_hosts: _Optional[_Iterable[_Union[Host, _Mapping]]] = ..., sizes: _Optional[_Union[StoreSizes, _Mapping]] = ..., levels: _Optional[_Iterable[_Union[ServiceLevel, _Mapping]]] = ..., advice: _Optional[_Iterable[str]] = ...) -> None: ...

class FeedCounts(_message.Message):
    __slots__ = ("feeds", "paused", "active", "backing_off", "suspect", "gone", "never_polled", "due", "late", "held", "circuit_open")
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    BACKING_OFF_FIELD_NUMBER: _ClassVar[int]
    SUSPECT_FIELD_NUMBER: _ClassVar[int]
    GONE_FIELD_NUMBER: _ClassVar[int]
    NEVER_POLLED_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    LATE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    CIRCUIT_OPEN_FIELD_NUMBER: _ClassVar[int]
    feeds: int
    paused: int
    active: int
    backing_off: int
    suspect: int
    gone: int
    never_polled: int
    due: int
    late: int
    held: int
    circuit_open: int
    def __init__(self, feeds: _Optional[int] = ..., paused: _Optional[int] = ..., active: _Optional[int] = ..., backing_off: _Optional[int] = ..., suspect: _Optional[int] = ..., gone: _Optional[int] = ..., never_polled: _Optional[int] = ..., due: _Optional[int] = ..., late: _Optional[int] = ..., held: _Optional[int] = ..., circuit_open: _Optional[int] = ...) -> None: ...

class ListCursorsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CursorPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Cursor]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Cursor, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Cursor(_message.Message):
    __slots__ = ("consumer", "seq", "behind", "unread_since")
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    UNREAD_SINCE_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    seq: int
    behind: int
    unread_since: _timestamp_pb2.Timestamp
    def __init__(self, consumer: _Optional[str] = ..., seq: _Optional[int] = ..., behind: _Optional[int] = ..., unread_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DropCursorRequest(_message.Message):
    __slots__ = ("consumer",)
    CONSUMER_FIELD_NUMBER: _ClassVar[int]
    consumer: str
    def __init__(self, consumer: _Optional[str] = ...) -> None: ...

class DropCursorReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListHostsRequest(_message.Message):
    __slots__ = ("troubled", "text", "cursor", "limit")
    TROUBLED_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    troubled: bool
    text: str
    cursor: str
    limit: int
    def __init__(self, troubled: _Optional[bool] = ..., text: _Optional[str] = ..., cursor: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class HostRequest(_message.Message):
    __slots__ = ("host",)
    HOST_FIELD_NUMBER: _ClassVar[int]
    host: str
    def __init__(self, host: _Optional[str] = ...) -> None: ...

class HostPage(_message.Message):
    __slots__ = ("items", "next")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Host]
    next: str
    def __init__(self, items: _Optional[_Iterable[_Union[Host, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class Host(_message.Message):
    __slots__ = ("host", "state", "reason", "since", "until", "failures", "canary", "feeds", "due", "held", "limited_urls", "gap_sec", "slow_down")
    HOST_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    CANARY_FIELD_NUMBER: _ClassVar[int]
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    DUE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    LIMITED_URLS_FIELD_NUMBER: _ClassVar[int]
    GAP_SEC_FIELD_NUMBER: _ClassVar[int]
    SLOW_DOWN_FIELD_NUMBER: _ClassVar[int]
    host: str
    state: str
    reason: str
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    failures: int
    canary: str
    feeds: int
    due: int
    held: int
    limited_urls: int
    gap_sec: float
    slow_down: float
    def __init__(self, host: _Optional[str] = ..., state: _Optional[str] = ..., reason: _Optional[str] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., failures: _Optional[int] = ..., canary: _Optional[str] = ..., feeds: _Optional[int] = ..., due: _Optional[int] = ..., held: _Optional[int] = ..., limited_urls: _Optional[int] = ..., gap_sec: _Optional[float] = ..., slow_down: _Optional[float] = ...) -> None: ...

class SimulateRequest(_message.Message):
    __slots__ = ("feed_id", "policy", "settings", "days")
    FEED_ID_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    feed_id: str
    policy: str
    settings: _containers.RepeatedScalarFieldContainer[str]
    days: int
    def __init__(self, feed_id: _Optional[str] = ..., policy: _Optional[str] = ..., settings: _Optional[_Iterable[str]] = ..., days: _Optional[int] = ...) -> None: ...

class Simulation(_message.Message):
    __slots__ = ("feeds", "entries", "since", "until", "settings_json", "policies", "items", "decisions", "reproduced")
    FEEDS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_JSON_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    REPRODUCED_FIELD_NUMBER: _ClassVar[int]
    feeds: int
    entries: int
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    settings_json: str
    policies: _containers.RepeatedCompositeFieldContainer[SimulatedPolicy]
    items: _containers.RepeatedCompositeFieldContainer[SimulatedFeed]
    decisions: int
    reproduced: int
    def __init__(self, feeds: _Optional[int] = ..., entries: _Optional[int] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., settings_json: _Optional[str] = ..., policies: _Optional[_Iterable[_Union[SimulatedPolicy, _Mapping]]] = ..., items: _Optional[_Iterable[_Union[SimulatedFeed, _Mapping]]] = ..., decisions: _Optional[int] = ..., reproduced: _Optional[int] = ...) -> None: ...

class SimulatedPolicy(_message.Message):
    __slots__ = ("policy", "requests", "requests_per_day", "median_delay_sec", "mean_delay_sec", "p90_delay_sec", "max_mean_delay_sec", "missed", "unchanged_share")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_PER_DAY_FIELD_NUMBER: _ClassVar[int]
    MEDIAN_DELAY_SEC_FIELD_NUMBER: _ClassVar[int]
    MEAN_DELAY_SEC_FIELD_NUMBER: _ClassVar[int]
    P90_DELAY_SEC_FIELD_NUMBER: _ClassVar[int]
    MAX_MEAN_DELAY_SEC_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_SHARE_FIELD_NUMBER: _ClassVar[int]
    policy: str
    requests: int
    requests_per_day: float
    median_delay_sec: float
    mean_delay_sec: float
    p90_delay_sec: float
    max_mean_delay_sec: float
    missed: int
    unchanged_share: float
    def __init__(self, policy: _Optional[str] = ..., requests: _Optional[int] = ..., requests_per_day: _Optional[float] = ..., median_delay_sec: _Optional[float] = ..., mean_delay_sec: _Optional[float] = ..., p90_delay_sec: _Optional[float] = ..., max_mean_delay_sec: _Optional[float] = ..., missed: _Optional[int] = ..., unchanged_share: _Optional[float] = ...) -> None: ...

class SimulatedFeed(_message.Message):
    __slots__ = ("id", "title", "entries", "requests", "mean_delay_sec", "missed", "recorded_requests", "recorded_mean_delay_sec")
    ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    MEAN_DELAY_SEC_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    RECORDED_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    RECORDED_MEAN_DELAY_SEC_FIELD_NUMBER: _ClassVar[int]
    id: str
    title: str
    entries: int
    requests: int
    mean_delay_sec: float
    missed: int
    recorded_requests: int
    recorded_mean_delay_sec: float
    def __init__(self, id: _Optional[str] = ..., title: _Optional[str] = ..., entries: _Optional[int] = ..., requests: _Optional[int] = ..., mean_delay_sec: _Optional[float] = ..., missed: _Optional[int] = ..., recorded_requests: _Optional[int] = ..., recorded_mean_delay_sec: _Optional[float] = ...) -> None: ...

class StoreSizes(_message.Message):
    __slots__ = ("database_bytes", "raw_bytes", "raw_documents")
    DATABASE_BYTES_FIELD_NUMBER: _ClassVar[int]
    RAW_BYTES_FIELD_NUMBER: _ClassVar[int]
    RAW_DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    database_bytes: int
    raw_bytes: int
    raw_documents: int
    def __init__(self, database_bytes: _Optional[int] = ..., raw_bytes: _Optional[int] = ..., raw_documents: _Optional[int] = ...) -> None: ...
