"""Collections as feeds: Atom 1.0, RSS 2.0 and JSON Feed 1.1 of the same entries.

One table for whoever serves them; each format has a file of its own, and what they have in common
is in `metafeed_items`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, get_args

from feedmill.model.event import StoredEntry
from feedmill.publish.metafeeds.atom import atom
from feedmill.publish.metafeeds.items import MetaFeed, Source
from feedmill.publish.metafeeds.json import json_feed
from feedmill.publish.metafeeds.rss import rss

__all__ = ["FORMATS", "Format", "MetaFeed", "Source", "Written", "atom", "json_feed", "rss"]

Format = Literal["atom", "rss", "json"]


class Written(NamedTuple):
    """How a format is written, and what it is called in Content-Type and in type attributes."""

    write: Callable[[MetaFeed, Sequence[StoredEntry], Mapping[str, Source] | None], bytes]
    media_type: str
    content_type: str
    name: str
    label: str  # the same in one word, for names in programs


FORMATS: Final[Mapping[Format, Written]] = {
    "atom": Written(
        atom, "application/atom+xml", "application/atom+xml; charset=utf-8", "Atom 1.0", "Atom"
    ),
    "rss": Written(
        rss, "application/rss+xml", "application/rss+xml; charset=utf-8", "RSS 2.0", "Rss"
    ),
    # JSON is always UTF-8 (RFC 8259 8.1).
    "json": Written(
        json_feed, "application/feed+json", "application/feed+json", "JSON Feed 1.1", "Json"
    ),
}
assert tuple(FORMATS) == get_args(Format)
