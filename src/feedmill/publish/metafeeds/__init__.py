"""Collections as feeds: Atom 1.0, RSS 2.0 and JSON Feed 1.1 of the same entries.

One table of formats for the servers; each format has a file of its own, and what they have in common
is in `items.py` and `xml.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, get_args

from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds.atom import write_atom
from feedmill.publish.metafeeds.items import EntrySource, MetaFeed
from feedmill.publish.metafeeds.json import write_json_feed
from feedmill.publish.metafeeds.rss import write_rss

__all__ = [
    "FORMATS",
    "EntrySource",
    "MetaFeed",
    "MetaFeedFormat",
    "MetaFeedWriter",
    "write_atom",
    "write_json_feed",
    "write_rss",
]

MetaFeedFormat = Literal["atom", "rss", "json"]


class MetaFeedWriter(NamedTuple):
    """How a format is written, and what it is called in Content-Type and in type attributes."""

    write: Callable[[MetaFeed, Sequence[StoredEntry], Mapping[str, EntrySource] | None], bytes]
    media_type: str
    content_type: str
    name: str
    label: str  # the same in one word, for names in programs


FORMATS: Final[Mapping[MetaFeedFormat, MetaFeedWriter]] = {
    "atom": MetaFeedWriter(
        write_atom,
        "application/atom+xml",
        "application/atom+xml; charset=utf-8",
        "Atom 1.0",
        "Atom",
    ),
    "rss": MetaFeedWriter(
        write_rss, "application/rss+xml", "application/rss+xml; charset=utf-8", "RSS 2.0", "Rss"
    ),
    # JSON is always UTF-8 (RFC 8259 8.1).
    "json": MetaFeedWriter(
        write_json_feed, "application/feed+json", "application/feed+json", "JSON Feed 1.1", "Json"
    ),
}
assert tuple(FORMATS) == get_args(MetaFeedFormat)
