"""Frozen settings with defaults that work; each part is handed its slice and nothing else.

Names follow the seeds where a seed gives one (002 §6.1 and §8, 003 §6).
"""
# Tested in tests/unit/adapters/test_settings.py

from typing import Annotated, Literal

from msgspec import Meta

from feedmill.model.base import Value

AtLeastOne = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]


class ParseLimits(Value):
    """Ceilings for one document (D16, D28); far above anything measured in real feeds."""

    max_bytes: int = 10 * 1024 * 1024
    max_tags: int = 400_000  # in a document over 1 MB; in JSON, values
    max_attributes: int = 300_000  # in a document over 1 MB
    max_items: int = 10_000
    max_xml_depth: Annotated[int, Meta(ge=8)] = (
        256  # MAX_XML_DEPTH; the parser follows no more than 256
    )
    max_values: int = 1_000  # repeated elements of one kind in one entry
    strict_encodings: bool = False  # restrict declared labels to allowed_encodings too (003)
    allowed_encodings: tuple[str, ...] = (
        "utf-8",
        "utf-16",
        "iso-8859-1",
        "windows-1252",
        "ascii",
    )
    encoding_confidence_min: float = 0.8
    encoding_sample_size: int = 10_240


class NormaliseConfig(Value):
    """003 §6."""

    enabled: bool = True  # NORMALIZE_ENABLED: without it texts stay as published
    title_max_chars: int = 1_000
    summary_max_chars: int = 4_000  # SUMMARY_MAX_LEN
    content_max_chars: int = 512_000  # before sanitising; nh3 is quadratic in nesting
    html_max_depth: int = 200
    max_categories: int = 256
    max_authors: int = 64
    author_emails: Literal["keep", "hash", "remove"] = "keep"  # 002 §11; raw documents keep them
    max_enclosures: int = 256
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
    hash_summary_prefix_len: int = 100  # 003 HASH_SUMMARY_PREFIX_LEN
    constant_guid_ratio: float = 0.5  # D8: a guid on this share of the items is no guid
    constant_guid_min_items: int = 3  # two items may be two versions of one (RFC 4287 4.1.1)
    rekey_ratio: float = 0.5  # D9: most guids new, links and titles as before
    rekey_min_items: int = 3  # fewer are single changes, not a re-key
    legacy_guid_across_feeds: bool = False  # let an equal guid and link merge entries of two feeds
    history_rewritten_ratio: float = 0.5  # this share of the document's known texts changed at once
    history_rewritten_min_items: int = 10


class ScheduleConfig(Value):
    """002 §6.1, and the price of a request (D34)."""

    policy: Literal["budget", "seed"] = "budget"  # seed: 002 §6 as written, guarded by D20
    price_sec: float = 2_700.0  # budget: how long unseen entries wait together before a poll
    whole_document_price: float = 4.0  # times the price, for a feed that never answers 304
    late_price_max: float = 16.0  # times the price at most, while the host's lane is late
    quiet_max_interval_sec: int = 0  # budget: ceiling of feeds that are silent; 0: the usual one
    initial_interval_sec: int = 900
    min_interval_sec: int = 300
    max_interval_sec: int = 86_400
    up_factor: float = 1.25
    down_factor: float = 0.75
    ewma_alpha: float = 0.3
    blend_lambda: float = 0.5
    jitter_ratio: float = 0.15
    backoff_base: float = 2.0
    backoff_cap_sec: int = 3_600
    error_budget: float = (
        0.4  # share of polls that may fail after a success; then the circuit opens
    )
    ewma_window: int = 20
    retry_after_max_sec: int = 604_800  # a Retry-After beyond a week is read as a week
    suspect_after_failures: int = 10  # D24: this many in a row, or one 410
    gone_after_sec: int = 86_400  # D24: the second 410 counts when it comes this much later


class FetchConfig(Value):
    """002 §8 and D27, D28."""

    user_agent: str = "feedmill/0.1 (+https://feedmill.example/bot)"
    robots_product: str = "feedmill"  # the product token of RFC 9309 2.2.1
    timeout_ms: int = 30_000
    max_redirects: int = 5
    max_body_bytes: int = 10 * 1024 * 1024
    max_wire_bytes: int = 10 * 1024 * 1024
    max_header_bytes: int = 65_536
    min_bytes_per_sec: int = 1_024
    min_throughput_window_sec: int = 10
    accept_encodings: tuple[str, ...] = ("gzip", "deflate", "br", "zstd")  # that we decode bounded
    allow_downgrade: bool = False  # follow a redirect from https to http
    robots_max_bytes: int = 512_000  # RFC 9309 2.5: at least 500 KiB
    crawl_delay_max_sec: float = 60.0
    connect_timeout_ms: int = 10_000  # TCP, TLS and proxy together, per attempt
    read_timeout_ms: int = 20_000  # the longest silence of a server
    connection_attempts: int = 3  # 003: connection errors only, within timeout_ms
    retry_wait_ms: int = 500  # before the second attempt at one address; then doubled
    max_idle_connections: int = 256  # kept for reuse, over all hosts; an idle TLS one has 128 KB
    tls_sessions: int = 4_096  # hosts whose TLS session is kept for resumption
    dns_timeout_ms: int = 5_000
    dns_resolver: Literal["c-ares", "system"] = "c-ares"
    dns_cache_sec: float = (
        300.0  # at most; the system's resolver does not tell how long an answer holds
    )
    dns_cache_hosts: int = 10_000
    ca_file: str | None = None  # PEM; None: the machine's own trust store
    content_types: tuple[str, ...] = ()  # of feeds, the only ones that are read; (): what parses
    only_hosts: tuple[str, ...] = ()  # FEEDMILL_EGRESS_ONLY_HOSTS: ask no other host; (): any
    allow_cidrs: tuple[
        str, ...
    ] = ()  # FEEDMILL_EGRESS_ALLOW_CIDRS: the only way to reach private addresses


class HostConfig(Value):
    """Politeness towards hosts (002 §8, D24)."""

    max_concurrency: int = 1  # HOST_MAX_CONCURRENCY: lanes of one host
    rps: float = 1.0  # HOST_RPS: requests per second; 0 is no limit
    min_gap_ms: int = 1_000  # from the end of one fetch to the start of the next
    max_slow_down: float = 32.0
    incident_after: int = 3  # this many fetches in a row that fail alike are the host's fault
    incident_base_sec: float = 60.0
    incident_cap_sec: float = 3_600.0
    retry_after_max_sec: float = 604_800.0
    lanes: tuple[str, ...] = ()  # host=n: a big host is worked by n at once, each with n gaps


class RunConfig(Value):
    """The poll loop of a worker."""

    concurrency: int = 64  # lanes at work at once in one process
    lease_sec: float = 120.0
    feeds_per_claim: int = 20  # of one lane
    idle_sec: float = 1.0  # how often to look for due lanes when there are none
    drain_sec: float = 8.0  # what SIGTERM grants to fetches under way
    parse_in_thread_bytes: int = 262_144  # larger documents leave the event loop
    memory_mb: int = 256  # for large documents while they are read and committed, over all lanes


class JobsConfig(Value):
    """Background jobs (D42)."""

    concurrency: int = 8  # steps at once in one process; 0: this process runs none


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

    public_url: str | None = None  # where hubs reach the listener; None: no hub is asked
    host: str = "127.0.0.1"  # of the listener, behind a reverse proxy
    port: int = 8644  # 0: this process does not listen
    body_bytes: AtLeastOne = 10 * 1024 * 1024
    pings_per_sec: float = 5.0  # of one subscription, over time; 0 is no limit
    lease_sec: AtLeastOne = 864_000  # asked for; a hub may grant at most 14 days
    verify_sec: float = 900.0  # a hub that has not verified by then is given up
    trust_after: AtLeastOne = 3  # entries in a row that came by push
    safety_poll_sec: AtLeastOne = 86_400  # how often a feed with a trusted hub is polled
    push_only_poll_sec: AtLeastOne = 604_800  # how often a feed with push_only is polled
    hint_gap_sec: float = 60.0  # a thin ping brings no poll forward sooner after the last one
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

    seen_ttl_days: int = 30
    raw_keep_last: int = 50  # documents of each feed
    raw_keep_days: int = 90
    raw_keep_samples: int = 10  # of each feed: repaired or unreadable, whatever their age
    revisions_keep_days: AtLeastOne = 365  # earlier texts of entries
    identities_keep_days: AtLeastOne = 730  # of entries whose content retention has deleted
    decisions_keep: NotNegative = 0  # of each feed; 0: as long as its fetches
    fetches_keep_days: AtLeastOne = 30
    events_keep_days: AtLeastOne = 30  # that every reader with a cursor has read
    unread_events_keep_days: AtLeastOne = 90  # a reader further behind does not hold the log
    figures_keep_days: AtLeastOne = (
        180  # of each feed by the day, of all feeds by the hour, then the day
    )
    figures_keep_hours_days: AtLeastOne = (
        35  # of all feeds by the hour; those of one feed are its fetches
    )
    arrivals_keep_days: AtLeastOne = 400  # when entries came out, for simulations


class MovesConfig(Value):
    """D6: when a feed is believed to live elsewhere."""

    sightings: int = 3
    quarantine_hours: float = 48.0  # from the first sighting to the last
    retry_days: float = 7.0  # after a proof that failed, and before an address that was left
    https_probe_days: float = 30.0  # how often an http feed is tried by https; 0 is never
    missing_after_failures: int = 3  # a 404 counts as gone from this failure in a row on
    missing_after_hours: float = 24.0  # and this long after the last success


class StoreConfig(Value):
    home: str = "feedmill-data"  # FEEDMILL_HOME
    segment_bytes: int = 64 * 1024 * 1024
    segment_age_sec: float = 3_600.0
    pack_bytes: int = 16 * 1024 * 1024  # sealed segments are re-encoded once they hold this much
    synchronous: Literal["normal", "full"] = "normal"  # full: sync every commit
    readers: int = 4  # threads that read the database
    patience_sec: float = 60.0  # for another program that holds the database
    segment_grace_sec: float = 3_600.0  # from the last pointer into a segment to its end
    raw_copies: bool = False  # write out/raw/<day>/<fetch_id>.blob beside the NDJSON files
    tap_format: Literal["plain", "cloudevents"] = "plain"  # of NDJSON files and standard output
    event_source: str = "urn:feedmill"  # who CloudEvents say they come from; a URI
    url: str | None = None  # FEEDMILL_STORE_URL, DATABASE_URL: postgresql://…; None: SQLite in home
    connections: int = 10  # of one process to PostgreSQL
    pooled: bool = False  # a pooler in transaction mode stands before PostgreSQL
    timeout_sec: float = 60.0  # for one statement on PostgreSQL, and for a connection
    migrate_wait_sec: float = 300.0  # how long worker, api and relay wait for `feedmill migrate`


class BlobsConfig(Value):
    """Raw documents on object storage instead of local disk."""

    url: str | None = None  # s3://bucket/prefix, gs://, az://, file:///; None: raw/ in the home
    batch_bytes: int = 4 * 1024 * 1024  # bodies gathered into one object
    linger_ms: float = 50.0  # how long a body waits for others
    timeout_ms: int = 30_000  # for one request
    connect_timeout_ms: int = 5_000
    retry_sec: float = 20.0  # how long one request is tried again


class AccessConfig(Value):
    """Rate limits of one caller."""

    requests_per_sec: float = 50.0  # of one token, over time; 0 is no limit
    burst: int = 100  # at once


class WebhookConfig(Value):
    """Webhook delivery."""

    batch_events: int = 100  # in one request
    batch_bytes: int = 524_288  # of one body; a single event may be larger
    timeout_ms: int = 15_000  # for the whole of one request
    max_attempts: int = 20  # then the batch goes to the dead letters: about nine hours
    backoff_base_sec: float = 5.0  # after the first failure; then doubled
    backoff_cap_sec: float = 3_600.0
    retry_after_max_sec: float = 86_400.0
    look_sec: float = 1.0  # how often the log and the list of webhooks are looked at
    lease_sec: float = 30.0  # how long one of several processes delivers to a webhook


class GrpcConfig(Value):
    """Limits of the gRPC server."""

    max_request_bytes: int = 1024 * 1024
    max_metadata_bytes: int = 16 * 1024  # of one call, the token included
    page_bytes: int = 3_500_000  # of one answer; clients accept 4 MiB by default
    call_sec: float = 30.0  # for one answer, whatever deadline the caller has
    max_calls: int = 1_000  # at once
    max_watchers: int = 200  # at once, of all callers
    stall_sec: float = 60.0  # a stream that is not read for so long is cut
    recheck_sec: float = 10.0  # how soon a revoked token ends a stream
    keepalive_sec: float = 60.0  # a silent connection is probed this often
    min_ping_sec: float = 10.0  # a client that probes more often is sent away


class ServeConfig(Value):
    """The REST server (D30)."""

    host: str = "127.0.0.1"
    port: int = 8642
    hosts: tuple[str, ...] = ()  # other names by which requests may call it, behind a proxy, say
    body_bytes: int = 1_048_576
    import_bytes: int = 5 * 1024 * 1024
    max_connections: int = 1_000
    max_streams: int = 200
    header_timeout_sec: float = 10.0
    body_timeout_sec: float = 30.0
    send_timeout_sec: float = 30.0  # a reader that takes nothing for so long is cut off
    keep_alive_sec: float = 30.0
    heartbeat_sec: float = 15.0  # between signs of life of a stream on which nothing happens
    look_ms: int = 100  # how often the log is polled while a request waits for it


class HealthConfig(Value):
    """The health server of a role: /livez, /readyz, /metrics."""

    host: str = "127.0.0.1"  # 0.0.0.0 where probes come from outside, as in a container
    port: int = 0  # 0: nowhere


class MetaFeedConfig(Value):
    """Collections as feeds for readers."""

    page_entries: int = 50  # when a reader asks for no other number; at most 200
    max_age_sec: int = 300  # how long a reader may keep a page without asking
    base_url: str | None = (
        None  # the public URL of the server, when it differs from the requested one
    )
    hub_url: str | None = None  # a WebSub hub that is notified of changes


class ScreenConfig(Value):
    """How candidates are screened by meaning (001)."""

    keep_at: float = 0.5  # a score from here on suggests keep
    drop_below: float = 0.25  # a score below suggests drop; between the two: unsure
    batch: int = 256  # texts that a local method is given at once
    model_dir: str | None = None  # None: models/ in the home folder
    threads: int = 0  # of the embedding model; 0 is one per core
    llm_url: str | None = None  # an OpenAI-compatible endpoint, up to and with /v1
    llm_model: str = ""
    llm_allow_cidrs: tuple[str, ...] = ()  # private networks that the endpoint may be in
    llm_timeout_ms: int = 60_000  # for one request
    llm_batch: int = 8  # texts in one request
    llm_concurrency: int = 4
    llm_max_calls: int = 200  # in one run
    llm_max_tokens: int = 400_000  # in one run, asked and answered; counted from characters
    llm_max_invalid: int = 4  # answers in a row that cannot be used, then it is left alone
    llm_retry_after_max_sec: float = 30.0
    audit_ratio: float = 0.02  # of the clear cases that the LLM looks at all the same


class McpConfig(Value):
    """The MCP server: how a person is asked, and how much one answer holds."""

    ask: Literal["client", "terminal"] = "client"  # terminal: never through the agent's own program
    question_hours: float = 24.0  # how long a question waits for its answer
    ticket_minutes: float = 15.0  # from a yes to the insertion
    page_items: int = 50  # of one answer, by default
    text_chars: int = 600  # of one summary in a list; the whole is a question away
    window_sources: int = 500  # of one collection
    windows_keep: int = 50  # collected windows; the oldest go first
    call_sec: float = 600.0  # for one call, whatever it has to fetch


class ObserveConfig(Value):
    """Traces of polls, for an OpenTelemetry collector, and labels of metrics."""

    otlp_endpoint: str | None = None  # base address of OTLP over HTTP; None: traces are off
    trace_ratio: float = 0.01  # of polls without an error; those with one are always exported
    service_name: str = "feedmill"  # under which traces appear
    metrics_top_feeds: Annotated[int, Meta(ge=0, le=1_000)] = 0  # feeds and hosts with own series


class FullTextConfig(Value):
    """Full texts of the web pages of entries (002, D19); off unless a feed or a tag opts in."""

    tags: tuple[str, ...] = ()  # feeds with one of these tags get full texts
    max_per_poll: int = 20  # new entries of one poll whose pages are fetched
    pages_per_host_day: int = 500
    pages_per_day: int = 20_000
    max_page_bytes: int = 5 * 1024 * 1024
    min_words: int = 50  # a shorter text is not better than the feed's own
    processes: int = 1  # that extract
    deadline_sec: float = 10.0  # to extract one page
    memory_mb: int = 512  # for one process, beyond what its libraries take


class ClustersConfig(Value):
    """Clusters: the same story in several feeds (002); off by default."""

    enabled: bool = False
    tags: tuple[str, ...] = ()  # only feeds with one of these tags; none: all feeds
    window_days: int = 14  # how long after it came in an entry is compared with new ones
    max_entries: int = 200  # of one cluster


class MediaConfig(Value):
    """Files of entries, such as podcast episodes; off unless a feed or a tag opts in."""

    tags: tuple[str, ...] = ()  # the files of feeds with one of these tags are downloaded
    types: tuple[str, ...] = ("audio/*", "video/*")  # that are wanted, the preferred one first
    newest: Annotated[int, Meta(ge=0)] = 10  # entries of a feed whose files are kept; 0: all
    max_file_bytes: AtLeastOne = 1024 * 1024 * 1024
    quota_bytes: AtLeastOne = 10 * 1024 * 1024 * 1024  # all files together; the oldest go first
    concurrency: AtLeastOne = 2  # downloads at once in one process, one per host
    bytes_per_sec: Annotated[int, Meta(ge=0)] = 4 * 1024 * 1024  # of all downloads; 0: no limit
    files_per_host_day: AtLeastOne = 500
    timeout_sec: Annotated[float, Meta(ge=1)] = 14_400.0  # for one file


class BusConfig(Value):
    """Where the log is relayed to, for programs that read a bus (D29)."""

    url: str | None = None  # nats://, tls://, redis://, rediss://, valkey://, valkeys://, kafka://
    stream: str = "feedmill"  # of NATS, Redis and Valkey; the topic of Kafka
    content_mode: Literal["binary", "structured"] = "binary"  # of CloudEvents
    window: int = 500  # events on their way at once; all are acknowledged before the next
    timeout_sec: float = 10.0  # to connect, and for the acknowledgements of one window
    look_sec: float = 0.2  # how often the log is looked at
    max_event_bytes: int = 900_000  # larger data stays in the log, and the message says where
    replicas: int = 1  # NATS: of a stream that is made; Redis, Valkey: copies that are waited for
    max_age_days: float = 30.0  # NATS: of a stream that is made; 0 is no limit
    duplicate_window_sec: float = 120.0  # NATS: of a stream that is made
    max_events: int = 1_000_000  # Redis, Valkey: the stream is cut to about so many; 0 is no limit
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
    media: MediaConfig = MediaConfig()
