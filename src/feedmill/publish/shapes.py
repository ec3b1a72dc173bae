"""Response and request shapes of every interface: one type per noun (002 §5, §9).

REST encodes these, gRPC copies them field by field, the client decodes them, and the command line
prints them. An entry, an article, a revision, a fetch and an event are published as they are
kept; the others are made in `publish.to_shapes` and in `engine.service`. No credential has a place in any of them.
"""
# Tested in tests/unit/publish/test_to_json.py

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from feedmill.model.base import Value
from feedmill.model.canonical import Canonical, Discovered, FoundFeed
from feedmill.model.derived.cluster import Cluster, ClusterMember
from feedmill.model.derived.fetched import FullText, MediaItem
from feedmill.model.event import Cursor, Event, EventType, Revision, StoredArticle, StoredEntry
from feedmill.model.feed import FeedType, FetchRecord, PushState
from feedmill.model.page import ListPage
from feedmill.model.running import webhook
from feedmill.model.running.job import JobState
from feedmill.model.schedule import Circuit, DecisionReason, Health, HintSource, StepCode
from feedmill.publish.move_shapes import CandidateShape

EntryShape = StoredEntry
RevisionShape = Revision
FetchShape = FetchRecord
FullTextShape = FullText
ClusterShape = Cluster
MediaShape = MediaItem
EventShape = Event
ArticleShape = StoredArticle
CanonicalShape = Canonical
DiscoveredShape = Discovered

# "$" alone would let a line end pass; the last part is for readers that know only that.
_ONE_LINE: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$(?!\n)"

HealthKind = Literal[
    "well",
    "not-polled",  # no poll has ended yet
    "paused",
    "bot-wall",  # something keeps programs out
    "dns",  # the name has no address
    "tls",  # the certificate or the handshake is no good
    "network",  # no connection, or one that broke off
    "http",  # an answer that is no document: 401, 404, 429, 503
    "too-large",
    "content",  # an answer that is no feed, or one that cannot be read
    "refused",  # we do not ask there: a private address, another protocol
    "gone",  # the publisher says that it is over
]


class FeedValidators(Value):
    etag: str | None
    last_modified: str | None


class FeedSchedule(Value):
    interval_sec: int
    min_interval_sec: int
    max_interval_sec: int
    last_decision_at: datetime | None
    next_poll_at: datetime
    reason: str
    retry_after_sec: int | None


class PublisherHints(Value):
    ttl_minutes: int | None
    skip_hours: tuple[int, ...] | None
    skip_days: tuple[str, ...] | None


class FeedStats(Value):
    last_fetch_at: datetime | None
    last_success_at: datetime | None
    last_result: str | None
    last_status: int | None
    last_detail: str | None
    consecutive_failures: int
    ewma_interarrival_sec: int | None
    new_entries_last_fetch: int


class OverridesShape(Value):
    """Settings that override the global ones; of credentials and headers only that they are set."""

    min_interval_sec: int | None
    max_interval_sec: int | None
    user_agent: str | None
    header_names: tuple[str, ...]
    has_credentials: bool
    has_proxy: bool
    verify_tls: bool
    push_only: bool
    archive_backfill: bool
    disable_autodiscovery: bool
    full_text: bool | None
    full_text_selector: str | None
    quota: float | None
    media: bool | None
    media_types: tuple[str, ...]  # empty: those of the settings
    media_newest: int | None
    media_max_bytes: int | None
    clusters: bool | None


class FeedShape(Value):
    """A feed as 002 §5.1 writes it, with what we know beyond it."""

    id: str
    url: str
    type: FeedType
    title: str | None
    site_url: str | None
    tags: tuple[str, ...]
    paused: bool
    health: Health
    circuit: Circuit  # open: it works and fails by turns and is polled rarely
    created_at: datetime
    validators: FeedValidators
    schedule: FeedSchedule
    publisher_hints: PublisherHints
    stats: FeedStats
    self_url: str | None
    hubs: tuple[str, ...]
    validators_ineffective: bool
    overrides: OverridesShape
    move: CandidateShape | None  # where it may have moved to, and what is missing (D6)


class FeedDetail(FeedShape, kw_only=True):
    """One feed with every address that it was ever met at (D5)."""

    aliases: tuple[str, ...]


class AddedFeed(FeedShape, kw_only=True):
    """The feed that an address leads to; `created` is false when it was here already."""

    created: bool


class FeedPage(ListPage[FeedShape]):
    pass


class EntryPage(ListPage[EntryShape]):
    pass


class RevisionPage(ListPage[RevisionShape]):
    pass


class OutcomeShape(Value):
    """The outcome of the poll that a decision follows."""

    kind: Literal["fresh", "unchanged", "failed"]
    http_status: int | None
    new_entries: int
    retry_after_sec: float | None
    reason: str


class StepShape(Value):
    """One rule that moved the interval or the delay, in seconds."""

    code: StepCode
    of: Literal["interval", "delay"]
    before: float
    after: float


class HintShape(Value):
    """What a publisher or a server asked for, who said it, and when it was last heard."""

    value: Any  # seconds, hours of the day, or names of days
    source: HintSource
    seen_at: datetime


class DecisionShape(Value):
    """A schedule decision with its chain of reasons, and the same in sentences (D23)."""

    decided_at: datetime
    reason: DecisionReason
    outcome: OutcomeShape
    interval_before_sec: float
    interval_sec: float
    delay_sec: float
    next_poll_at: datetime
    steps: tuple[StepShape, ...]
    hints: dict[str, HintShape | None]  # by their names in the model
    words: tuple[str, ...] = ()


class DecisionPage(ListPage[DecisionShape]):
    pass


class Attempt(Value):
    """One poll in short."""

    fetch_id: str
    fetched_at: datetime
    outcome: str
    http_status: int | None
    detail: str | None
    elapsed_ms: int


class HealthShape(Value):
    """The health of a feed: what is wrong, since when, the last attempts, and what comes next."""

    feed_id: str
    url: str
    health: Health
    kind: HealthKind
    paused: bool
    reason: str | None  # the stable word of the last poll
    detail: str | None
    since: datetime | None  # the first failure of the present row of failures
    consecutive_failures: int
    last_success_at: datetime | None
    next_poll_at: datetime
    line: int | None  # of the first fault in the XML
    column: int | None
    # open: the feed spent its error budget and is polled rarely until it is steady
    circuit: Circuit
    circuit_since: datetime | None
    error_budget_used: float  # 0 to 1 and beyond: what failures by turns used up of it
    volatile_fields: tuple[str, ...]  # that the publisher changes with every request
    attempts: tuple[Attempt, ...]  # the newest first
    words: tuple[str, ...]


class ArticlePage(ListPage[ArticleShape]):
    pass


class EventPage(Value):
    """Events in order; ask again with `after` = `next`, which also passes what a filter left out."""

    items: tuple[EventShape, ...]
    next: int
    last_seq: int  # the newest there is


class Refetch(Value):
    """A feed that will be polled as soon as its host's pace allows."""

    feed_id: str
    next_poll_at: datetime


class NotImported(Value):
    url: str
    reason: str
    message: str


class Imported(Value):
    """The result of an import of subscriptions."""

    total: int
    added: int
    existing: int
    failed: tuple[NotImported, ...]


class Counts(Value):
    """How much there is, and how far the log goes."""

    counts: dict[str, int]
    last_seq: int
    next_due_at: datetime | None


class WebhookShape(Value):
    """A webhook and its delivery state; its secret is shown once, when it is created."""

    id: str
    url: str
    created_at: datetime
    types: tuple[EventType, ...]
    feed_id: str | None
    tag: str | None
    format: webhook.DeliveryFormat
    payload: webhook.EventPayload
    topic: str | None  # of a subscriber of our hub
    expires_at: datetime | None
    state: webhook.WebhookState
    paused_reason: webhook.PauseReason | None
    attempts: int
    next_attempt_at: datetime | None
    last_delivery_at: datetime | None
    last_result: str | None
    last_status: int | None


class NewWebhook(WebhookShape):
    """A webhook that was just created, with its secret, which is not shown again."""

    secret: str


class WebhookPage(ListPage[WebhookShape]):
    pass


class DeadLetterPage(ListPage[webhook.DeadLetter]):
    pass


class JobShape(Value):
    """A background job and how far it has come."""

    id: int
    kind: str
    key: str
    state: JobState
    feed_id: str | None
    host: str | None
    url: str | None
    priority: int
    not_before: datetime
    attempts: int
    steps: int
    progress: dict[str, Any]
    owner: str | None
    lease_until: datetime | None
    last_error: str
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None


class MediaPage(ListPage[MediaShape]):
    pass


class BackfillShape(Value):
    """The walk through a feed's archive: what it would begin with, or how far its job has come."""

    feed_id: str
    state: JobState | Literal["possible", "impossible", "unknown"]
    reason: str = ""  # why there is nothing to walk
    kind: str | None = None  # prev-archive, next or paged
    first_url: str | None = None
    job: JobShape | None = None


class JobPage(ListPage[JobShape]):
    pass


class CursorPage(ListPage[Cursor]):
    """Readers of the event log with how far they are behind."""


class ClusterPage(ListPage[ClusterShape]):
    pass


class ClusterDetail(Cluster):
    """A story with the entries that tell it, the first that came in first."""

    members: tuple[ClusterMember, ...]


class PushShape(Value):
    """A subscription at a hub and its evidence; never its secret or its callback."""

    hub: str
    topic: str
    state: PushState
    created_at: datetime
    asked_at: datetime | None
    verified_at: datetime | None
    lease_until: datetime | None
    last_push_at: datetime | None
    pushes: int
    rejected: int
    by_push: int  # entries that a ping brought first
    by_poll: int  # entries that a poll found first
    streak: int
    last_error: str


class FeedPush(Value):
    """Push for one feed."""

    feed_id: str
    hubs: tuple[str, ...]  # that it announces
    trusted: bool
    words: str
    subscriptions: tuple[PushShape, ...]  # the live one first


class HubShape(Value):
    """A hub with what it delivered over all feeds."""

    hub: str
    subscriptions: int
    active: int
    pushes: int
    by_push: int
    by_poll: int
    last_push_at: datetime | None
    missed_at: datetime | None
    words: str


class HubPage(ListPage[HubShape]):
    pass


# What other programs send. A field that is not known is refused: a typo must not pass for a wish.

MAX_SEQ: Final = 2**63 - 1
ShortText = Annotated[str, Meta(min_length=1, max_length=1_000, pattern=_ONE_LINE)]
TagText = Annotated[str, Meta(min_length=1, max_length=100, pattern=_ONE_LINE)]
MediaTypes = Annotated[
    tuple[Annotated[str, Meta(max_length=100, pattern=r"^[\w.+*-]+/[\w.+*-]+$(?!\n)")], ...],
    Meta(max_length=50),
]
TagTexts = Annotated[tuple[TagText, ...], Meta(max_length=50)]
AddressText = Annotated[str, Meta(min_length=1, max_length=4_096)]
SearchBudget = Annotated[int, Meta(ge=0, le=100)]
Seconds = Annotated[int, Meta(ge=1, le=31_536_000)]
Field = tuple[
    Annotated[
        str, Meta(min_length=1, max_length=200, pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$(?!\n)")
    ],
    Annotated[str, Meta(max_length=4_000, pattern=r"^[\x20-\x7e]*$(?!\n)")],
]
Fields = Annotated[tuple[Field, ...], Meta(max_length=32)]


Factor = Annotated[float, Meta(ge=0, le=1_000_000)]  # times the general quotas


class FeedWish(Value, forbid_unknown_fields=True):
    """A feed to subscribe to, and the settings it overrides."""

    url: AddressText
    title: ShortText | None = None
    tags: TagTexts = ()
    min_interval_sec: Seconds | None = None
    max_interval_sec: Seconds | None = None
    user_agent: ShortText | None = None
    headers: Fields = ()
    username: ShortText | None = None  # never shown again
    password: ShortText | None = None
    history: bool = False  # walk the feed's archive once
    as_is: bool = False  # take the address as it stands: no discovery, no canonicalisation
    choose: Annotated[int, Meta(ge=1, le=1_000)] | None = None  # which of the feeds of a page
    budget: SearchBudget | None = None  # requests of a search for feeds; None: as the settings say


class FeedChange(Value, forbid_unknown_fields=True):
    """What to change of a feed: what is left out stays, null goes back to the settings."""

    title: ShortText | UnsetType | None = UNSET
    tags: TagTexts | UnsetType = UNSET
    paused: bool | UnsetType = UNSET
    min_interval_sec: Seconds | UnsetType | None = UNSET
    max_interval_sec: Seconds | UnsetType | None = UNSET
    user_agent: ShortText | UnsetType | None = UNSET
    headers: Fields | UnsetType = UNSET
    username: ShortText | UnsetType | None = UNSET
    password: ShortText | UnsetType | None = UNSET
    push_only: bool | UnsetType = UNSET
    archive_backfill: bool | UnsetType = UNSET
    disable_autodiscovery: bool | UnsetType = UNSET
    full_text: bool | UnsetType | None = UNSET
    full_text_selector: ShortText | UnsetType | None = UNSET
    quota: Factor | UnsetType | None = UNSET
    media: bool | UnsetType | None = UNSET
    media_types: MediaTypes | UnsetType = UNSET
    media_newest: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType | None = UNSET
    media_max_bytes: Annotated[int, Meta(ge=1, le=MAX_SEQ)] | UnsetType | None = UNSET
    clusters: bool | UnsetType | None = UNSET


class WebhookWish(Value, forbid_unknown_fields=True):
    """A webhook to create."""

    url: AddressText
    types: Annotated[tuple[EventType, ...], Meta(max_length=50)] = ()  # empty: all
    feed_id: ShortText | None = None
    tag: TagText | None = None
    format: webhook.EventFormat = "plain"
    payload: webhook.EventPayload = "compact"  # full: with whole entries
    from_seq: Annotated[int, Meta(ge=1, le=MAX_SEQ)] | None = None


class WebhookChange(Value, forbid_unknown_fields=True):
    """What to change of a webhook: pause or resume it, or deliver again from an event on."""

    paused: bool | None = None
    from_seq: Annotated[int, Meta(ge=1, le=MAX_SEQ)] | None = None


class DiscoverWish(Value, forbid_unknown_fields=True):
    """An address whose feeds are wanted."""

    url: AddressText
    budget: SearchBudget | None = None


class CanonicalWish(Value, forbid_unknown_fields=True):
    """An address to canonicalise."""

    url: AddressText


class Mistake(Value):
    """One thing that is wrong with a request, and where."""

    where: str
    message: str


class Problem(Value, omit_defaults=True):
    """Why a request was not done (RFC 9457); `type` is /problems/<code> and never changes."""

    type: str
    title: str
    status: int
    detail: str = ""
    reason: str | None = None  # the stable word of docs/reference/reasons.md, where there is one
    hint: str | None = None
    errors: tuple[Mistake, ...] = ()
    choices: tuple[FoundFeed, ...] = ()


class Ready(Value):
    """The store answers; `last_seq` is how far its log goes."""

    ready: bool
    last_seq: int
