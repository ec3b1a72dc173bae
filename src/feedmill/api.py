"""The library: every pure stage under one short name, documented in docs/reference/library.md."""
# Tested in tests/unit/docs/

from feedmill.canonicalise.pasted_url import resolve_url
from feedmill.canonicalise.policies import canonical_link, cleanliness
from feedmill.config import ParseLimits
from feedmill.fetch.guard import check_url
from feedmill.fetch.headers import parse_retry_after
from feedmill.identify.keys import identity_keys
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import KnownSlices, ParsedFeed, Unreadable
from feedmill.normalise.dates import parse_date
from feedmill.normalise.entry import normalise
from feedmill.normalise.html.sanitise import clean_html
from feedmill.normalise.text import clean_text
from feedmill.parse.document import parse_document
from feedmill.schedule.decide import decide_next_poll

__all__ = [
    "canonical_link",
    "check_url",
    "clean_html",
    "clean_text",
    "cleanliness",
    "decide_next_poll",
    "identity_keys",
    "normalise",
    "parse",
    "parse_date",
    "parse_retry_after",
    "resolve_url",
]

_DEFAULT_LIMITS = ParseLimits()


def parse(
    body: bytes | str,
    *,
    url: str | None = None,
    content_type: str | None = None,
    limits: ParseLimits = _DEFAULT_LIMITS,
    known: KnownSlices = frozenset(),
) -> ParsedFeed | Unreadable:
    """Read a feed in any supported format; never raises on bad input.

    `body` is what the server sent, content-coding removed; text is taken as UTF-8. `url` is the
    address it came from: relative links are resolved against it. `known` are digests of entry
    slices that need not be read again; they come back in `touched`.

    >>> feed = parse(b"<rss><channel><title>News</title></channel></rss>")
    >>> feed.title.value
    'News'
    """
    if isinstance(body, str):
        body = body.encode("utf-8", "replace")
        content_type = "application/xml; charset=utf-8"
    document = RawDocument(body=bytes(body), url=url, content_type=content_type)
    return parse_document(document, limits, known)
