"""Stored feeds with their state, lanes, moves, fetch records and references to raw bytes; their WebSub hubs.

Field names are those of seed 002 §5 wherever it gives one.
"""
# Tested in tests/contracts/store/test_moves_and_merges.py
# Tested in tests/contracts/store/test_push.py

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value
from feedmill.model.fetch import Headers, Hop, Validators
from feedmill.model.schedule import Hints, ScheduleState

ValidatorUse = Literal["both", "etag", "date"]
FeedType = Literal["rss", "atom", "json", "unknown"]
PushState = Literal[
    "asked",  # the hub was asked and has not verified yet
    "active",  # verified; the hub may push until `lease_until`
    "denied",  # the hub refuses this topic
    "unverified",  # the hub accepted the request and never verified it
    "failed",  # the hub could not be reached
    "ended",  # replaced by another hub or topic, or unsubscribed
    "unsubscribing",  # the hub was asked to stop
]


class FeedOverrides(Value):
    """Settings of one feed that override the global ones (002 §8)."""

    min_interval_sec: int | None = None
    max_interval_sec: int | None = None
    headers: Headers = ()
    user_agent: str | None = None
    username: str | None = None  # sent as Basic credentials, never part of a URL or a log
    password: str | None = None
    proxy: str | None = None
    verify_tls: bool = True  # an opt-out is visible in every listing
    disable_autodiscovery: bool = False
    push_only: bool = False
    archive_backfill: bool = False
    full_text: bool | None = None  # fetch the pages of new entries; None: as the tags say
    full_text_selector: str | None = None  # CSS or XPath of the text in such a page
    quota: float | None = None  # times the general quotas; 0: none for this feed
    media: bool | None = None  # download the files of entries; None: as the tags say
    media_types: tuple[str, ...] = ()  # other rules than those of [media]
    media_newest: int | None = None
    media_max_bytes: int | None = None
    clusters: bool | None = None  # compare its entries with other feeds; None: as the tags say


QuotaReason = Literal[
    "entries-per-poll",
    "entries-per-day",
    "bytes-per-day",
    "identities-per-feed",  # of deleted entries; the oldest were forgotten
    "raw-bytes",  # the oldest raw documents were deleted
]


class QuotaUse(Value):
    """What a feed brought on one day, and what waits because of its quotas (D40)."""

    day: int  # since 1970, UTC
    entries: int = 0  # new ones
    bytes: int = 0  # of new and changed ones
    waiting: int = 0  # new and changed entries of the last document that were not stored
    reason: QuotaReason | None = None  # why


MoveSource = Literal[
    "redirect",  # every hop was permanent
    "itunes:new-feed-url",
    "self",  # the document used to name another address of its own
    "https",  # the same feed is served by https
    "site",  # found on the site of a feed that was lost
    "manual",  # moved by hand
]
MoveProof = Literal[
    "redirect",  # the document came from there
    "content",  # the same bytes
    "signature",  # the same feed in other bytes
    "entries",  # at least half of its entries are known ones of this feed
    "forced",  # none was asked for
]
MoveReason = Literal[
    "not-the-same-feed",  # what is served there could not be proven to be this feed
    "leads-home",  # it only redirects to where the feed lives
    "undone",  # the feed was moved back from there by hand
    "loop",  # the feed left that address less than a week ago
    "taken",  # the address belongs to another feed
    "has-credentials",  # they would be sent to another host
    "no-feed-found",  # the site of a lost feed leads to no other feed
]


class MoveCandidate(Value):
    """An address the feed may have moved to, how often it was seen, and what speaks against it (D6)."""

    url: str
    source: MoveSource
    first_seen_at: datetime
    last_seen_at: datetime
    sightings: int = 1
    continues: bool = True  # what came by the first redirect there went on with what was known
    attempts: int = 0  # proofs that were tried
    refuted_at: datetime | None = None  # when the last of them showed another feed
    retry_at: datetime | None = None  # no proof is tried before
    reason: str = ""  # why it is not adopted: a MoveReason, or why it could not be fetched


class Move(Value):
    """A feed's change of address; one that was undone is never made again by itself (D6)."""

    from_url: str
    to_url: str
    source: MoveSource
    proof: MoveProof
    moved_at: datetime
    undone_at: datetime | None = None


class MergeCounts(Value):
    """What two feeds that became one brought together."""

    entries: int = 0  # that changed their feed
    folded: int = 0  # that both had: one row each is left
    fetches: int = 0
    aliases: int = 0


class MergedFeed(Value):
    """A subscription that was merged into another by hand; it can be undone until it is made final."""

    feed_id: str
    url: str
    title: str | None
    into_id: str
    into_url: str
    merged_at: datetime


class ImportedOutline(Value):
    """What became of one outline of an imported list."""

    url: str  # as the list has it
    outcome: str
    at: datetime
    feed_id: str | None = None
    reason: str = ""
    detail: str = ""
    digest: str = ""  # of the document that was seen there


class VolatileField(Value, array_like=True):
    """A field of a feed's entries that differs in document after document (17.5)."""

    name: str  # of the fields that content hashes are made of, or guid
    level: int = 0  # 1: its numbers and ids do not count as changes; 2: it does not count at all
    since: datetime | None = None  # when that was learnt
    row: int = 0  # documents in a row in which it differed
    entries: tuple[int, ...] = ()  # in which entries, in all of these documents


class Feed(Value):
    """A subscription with everything that is carried from one poll to the next."""

    id: str  # UUID
    url: str
    feed_key: str  # frozen at the first insert; scopes guids, so a move keeps its entries (D7)
    created_at: datetime
    next_poll_at: datetime
    schedule: ScheduleState
    type: FeedType = "unknown"
    title: str | None = None
    site_url: str | None = None
    tags: tuple[str, ...] = ()
    paused: bool = False
    overrides: FeedOverrides = FeedOverrides()
    validators: Validators | None = None
    hints: Hints = Hints()
    reason: str = ""  # of the last decision, the stable word
    last_decision_at: datetime | None = None
    last_fetch_at: datetime | None = None
    last_success_at: datetime | None = None
    last_result: str | None = None  # "fresh", "unchanged" or the reason of the failure
    last_status: int | None = None
    last_detail: str = ""  # the failure in words, for a person
    new_entries_last_fetch: int = 0
    body_sha256: str | None = None  # of the last document that was read
    document_fetch_id: str | None = None  # the fetch that brought it
    document_bytes: int | None = None  # its length as transferred
    reader_version: str | None = None  # of the parser and normaliser that read it (D31)
    same_bodies: int = 0  # 200s with nothing new in a row although validators were sent (H06)
    validator_use: ValidatorUse | None = None  # which of them made the server answer 304
    self_url: str | None = None
    hubs: tuple[str, ...] = ()
    ignored_guids: tuple[str, ...] = ()
    ignored_links: tuple[str, ...] = ()
    volatile_fields: tuple[VolatileField, ...] = ()
    move: MoveCandidate | None = None
    https_probed_at: datetime | None = None  # when an http feed was last tried by https
    quota: QuotaUse | None = None  # None: it never brought an entry


class NewFeed(Value):
    """A feed to subscribe to; `aliases` are all addresses under which it was met (D5)."""

    id: str
    url: str
    created_at: datetime
    next_poll_at: datetime
    schedule: ScheduleState
    aliases: tuple[str, ...] = ()
    title: str | None = None
    tags: tuple[str, ...] = ()
    overrides: FeedOverrides = FeedOverrides()
    paused: bool = False
    feed_key: str | None = None  # None: the address; of a feed that is restored, the one it had


class HostPace(Value):
    """Politeness state of a host (D24); part of its lane, so it survives a restart."""

    gap_ms: int  # from the end of one fetch to the start of the next
    next_ok_at: datetime | None = None  # Retry-After, crawl-delay, the last fetch's gap
    blocked_reason: str | None = None
    slow_down: float = 1.0  # AIMD: multiplies the gap; grows on trouble, shrinks on success
    failures: int = 0  # fetches of this host in a row that failed alike
    failing_with: str | None = None
    limited_urls: tuple[tuple[str, datetime], ...] = ()  # URLs under a Retry-After of their own
    troubled_since: datetime | None = None  # when the present pause or row of failures began
    canary: str | None = None  # the feed that tried the failing host last


HostState = Literal[
    "well",
    "paused",  # it asked for patience: 429, or 503 with Retry-After
    "incident",  # it fails for several feeds alike; one at a time tries it
]


class HostLane(Value):
    """A lane as people see it: its pace, its feeds, and how many of them are due."""

    key: str
    pace: HostPace
    feeds: int
    due: int


class Lane(Value):
    """The feeds of one host, worked by one process at a time (research: lane leases)."""

    id: int
    key: str  # scheme-less host and port, or host#n for a big host
    epoch: int  # fencing token: a commit under an older epoch is a no-op
    pace: HostPace

    @property
    def has_siblings(self) -> bool:
        """Whether it is one of several lanes of a big host."""
        return "#" in self.key


class DamagedFeed(Value):
    """A due feed whose row cannot be read; it is tried again at its next run."""

    id: str  # or its number, where not even that can be read
    why: str


class Claim(Value):
    """A lane we hold until `until`, with its due feeds; their next run is already persisted (D25)."""

    lane: Lane
    until: datetime
    feeds: tuple[Feed, ...]
    scheduled_at: tuple[datetime, ...]  # one per feed: the run this claim is for (D26)
    damaged: tuple[DamagedFeed, ...] = ()  # were due, too, and cannot be polled


class BlobRef(Value):
    """Where a body lies: content-addressed by SHA-256, in one segment of the raw store (D14)."""

    sha256: str
    segment: str
    offset: int
    length: int  # as stored
    coding: Literal["raw", "zstd", "zstd-prefix"]
    raw_length: int
    prefix_sha256: str | None = None  # the body that serves as zstd prefix


class BodyRef(Value):
    """The body of a fetch in the raw store (002 §5.3: BlobRef)."""

    storage: str  # localfs, s3, gcs or azure
    key: str  # sha256: and the digest of the exact bytes; what lies there never changes


class FetchRecord(Value):
    """One attempt to poll a feed (002: RawFetch); unique by (feed_id, scheduled_at)."""

    fetch_id: str
    feed_id: str
    scheduled_at: datetime
    fetched_at: datetime
    url: str
    final_url: str
    outcome: str  # "fresh", "unchanged", "same-body" or the reason of a failure
    http_status: int | None = None
    detail: str = ""
    request_headers: Headers = ()
    response_headers: Headers = ()
    hops: tuple[Hop, ...] = ()
    body_sha256: str | None = None
    content_type: str | None = None
    content_length: int | None = None  # of the body as it is kept
    wire_length: int | None = None
    elapsed_ms: int = 0
    entries_seen: int = 0
    entries_new: int = 0
    entries_updated: int = 0
    repairs: tuple[str, ...] = ()  # codes
    truncated: bool = False
    trace_id: str | None = None  # of the trace that was exported for it (how-to/traces.md)
    interval_sec: float | None = None  # that the poll waited for; None: it was not scheduled
    saved_bytes: int | None = None  # of the body that a 304 made unnecessary, as transferred
    retries: int = 0  # connection attempts after the first
    body_ref: BodyRef | None = None  # of one that is published; None: it brought no body


class FetchNote(Value):
    """What the raw store keeps beside a body: enough to restore feeds and fetches from segments alone."""

    feed_key: str
    fetch: FetchRecord  # as it was judged; what was read in it is read again
    store_id: str = ""
    tags: tuple[str, ...] = ()


class PushSubscription(Value):
    """One feed at one hub; the token in the callback's path cannot be guessed."""

    token: str
    hub: str
    topic: str
    secret: str
    created_at: datetime
    id: int = 0
    feed_id: str | None = None  # None: the feed is gone
    state: PushState = "asked"
    asked_at: datetime | None = None
    verified_at: datetime | None = None
    lease_until: datetime | None = None
    last_error: str = ""
    last_push_at: datetime | None = None
    last_body_sha256: str | None = None  # of the last ping that was read
    pushes: int = 0  # pings with a valid signature
    rejected: int = 0  # pings with a bad or missing signature, or of another topic
    by_push: int = 0  # entries that a ping brought first
    by_poll: int = 0  # entries that a poll found first while the hub was subscribed
    streak: int = 0  # entries by push since the last entry by poll
    missed_at: datetime | None = None  # when a poll last found an entry first

    def __repr__(self) -> str:
        """Without secret and token: a value may end up in a log."""
        return f"PushSubscription(id={self.id}, hub={self.hub!r}, state={self.state!r})"


class PushEvidence(Value):
    """What a poll or a ping says about a hub, written in its transaction."""

    subscription_id: int
    at: datetime
    by_push: int = 0
    by_poll: int = 0
    body_sha256: str | None = None  # of a ping


class HubTally(Value):
    """All subscriptions at one hub together."""

    hub: str
    subscriptions: int = 0
    active: int = 0
    pushes: int = 0
    by_push: int = 0
    by_poll: int = 0
    verified_at: datetime | None = None  # the first
    last_push_at: datetime | None = None
    missed_at: datetime | None = None  # the last
