"""Full texts: what was extracted from the web page of an entry, apart from the entry itself (D19)."""
# Tested in tests/unit/extract/

from datetime import datetime
from typing import Literal

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
