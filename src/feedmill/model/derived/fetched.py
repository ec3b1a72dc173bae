"""What is fetched for entries and kept apart from them: texts of their web pages (D19), and files (enclosures)."""
# Tested in tests/unit/test_extract.py
# Tested in tests/unit/media/

from datetime import datetime
from typing import Literal, get_args

from feedmill.model.base import Value

FullTextFailure = Literal[
    "no-text",  # the page has nothing that looks like a text
    "too-short",  # fewer words than [fulltext] min_words
    "shorter-than-feed",  # the feed's own content says more
    "paywall",  # only the beginning is free to read
    "not-html",
    "empty-page",
    "too-large",
    "deadline",  # extracting took too long
    "out-of-memory",
    "extractor-crashed",
    "robots",  # robots.txt forbids the page
    "no-link",
    "unreachable",  # the last attempt to fetch it failed; `detail` says how
]
MediaState = Literal["queued", "stored", "failed", "pruned"]
MEDIA_STATES: tuple[MediaState, ...] = get_args(MediaState)

MediaFailure = Literal[
    "not-media",  # a web page or another text instead of the file
    "too-large",  # more than max_file_bytes
    "integrity",  # not the digest that the feed names
    "truncated",  # it ends too early, each time
    "empty",
    "encoded",  # a content-coding that was not asked for
    "quota",  # no room, and everything that is kept is newer
    "not-wanted",  # the feed has opted out meanwhile
    "unreachable",  # the last attempt to fetch it failed; `detail` says how
]


class PageTask(Value):
    """A page to extract the text of."""

    body: bytes
    url: str  # where it was served; relative addresses are joined with it
    content_type: str | None = None
    selector: str | None = None  # CSS, or XPath when it begins with / or (
    max_chars: int = 512_000  # of the HTML that comes out
    max_depth: int = 200


class ExtractedText(Value):
    """The text of a page."""

    html: str
    words: int
    extractor: str  # trafilatura or selector
    version: str  # of the extractor and of our use of it: a new one can be replayed
    title: str | None = None
    author: str | None = None
    published: str | None = None  # a day, as the page says it
    language: str | None = None
    paywalled: bool = False
    canonical_url: str | None = None  # what the page says is its address


class NoFullText(Value):
    """Why there is no full text; the feed's own content stays."""

    reason: FullTextFailure
    detail: str = ""


class FullText(Value):
    """The full text of an entry as it is stored, or why there is none."""

    entry_uid: str
    feed_id: str
    url: str  # asked for
    final_url: str
    fetched_at: datetime
    extracted_at: datetime
    state: Literal["extracted", "failed"]
    reason: FullTextFailure | None = None  # of a failure
    detail: str = ""
    http_status: int | None = None
    content_type: str | None = None
    body_sha256: str | None = None  # of the page, which is kept like a feed's documents
    title: str | None = None
    author: str | None = None
    published: str | None = None
    language: str | None = None
    paywalled: bool = False
    words: int = 0
    html: str | None = None  # sanitised
    extractor: str | None = None
    version: str | None = None
    selector: str | None = None
    canonical_url: str | None = None  # what the page calls itself (rel=canonical)


class MediaRules(Value):
    """Which files of a feed are wanted."""

    types: tuple[str, ...]  # patterns such as audio/*, the first is preferred
    max_bytes: int
    newest: int  # entries of a feed whose files are kept; 0: all


class WantedFile(Value):
    """A file that the rules select."""

    media_id: str
    entry_uid: str
    feed_id: str
    url: str
    published_at: datetime  # of the entry: the oldest goes first
    type: str | None = None  # as the feed says
    length: int | None = None
    integrity: str | None = None  # a digest in the form of W3C Subresource Integrity


class MediaItem(WantedFile, kw_only=True):
    """A file of an entry: wanted, kept, or why not."""

    state: MediaState
    queued_at: datetime
    received_bytes: int = 0  # of a download under way
    ended_at: datetime | None = None  # stored, failed or pruned
    final_url: str | None = None
    http_status: int | None = None
    media_type: str | None = None  # as its first bytes say
    sha256: str | None = None
    size_bytes: int | None = None
    path: str | None = None  # readable name under media/shows
    reason: MediaFailure | None = None  # of a failure
    detail: str = ""


class MediaFilter(Value):
    """Which files are listed."""

    feed_id: str | None = None
    entry_uid: str | None = None
    state: MediaState | None = None


class MediaFile(Value):
    """One content that is kept, however many entries have it."""

    sha256: str
    size_bytes: int
    newest_at: datetime | None = None  # the newest of its entries


class MediaUsage(Value):
    """How much is kept."""

    files: int = 0
    size_bytes: int = 0
    reserved_bytes: int = 0  # for downloads under way


class PartialState(Value):
    """What is known of a file while it arrives; a resumed download asks with it."""

    etag: str | None = None
    last_modified: str | None = None
    total: int | None = None  # its whole length, if the server named it
    boot: str = ""  # after a power cut the bytes on disk are not to be trusted
