"""Frozen settings with defaults that work; each part is handed its slice and nothing else.

Names follow the seeds where a seed gives one (002 §6.1 and §8, 003 §6).
"""
# Tested in tests/unit/adapters/test_settings.py

from typing import Annotated, Final, Literal

from msgspec import Meta
from msgspec.structs import replace

from feedmill.model.base import Value

# Every number has bounds, held by a test. They keep out what cannot be meant (a negative time, a port
# that no machine has) and what would overflow a date or a counter, not what is merely unwise.
LARGEST: Final = 10**15
LONGEST_SEC: Final = 315_360_000  # ten years
LONGEST_DAYS: Final = 36_500
AtLeastOne = Annotated[int, Meta(ge=1, le=LARGEST)]
NotNegative = Annotated[int, Meta(ge=0, le=LARGEST)]
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]
MillisecondsOrZero = Annotated[int, Meta(ge=0, le=86_400_000)]
WholeSeconds = Annotated[int, Meta(ge=1, le=LONGEST_SEC)]
WholeSecondsOrZero = Annotated[int, Meta(ge=0, le=LONGEST_SEC)]
Days = Annotated[int, Meta(ge=1, le=LONGEST_DAYS)]
DaysOrZero = Annotated[int, Meta(ge=0, le=LONGEST_DAYS)]
FloatDays = Annotated[float, Meta(ge=0, le=LONGEST_DAYS)]  # also hours and minutes
PositiveNumber = Annotated[float, Meta(gt=0, le=LONGEST_SEC)]
NotNegativeNumber = Annotated[float, Meta(ge=0, le=LONGEST_SEC)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Factor = Annotated[float, Meta(ge=1, le=1_000_000)]
Port = Annotated[int, Meta(ge=0, le=65_535)]

# An address: its form, and an example that an error shows.
HttpUrl = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^/\s]",
        description="an http or https address, like https://mill.example.org",
    ),
]
OtlpUrl = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^/\s]",
        description="the address of OTLP over HTTP, like http://localhost:4318",
    ),
]
StoreUrl = Annotated[
    str,
    Meta(
        pattern=r"^postgres(ql)?://",
        description="postgresql://user:password@host/name, or nothing for SQLite in the home folder",
    ),
]


class ParseLimits(Value):
    """Ceilings for one document (D16, D28); far above anything measured in real feeds."""

    max_bytes: AtLeastOne = 10 * 1024 * 1024
    max_tags: AtLeastOne = 400_000  # in a document over 1 MB; in JSON, values
    max_attributes: AtLeastOne = 300_000  # in a document over 1 MB
    max_items: AtLeastOne = 10_000
    # MAX_XML_DEPTH; the parser follows no more than 256
    max_xml_depth: Annotated[int, Meta(ge=8, le=10_000)] = 256
    max_values: AtLeastOne = 1_000  # repeated elements of one kind in one entry
    strict_encodings: bool = False  # restrict declared labels to allowed_encodings too (003)
    allowed_encodings: tuple[str, ...] = (
        "utf-8",
        "utf-16",
        "iso-8859-1",
        "windows-1252",
        "ascii",
    )
    encoding_confidence_min: Ratio = 0.8
    encoding_sample_size: AtLeastOne = 10_240


class NormaliseConfig(Value):
    """003 §6."""

    enabled: bool = True  # NORMALIZE_ENABLED: without it texts stay as published
    title_max_chars: NotNegative = 1_000
    summary_max_chars: NotNegative = 4_000  # SUMMARY_MAX_LEN
    content_max_chars: NotNegative = 512_000  # before sanitising; nh3 is quadratic in nesting
    html_max_depth: AtLeastOne = 200
    max_categories: NotNegative = 256
    max_authors: NotNegative = 64
    author_emails: Literal["keep", "hash", "remove"] = "keep"  # 002 §11; raw documents keep them
    max_enclosures: NotNegative = 256
    link_tracking_params: tuple[str, ...] = (
        "utm_source",
        "utm_medium",
        "utm_campaign",
        "utm_term",
        "utm_content",
        "fbclid",
        "gclid",
        "mc_cid",
        "mc_eid",
    )


class IdentifyConfig(Value):
    hash_summary_prefix_len: NotNegative = 100  # 003 HASH_SUMMARY_PREFIX_LEN
    constant_guid_ratio: Ratio = 0.5  # D8: a guid on this share of the items is no guid
    constant_guid_min_items: AtLeastOne = 3  # two items may be two versions of one (RFC 4287 4.1.1)
    rekey_ratio: Ratio = 0.5  # D9: most guids new, links and titles as before
    rekey_min_items: AtLeastOne = 3  # fewer are single changes, not a re-key
    legacy_guid_across_feeds: bool = False  # let an equal guid and link merge entries of two feeds
    history_rewritten_ratio: Ratio = 0.5  # this share of the document's known texts changed at once
    history_rewritten_min_items: AtLeastOne = 10


class ScheduleConfig(Value):
    """002 §6.1, and the price of a request (D34)."""

    policy: Literal["budget", "seed"] = "budget"  # seed: 002 §6 as written, guarded by D20
    # budget: how long unseen entries wait together before a poll
    price_sec: PositiveNumber = 2_700.0
    whole_document_price: Factor = 4.0  # times the price, for a feed that never answers 304
    late_price_max: Factor = 16.0  # times the price at most, while the host's lane is late
    # budget: ceiling of feeds that are silent; 0: the usual one
    quiet_max_interval_sec: WholeSecondsOrZero = 0
    initial_interval_sec: WholeSeconds = 900
    min_interval_sec: WholeSeconds = 300
    max_interval_sec: WholeSeconds = 86_400
    up_factor: Factor = 1.25
    down_factor: Annotated[float, Meta(gt=0, le=1)] = 0.75
    ewma_alpha: Ratio = 0.3
    blend_lambda: Ratio = 0.5
    jitter_ratio: Annotated[float, Meta(ge=0, lt=1)] = 0.15
    backoff_base: Factor = 2.0
    backoff_cap_sec: WholeSecondsOrZero = 3_600
    # share of polls that may fail after a success; then the circuit opens
    error_budget: Ratio = 0.4
    ewma_window: AtLeastOne = 20
    # a Retry-After beyond a week is read as a week
    retry_after_max_sec: WholeSecondsOrZero = 604_800
    suspect_after_failures: AtLeastOne = 10  # D24: this many in a row, or one 410
    # D24: the second 410 counts when it comes this much later
    gone_after_sec: WholeSecondsOrZero = 86_400

    def with_limits(self, shortest: int | None, longest: int | None) -> "ScheduleConfig":
        """The policy with a feed's own shortest and longest interval, which go before the general ones."""
        if shortest is None and longest is None:
            return self
        least = shortest or min(self.min_interval_sec, longest or self.max_interval_sec)
        most = longest or max(self.max_interval_sec, least)
        return replace(self, min_interval_sec=least, max_interval_sec=most)


class FetchConfig(Value):
    """002 §8 and D27, D28."""

    # names no place: the operator adds one, and doctor asks for it
    user_agent: str = "feedmill/0.1"
    robots_product: str = "feedmill"  # the product token of RFC 9309 2.2.1
    timeout_ms: Milliseconds = 30_000
    max_redirects: NotNegative = 5
    max_body_bytes: AtLeastOne = 10 * 1024 * 1024
    max_wire_bytes: AtLeastOne = 10 * 1024 * 1024
    max_header_bytes: AtLeastOne = 65_536
    min_bytes_per_sec: NotNegative = 1_024
    min_throughput_window_sec: WholeSecondsOrZero = 10
    accept_encodings: tuple[str, ...] = ("gzip", "deflate", "br", "zstd")  # that we decode bounded
    allow_downgrade: bool = False  # follow a redirect from https to http
    robots_max_bytes: AtLeastOne = 512_000  # RFC 9309 2.5: at least 500 KiB
    crawl_delay_max_sec: NotNegativeNumber = 60.0
    connect_timeout_ms: Milliseconds = 10_000  # TCP, TLS and proxy together, per attempt
    read_timeout_ms: Milliseconds = 20_000  # the longest silence of a server
    connection_attempts: AtLeastOne = 3  # 003: connection errors only, within timeout_ms
    # before the second attempt at one address; then doubled
    retry_wait_ms: MillisecondsOrZero = 500
    # kept for reuse, over all hosts; an idle TLS one has 128 KB
    max_idle_connections: NotNegative = 256
    tls_sessions: NotNegative = 4_096  # hosts whose TLS session is kept for resumption
    dns_timeout_ms: Milliseconds = 5_000
    dns_resolver: Literal["c-ares", "system"] = "c-ares"
    # at most; the system's resolver does not tell how long an answer holds
    dns_cache_sec: NotNegativeNumber = 300.0
    dns_cache_hosts: NotNegative = 10_000
    ca_file: str | None = None  # PEM; None: the machine's own trust store
    content_types: tuple[str, ...] = ()  # of feeds, the only ones that are read; (): what parses
    only_hosts: tuple[str, ...] = ()  # FEEDMILL_EGRESS_ONLY_HOSTS: ask no other host; (): any
    # FEEDMILL_EGRESS_ALLOW_CIDRS: the only way to reach private addresses
    allow_cidrs: tuple[str, ...] = ()


class HostConfig(Value):
    """Politeness towards hosts (002 §8, D24)."""

    max_concurrency: AtLeastOne = 1  # HOST_MAX_CONCURRENCY: lanes of one host
    rps: NotNegativeNumber = 1.0  # HOST_RPS: requests per second; 0 is no limit
    min_gap_ms: MillisecondsOrZero = 1_000  # from the end of one fetch to the start of the next
    max_slow_down: Factor = 32.0
    # this many fetches in a row that fail alike are the host's fault
    incident_after: AtLeastOne = 3
    incident_base_sec: NotNegativeNumber = 60.0
    incident_cap_sec: NotNegativeNumber = 3_600.0
    retry_after_max_sec: NotNegativeNumber = 604_800.0
    lanes: tuple[str, ...] = ()  # host=n: a big host is worked by n at once, each with n gaps


class RunConfig(Value):
    """The poll loop of a worker."""

    concurrency: AtLeastOne = 64  # lanes at work at once in one process
    lease_sec: PositiveNumber = 120.0
    feeds_per_claim: AtLeastOne = 20  # of one lane
    idle_sec: PositiveNumber = 1.0  # how often to look for due lanes when there are none
    drain_sec: NotNegativeNumber = 8.0  # what SIGTERM grants to fetches under way
    # larger documents are hashed and compared off the event loop
    parse_in_thread_bytes: NotNegative = 262_144
    # for large documents while they are read and committed, over all lanes
    memory_mb: AtLeastOne = 256


class JobsConfig(Value):
    """Background jobs (D42)."""

    concurrency: NotNegative = 8  # steps at once in one process; 0: this process runs none


class BackfillConfig(Value):
    """Walking the archives of feeds (RFC 5005); off unless a feed or a tag asks for it."""

    tags: tuple[str, ...] = ()  # feeds with one of these tags are backfilled
    max_pages: AtLeastOne = 200  # of one feed
    host_pages_per_day: AtLeastOne = 500
    pages_per_day: AtLeastOne = 5_000  # at all hosts
    webhooks: bool = True  # send the events of archived entries to webhooks
    wordpress: bool = True  # try ?paged=N where the generator is WordPress and robots.txt allows it


class PushConfig(Value):
    """WebSub: subscriptions to hubs, and the hub of our own metafeeds (D41)."""

    public_url: HttpUrl | None = None  # where hubs reach the listener; None: no hub is asked
    host: str = "127.0.0.1"  # of the listener, behind a reverse proxy
    port: Port = 8644  # 0: this process does not listen
    body_bytes: AtLeastOne = 10 * 1024 * 1024
    pings_per_sec: NotNegativeNumber = 5.0  # of one subscription, over time; 0 is no limit
    lease_sec: WholeSeconds = 864_000  # asked for; a hub may grant at most 14 days
    verify_sec: PositiveNumber = 900.0  # a hub that has not verified by then is given up
    trust_after: AtLeastOne = 3  # entries in a row that came by push
    safety_poll_sec: WholeSeconds = 86_400  # how often a feed with a trusted hub is polled
    push_only_poll_sec: WholeSeconds = 604_800  # how often a feed with push_only is polled
    # a thin ping brings no poll forward sooner after the last one
    hint_gap_sec: NotNegativeNumber = 60.0
    hub: bool = False  # be the hub of our own metafeeds, at /hub of the REST server


class QuotaConfig(Value):
    """What one feed may bring (D40); 0 is no limit. A feed may have a multiple of it of its own."""

    entries_per_poll: NotNegative = 10_000  # new ones of one document; the others wait
    entries_per_day: NotNegative = 20_000  # new ones
    bytes_per_day: NotNegative = 100 * 1024 * 1024  # of new and changed entries in the database
    revisions_per_entry: NotNegative = 50  # earlier texts that are kept
    identities_per_entry: NotNegative = 50  # ids and links under which an entry is recognised
    identities_per_feed: NotNegative = 500_000  # of entries that retention has deleted
    raw_bytes: NotNegative = 256 * 1024 * 1024  # of kept raw documents, as stored


class RetentionConfig(Value):
    """D13."""

    seen_ttl_days: DaysOrZero = 30
    raw_keep_last: NotNegative = 50  # documents of each feed
    raw_keep_days: DaysOrZero = 90
    raw_keep_samples: NotNegative = 10  # of each feed: repaired or unreadable, whatever their age
    revisions_keep_days: Days = 365  # earlier texts of entries
    identities_keep_days: Days = 730  # of entries whose content retention has deleted
    decisions_keep: NotNegative = 0  # of each feed; 0: as long as its fetches
    fetches_keep_days: Days = 30
    events_keep_days: Days = 30  # that every reader with a cursor has read
    unread_events_keep_days: Days = 90  # a reader further behind does not hold the log
    figures_keep_days: Days = 180  # of each feed by the day, of all feeds by the hour, then the day
    # of all feeds by the hour; those of one feed are its fetches
    figures_keep_hours_days: Days = 35
    arrivals_keep_days: Days = 400  # when entries came out, for simulations
    merge_undo_days: NotNegative = 30  # how long a merge of two feeds by hand can be undone


class DiscoveryConfig(Value):
    """Search for the feeds of a page."""

    budget: Annotated[int, Meta(ge=0, le=100)] = 12  # requests of one search
    rules_file: str | None = None  # TOML with platform rules of your own


class MovesConfig(Value):
    """D6: when a feed is believed to live elsewhere."""

    sightings: AtLeastOne = 3
    quarantine_hours: FloatDays = 48.0  # from the first sighting to the last
    retry_days: FloatDays = 7.0  # after a proof that failed, and before an address that was left
    https_probe_days: FloatDays = 30.0  # how often an http feed is tried by https; 0 is never
    missing_after_failures: AtLeastOne = 3  # a 404 counts as gone from this failure in a row on
    missing_after_hours: FloatDays = 24.0  # and this long after the last success


class StoreConfig(Value):
    home: str = "feedmill-data"  # FEEDMILL_HOME
    segment_bytes: AtLeastOne = 64 * 1024 * 1024
    segment_age_sec: NotNegativeNumber = 3_600.0
    # sealed segments are re-encoded once they hold this much
    pack_bytes: AtLeastOne = 16 * 1024 * 1024
    synchronous: Literal["normal", "full"] = "normal"  # full: sync every commit
    readers: Annotated[int, Meta(ge=1, le=256)] = 4  # threads that read the database
    patience_sec: NotNegativeNumber = 60.0  # for another program that holds the database
    # from the last pointer into a segment to its end
    segment_grace_sec: NotNegativeNumber = 3_600.0
    raw_copies: bool = False  # write out/raw/<day>/<fetch_id>.blob beside the NDJSON files
    tap_format: Literal["plain", "cloudevents"] = "plain"  # of NDJSON files and standard output
    event_source: str = "urn:feedmill"  # who CloudEvents say they come from; a URI
    # FEEDMILL_STORE_URL, DATABASE_URL: postgresql://…; None: SQLite in home
    url: StoreUrl | None = None
    connections: Annotated[int, Meta(ge=1, le=1_000)] = 10  # of one process to PostgreSQL
    pooled: bool = False  # a pooler in transaction mode stands before PostgreSQL
    timeout_sec: PositiveNumber = 60.0  # for one statement on PostgreSQL, and for a connection
    # how long worker, api and relay wait for `feedmill migrate`
    migrate_wait_sec: NotNegativeNumber = 300.0


class BlobsConfig(Value):
    """Raw documents on object storage instead of local disk."""

    url: str | None = None  # s3://bucket/prefix, gs://, az://, file:///; None: raw/ in the home
    batch_bytes: AtLeastOne = 4 * 1024 * 1024  # bodies gathered into one object
    linger_ms: NotNegativeNumber = 50.0  # how long a body waits for others
    timeout_ms: Milliseconds = 30_000  # for one request
    connect_timeout_ms: Milliseconds = 5_000
    retry_sec: NotNegativeNumber = 20.0  # how long one request is tried again


class AccessConfig(Value):
    """Rate limits of one caller."""

    requests_per_sec: NotNegativeNumber = 50.0  # of one token, over time; 0 is no limit
    burst: AtLeastOne = 100  # at once


class WebhookConfig(Value):
    """Webhook delivery."""

    batch_events: AtLeastOne = 100  # in one request
    batch_bytes: AtLeastOne = 524_288  # of one body; a single event may be larger
    timeout_ms: Milliseconds = 15_000  # for the whole of one request
    max_attempts: AtLeastOne = 20  # then the batch goes to the dead letters: about nine hours
    backoff_base_sec: PositiveNumber = 5.0  # after the first failure; then doubled
    backoff_cap_sec: NotNegativeNumber = 3_600.0
    retry_after_max_sec: NotNegativeNumber = 86_400.0
    look_sec: PositiveNumber = 1.0  # how often the log and the list of webhooks are looked at
    lease_sec: PositiveNumber = 30.0  # how long one of several processes delivers to a webhook


class GrpcConfig(Value):
    """Limits of the gRPC server."""

    max_request_bytes: AtLeastOne = 1024 * 1024
    max_metadata_bytes: AtLeastOne = 16 * 1024  # of one call, the token included
    page_bytes: AtLeastOne = 3_500_000  # of one answer; clients accept 4 MiB by default
    call_sec: PositiveNumber = 30.0  # for one answer, whatever deadline the caller has
    max_calls: AtLeastOne = 1_000  # at once
    max_watchers: NotNegative = 200  # at once, of all callers
    stall_sec: PositiveNumber = 60.0  # a stream that is not read for so long is cut
    recheck_sec: PositiveNumber = 10.0  # how soon a revoked token ends a stream
    keepalive_sec: PositiveNumber = 60.0  # a silent connection is probed this often
    min_ping_sec: PositiveNumber = 10.0  # a client that probes more often is sent away


class ServeConfig(Value):
    """The REST server (D30)."""

    host: str = "127.0.0.1"
    port: Port = 8642
    hosts: tuple[str, ...] = ()  # other names by which requests may call it, behind a proxy, say
    body_bytes: AtLeastOne = 1_048_576
    import_bytes: AtLeastOne = 5 * 1024 * 1024
    max_connections: AtLeastOne = 1_000
    max_streams: NotNegative = 200
    header_timeout_sec: PositiveNumber = 10.0
    body_timeout_sec: PositiveNumber = 30.0
    send_timeout_sec: PositiveNumber = 30.0  # a reader that takes nothing for so long is cut off
    keep_alive_sec: PositiveNumber = 30.0
    # between signs of life of a stream on which nothing happens
    heartbeat_sec: PositiveNumber = 15.0
    look_ms: Milliseconds = 100  # how often the log is polled while a request waits for it


class HealthConfig(Value):
    """The health server of a role: /livez, /readyz, /metrics."""

    host: str = "127.0.0.1"  # 0.0.0.0 where probes come from outside, as in a container
    port: Port = 0  # 0: nowhere


class MetaFeedConfig(Value):
    """Collections as feeds for readers."""

    # when a reader asks for no other number; at most 200
    page_entries: Annotated[int, Meta(ge=1, le=200)] = 50
    max_age_sec: WholeSecondsOrZero = 300  # how long a reader may keep a page without asking
    # the public URL of the server, when it differs from the requested one
    base_url: HttpUrl | None = None
    hub_url: HttpUrl | None = None  # a WebSub hub that is notified of changes


class ScreenConfig(Value):
    """How candidates are screened by meaning (001)."""

    keep_at: Ratio = 0.5  # a score from here on suggests keep
    drop_below: Ratio = 0.25  # a score below suggests drop; between the two: unsure
    batch: AtLeastOne = 256  # texts that a local method is given at once
    model_dir: str | None = None  # None: models/ in the home folder
    encoder: str = "use-m"  # or the path or URL of an ONNX sentence encoder
    encoder_sha256: str = ""  # of that file
    encoder_languages: tuple[str, ...] = ()  # that another encoder reads; empty: all
    embeddings_url: str | None = None  # instead: an OpenAI-compatible endpoint, up to and with /v1
    embeddings_model: str = ""
    threads: NotNegative = 0  # of the embedding model; 0 is one per core
    llm_url: HttpUrl | None = None  # an OpenAI-compatible endpoint, up to and with /v1
    llm_model: str = ""
    llm_allow_cidrs: tuple[str, ...] = ()  # private networks that the endpoint may be in
    llm_timeout_ms: Milliseconds = 60_000  # for one request
    llm_batch: AtLeastOne = 8  # texts in one request
    llm_concurrency: AtLeastOne = 4
    llm_max_calls: NotNegative = 200  # in one run
    llm_max_tokens: NotNegative = 400_000  # in one run, asked and answered; counted from characters
    llm_max_invalid: AtLeastOne = 4  # answers in a row that cannot be used, then it is left alone
    llm_retry_after_max_sec: NotNegativeNumber = 30.0
    audit_ratio: Ratio = 0.02  # of the clear cases that the LLM looks at all the same


class McpConfig(Value):
    """The MCP server: how a person is asked, and how much one answer holds."""

    # terminal: a person answers with `feedmill confirm` or in the console. client: the agent's own
    # program shows the question and answers it; feedmill cannot tell whether a person saw it.
    ask: Literal["terminal", "client"] = "terminal"
    question_hours: FloatDays = 24.0  # how long a question waits for its answer
    ticket_minutes: FloatDays = 15.0  # from a yes to the insertion
    page_items: AtLeastOne = 50  # of one answer, by default
    text_chars: NotNegative = 600  # of one summary in a list; the whole is a question away
    window_sources: AtLeastOne = 500  # of one collection
    windows_keep: NotNegative = 50  # collected windows; the oldest go first
    call_sec: PositiveNumber = 600.0  # for one call, whatever it has to fetch


class ObserveConfig(Value):
    """Traces of polls, for an OpenTelemetry collector, and labels of metrics."""

    otlp_endpoint: OtlpUrl | None = None  # OTLP over HTTP; None: traces are off
    trace_ratio: Ratio = 0.01  # of polls without an error; those with one are always exported
    service_name: str = "feedmill"  # under which traces appear
    metrics_top_feeds: Annotated[int, Meta(ge=0, le=1_000)] = 0  # feeds and hosts with own series


class FullTextConfig(Value):
    """Full texts of the web pages of entries (002, D19); off unless a feed or a tag opts in."""

    tags: tuple[str, ...] = ()  # feeds with one of these tags get full texts
    max_per_poll: NotNegative = 20  # new entries of one poll whose pages are fetched
    pages_per_host_day: NotNegative = 500
    pages_per_day: NotNegative = 20_000
    max_page_bytes: AtLeastOne = 5 * 1024 * 1024
    min_words: NotNegative = 50  # a shorter text is not better than the feed's own
    processes: Annotated[int, Meta(ge=1, le=256)] = 1  # that extract
    deadline_sec: Annotated[float, Meta(ge=0.1, le=3_600)] = 10.0  # to extract one page
    # for one process, beyond what its libraries take
    memory_mb: Annotated[int, Meta(ge=64, le=1_000_000)] = 512


class ClustersConfig(Value):
    """Clusters: the same story in several feeds (002); off by default."""

    enabled: bool = False
    tags: tuple[str, ...] = ()  # only feeds with one of these tags; none: all feeds
    # how long after it came in an entry is compared with new ones
    window_days: Annotated[int, Meta(ge=1, le=90)] = 14
    max_entries: Annotated[int, Meta(ge=2, le=1_000_000)] = 200  # of one cluster


class SearchConfig(Value):
    """Full-text search over title, summary and content, and over full texts where asked for."""

    enabled: bool = True  # new entries are indexed


class MediaConfig(Value):
    """Files of entries, such as podcast episodes; off unless a feed or a tag opts in."""

    tags: tuple[str, ...] = ()  # the files of feeds with one of these tags are downloaded
    types: tuple[str, ...] = ("audio/*", "video/*")  # that are wanted, the preferred one first
    newest: NotNegative = 10  # entries of a feed whose files are kept; 0: all
    max_file_bytes: AtLeastOne = 1024 * 1024 * 1024
    quota_bytes: AtLeastOne = 10 * 1024 * 1024 * 1024  # all files together; the oldest go first
    concurrency: AtLeastOne = 2  # downloads at once in one process, one per host
    bytes_per_sec: NotNegative = 4 * 1024 * 1024  # of all downloads; 0: no limit
    files_per_host_day: AtLeastOne = 500
    timeout_sec: Annotated[float, Meta(ge=1, le=LONGEST_SEC)] = 14_400.0  # for one file


class BusConfig(Value):
    """Where the log is relayed to, for programs that read a bus (D29)."""

    url: str | None = None  # nats://, tls://, redis://, rediss://, valkey://, valkeys://, kafka://
    stream: str = "feedmill"  # of NATS, Redis and Valkey; the topic of Kafka
    content_mode: Literal["binary", "structured"] = "binary"  # of CloudEvents
    payload: Literal["compact", "full"] = "compact"  # full: with whole entries
    window: AtLeastOne = 500  # events on their way at once; all are acknowledged before the next
    timeout_sec: PositiveNumber = 10.0  # to connect, and for the acknowledgements of one window
    look_sec: PositiveNumber = 0.2  # how often the log is looked at
    # larger data stays in the log, and the message says where
    max_event_bytes: AtLeastOne = 900_000
    # NATS: of a stream that is made; Redis, Valkey: copies that are waited for
    replicas: AtLeastOne = 1
    max_age_days: FloatDays = 30.0  # NATS: of a stream that is made; 0 is no limit
    duplicate_window_sec: NotNegativeNumber = 120.0  # NATS: of a stream that is made
    # Redis, Valkey: the stream is cut to about so many; 0 is no limit
    max_events: NotNegative = 1_000_000
    creds_file: str | None = None  # NATS: a credentials file
    ca_file: str | None = None  # PEM; None: the machine's own trust store


class Config(Value):
    parse: ParseLimits = ParseLimits()
    normalise: NormaliseConfig = NormaliseConfig()
    identify: IdentifyConfig = IdentifyConfig()
    schedule: ScheduleConfig = ScheduleConfig()
    fetch: FetchConfig = FetchConfig()
    host: HostConfig = HostConfig()
    run: RunConfig = RunConfig()
    jobs: JobsConfig = JobsConfig()
    backfill: BackfillConfig = BackfillConfig()
    push: PushConfig = PushConfig()
    quota: QuotaConfig = QuotaConfig()
    retention: RetentionConfig = RetentionConfig()
    moves: MovesConfig = MovesConfig()
    discovery: DiscoveryConfig = DiscoveryConfig()
    store: StoreConfig = StoreConfig()
    blobs: BlobsConfig = BlobsConfig()
    access: AccessConfig = AccessConfig()
    webhook: WebhookConfig = WebhookConfig()
    grpc: GrpcConfig = GrpcConfig()
    serve: ServeConfig = ServeConfig()
    health: HealthConfig = HealthConfig()
    metafeed: MetaFeedConfig = MetaFeedConfig()
    screen: ScreenConfig = ScreenConfig()
    mcp: McpConfig = McpConfig()
    bus: BusConfig = BusConfig()
    observe: ObserveConfig = ObserveConfig()
    fulltext: FullTextConfig = FullTextConfig()
    clusters: ClustersConfig = ClustersConfig()
    search: SearchConfig = SearchConfig()
    media: MediaConfig = MediaConfig()
