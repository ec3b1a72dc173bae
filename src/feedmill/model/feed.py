"""What is stored: a feed with its state, its lane, a fetch, and where raw bytes lie.

Field names are those of seed 002 §5 wherever it gives one.
"""

from datetime import datetime
from typing import Literal

from feedmill.model.base import Value
from feedmill.model.fetch import Headers, Hop, Validators
from feedmill.model.schedule import Hints, ScheduleState

FeedType = Literal["rss", "atom", "json", "unknown"]


class FeedOverrides(Value):
    """What one feed does differently from the settings (002 §8)."""

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


class MoveCandidate(Value):
    """An address the feed may have moved to, and how often it was seen (D6)."""

    url: str
    source: Literal["redirect", "itunes:new-feed-url", "self"]
    first_seen_at: datetime
    last_seen_at: datetime
    sightings: int = 1


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
    reader_version: str | None = None  # of the parser and normaliser that read it (D31)
    same_bodies: int = 0  # 200s with the same body in a row although validators were sent (H06)
    self_url: str | None = None
    hubs: tuple[str, ...] = ()
    ignored_guids: tuple[str, ...] = ()
    ignored_links: tuple[str, ...] = ()
    move: MoveCandidate | None = None


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


class HostPace(Value):
    """How a host wants to be treated (D24); part of its lane, so it survives a restart."""

    gap_ms: int  # from the end of one fetch to the start of the next
    next_ok_at: datetime | None = None  # Retry-After, crawl-delay, the last fetch's gap
    blocked_reason: str | None = None
    slow_down: float = 1.0  # AIMD: multiplies the gap; grows on trouble, shrinks on success
    failures: int = 0  # fetches of this host in a row that failed alike
    failing_with: str | None = None
    limited_urls: tuple[tuple[str, datetime], ...] = ()  # URLs under a Retry-After of their own


class Lane(Value):
    """The feeds of one host, worked by one process at a time (research: lane leases)."""

    id: int
    key: str  # scheme-less host and port, or host#n for a big host
    epoch: int  # fencing token: a commit under an older epoch is a no-op
    pace: HostPace


class Claim(Value):
    """A lane we hold until `until`, with its due feeds; their next run is already persisted (D25)."""

    lane: Lane
    until: datetime
    feeds: tuple[Feed, ...]
    scheduled_at: tuple[datetime, ...]  # one per feed: the run this claim is for (D26)


class BlobRef(Value):
    """Where a body lies: content-addressed by SHA-256, in one segment of the raw store (D14)."""

    sha256: str
    segment: str
    offset: int
    length: int  # as stored
    coding: Literal["raw", "zstd", "zstd-prefix"]
    raw_length: int
    prefix_sha256: str | None = None  # the body that serves as zstd prefix


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
