"""What a document says, in the publisher's own words.

Nothing here is cleaned, sanitised or believed: text constructs keep their markup, dates are the
strings that stood in the document. Links are resolved against xml:base and the document's URL,
because only the parser knows the base of each element.
"""
# Tested in tests/unit/parse/formats/test_rss.py

from collections.abc import Mapping
from typing import Literal

from feedmill.model.base import Value

FeedFormat = Literal[
    "rss090", "rss091", "rss092", "rss093", "rss094", "rss10", "rss11", "rss20",
    "atom03", "atom10", "json10", "json11",
]  # fmt: skip

UnreadableReason = Literal[
    "empty",  # no bytes, or only white space
    "html-page",  # an ordinary page where a feed was expected
    "login-page",  # a page that asks for credentials
    "bot-wall",  # a challenge page put there to keep programs out
    "error-document",  # an error message in XML, JSON or HTML
    "opml",  # a list of feeds, not a feed
    "binary",  # a picture, an archive, a PDF
    "too-large",  # over ParseLimits.max_bytes, max_tags or max_attributes
    "not-a-feed",  # well-formed XML or JSON, or plain text, of another kind
    "malformed",  # it was meant to be a feed, and nothing could be saved from it
]

RepairCode = Literal[
    "leading-junk",  # text or white space before the first tag was skipped
    "trailing-junk",  # something stood after the end of the document
    "doctype-ignored",  # a DOCTYPE was blanked; entities it declared are not expanded
    "encoding-mismatch",  # a declared encoding did not fit the bytes and another one did
    "encoding-detected",  # nothing usable was declared; the bytes were looked at
    "encoding-replaced",  # some bytes fit no encoding and became U+FFFD
    "characters-restored",  # C1 controls, stray bytes or text encoded twice became their letters
    "illegal-characters",  # characters that XML forbids were removed
    "entities-decoded",  # named HTML entities that XML does not know
    "stray-ampersands",  # a bare & was read as text
    "markup-recovered",  # the XML was not well-formed; the parser closed what was open
    "items-salvaged",  # entries were read one by one from a broken document
    "truncated",  # the document ends in the middle; its cut entry was dropped
    "items-capped",  # more entries than ParseLimits.max_items
    "depth-capped",  # markup deeper than max_xml_depth, at most 256 levels, was cut off
    "values-capped",  # repeated elements of one entry over ParseLimits.max_values
    "namespace-guessed",  # a known prefix, or the root, was bound to an unknown URI, or to none
    "json-repaired",  # JSON with a byte order mark, NaN, duplicate keys or the like
]


class Unreadable(Value):
    """The document is no feed; `reason` is countable, `detail` is for a person."""

    reason: UnreadableReason
    detail: str = ""


class Repair(Value):
    """Something was wrong and was mended; `detail` says what and where, in words."""

    code: RepairCode
    detail: str = ""


class Slice(Value):
    """Where an entry stands in the raw body, and a digest of it in its context (D14, D31)."""

    offset: int
    length: int
    digest: str


KnownSlices = Mapping[str, int] | frozenset[str]  # digests, with the length of each if it is known


class Text(Value):
    """A text construct. `kind` is what the publisher said: text is text, html and xhtml are markup."""

    value: str
    kind: Literal["text", "html", "xhtml"] = "text"
    base: str | None = None
    lang: str | None = None


class Content(Value):
    """A body of an entry: inline text or markup, or a reference to something elsewhere."""

    value: str
    type: str = "text/html"
    src: str | None = None
    base: str | None = None
    lang: str | None = None


class Link(Value):
    """A link with its relation; `href` is resolved, `rel` is lower case or an absolute URI."""

    href: str
    rel: str = "alternate"
    type: str | None = None
    hreflang: str | None = None
    title: str | None = None
    length: int | None = None


class Person(Value):
    """An author, contributor, editor or owner."""

    name: str | None = None
    email: str | None = None
    uri: str | None = None


class Category(Value):
    """A category or tag; `scheme` is the domain or taxonomy it belongs to."""

    term: str
    scheme: str | None = None
    label: str | None = None


class Enclosure(Value):
    """A file that belongs to the entry."""

    url: str
    type: str | None = None
    length: int | None = None
    title: str | None = None
    duration: int | None = None
    alternate: bool = False  # podcast:alternateEnclosure
    integrity: str | None = None  # podcast:integrity of the type sri


class MediaThumbnail(Value):
    url: str
    width: int | None = None
    height: int | None = None


class MediaContent(Value):
    """One media:content, with what its group or item says about it."""

    url: str | None = None
    type: str | None = None
    medium: str | None = None
    length: int | None = None
    duration: int | None = None
    width: int | None = None
    height: int | None = None
    lang: str | None = None
    title: str | None = None
    description: str | None = None
    credits: tuple[str, ...] = ()
    thumbnails: tuple[MediaThumbnail, ...] = ()


class Geo(Value):
    """Where the entry is: the first point, and every shape as it was written."""

    lat: float | None = None
    lon: float | None = None
    shapes: tuple[tuple[str, str], ...] = ()


class Itunes(Value):
    """The itunes: elements of a channel or an item, as written except where a type is given."""

    title: str | None = None
    subtitle: str | None = None
    summary: str | None = None
    author: str | None = None
    image: str | None = None
    duration: int | None = None  # seconds
    explicit: bool | None = None
    block: bool | None = None
    complete: bool | None = None
    type: str | None = None
    episode: int | None = None
    season: int | None = None
    episode_type: str | None = None
    keywords: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    owner: Person | None = None


class PodcastTranscript(Value):
    url: str
    type: str | None = None
    language: str | None = None
    rel: str | None = None


class PodcastPerson(Value):
    name: str
    role: str | None = None
    group: str | None = None
    img: str | None = None
    href: str | None = None


class Podcast(Value):
    """The podcast: elements of a channel or an item that we model (podcastindex namespace 1.0)."""

    guid: str | None = None
    locked: bool | None = None
    medium: str | None = None
    season: str | None = None
    episode: str | None = None
    chapters_url: str | None = None
    chapters_type: str | None = None
    transcripts: tuple[PodcastTranscript, ...] = ()
    persons: tuple[PodcastPerson, ...] = ()
    soundbites: tuple[tuple[float, float, str], ...] = ()  # start and length in seconds, title
    funding: tuple[tuple[str, str], ...] = ()  # url, text
    alternates: tuple[Enclosure, ...] = ()  # other versions of the enclosure


class InReplyTo(Value):
    """RFC 4685: what the entry answers."""

    ref: str | None = None
    href: str | None = None
    source: str | None = None
    type: str | None = None


class Source(Value):
    """The feed from which the entry was taken (RSS source, atom:source)."""

    id: str | None = None
    title: Text | None = None
    link: str | None = None
    updated: str | None = None
    authors: tuple[Person, ...] = ()


class Image(Value):
    """A picture that stands for the feed."""

    url: str
    title: str | None = None
    link: str | None = None
    width: int | None = None
    height: int | None = None


class Cloud(Value):
    """rssCloud: where to register for pings."""

    domain: str | None = None
    port: str | None = None
    path: str | None = None
    register_procedure: str | None = None
    protocol: str | None = None


class PublisherHints(Value):
    """How often, and when not, the publisher wants to be asked."""

    ttl_minutes: int | None = None
    skip_hours: tuple[int, ...] = ()  # 0..23, GMT
    skip_days: tuple[str, ...] = ()  # Mon..Sun
    update_period: str | None = None  # sy: hourly, daily, weekly, monthly, yearly
    update_frequency: int | None = None
    update_base: str | None = None


class Tombstone(Value):
    """RFC 6721: the publisher withdrew an entry."""

    ref: str
    when: str | None = None
    by: Person | None = None
    comment: str | None = None


class ParsedEntry(Value):
    """One item or entry as its publisher wrote it."""

    id: str | None = None
    id_is_permalink: bool = False
    link: str | None = None
    links: tuple[Link, ...] = ()
    title: Text | None = None
    summary: Text | None = None
    contents: tuple[Content, ...] = ()
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    categories: tuple[Category, ...] = ()
    published: str | None = None
    updated: str | None = None
    created: str | None = None
    expired: str | None = None
    enclosures: tuple[Enclosure, ...] = ()
    media: tuple[MediaContent, ...] = ()
    image: str | None = None
    comments: str | None = None
    comments_feed: str | None = None
    comments_count: int | None = None
    in_reply_to: tuple[InReplyTo, ...] = ()
    source: Source | None = None
    rights: Text | None = None
    publisher: Person | None = None
    external_url: str | None = None
    itunes: Itunes | None = None
    podcast: Podcast | None = None
    geo: Geo | None = None
    base: str | None = None
    lang: str | None = None
    ext: tuple[tuple[str, str], ...] = ()  # ("{namespace}name", text) that we have no field for
    slice: Slice | None = None


class ParsedFeed(Value):
    """A whole document as its publisher wrote it, with the repairs that reading it took."""

    format: FeedFormat
    encoding: str
    encoding_source: Literal["bom", "http", "declaration", "utf-8", "detected", "replaced"]
    id: str | None = None
    title: Text | None = None
    subtitle: Text | None = None
    link: str | None = None
    links: tuple[Link, ...] = ()
    self_url: str | None = None
    hubs: tuple[str, ...] = ()
    next_url: str | None = None
    prev_archive_url: str | None = None
    next_archive_url: str | None = None
    current_url: str | None = None
    complete: bool = False  # RFC 5005 fh:complete
    archive: bool = False  # RFC 5005 fh:archive
    new_feed_url: str | None = None
    expired: bool = False  # JSON Feed: there will be no more
    authors: tuple[Person, ...] = ()
    contributors: tuple[Person, ...] = ()
    publisher: Person | None = None  # RSS webMaster, dc:publisher
    categories: tuple[Category, ...] = ()
    published: str | None = None
    updated: str | None = None
    language: str | None = None
    rights: Text | None = None
    generator: str | None = None
    docs: str | None = None
    image: Image | None = None
    icon: str | None = None
    hints: PublisherHints = PublisherHints()
    cloud: Cloud | None = None
    itunes: Itunes | None = None
    podcast: Podcast | None = None
    geo: Geo | None = None
    tombstones: tuple[Tombstone, ...] = ()
    base: str | None = None
    ext: tuple[tuple[str, str], ...] = ()
    entries: tuple[ParsedEntry, ...] = ()
    touched: tuple[Slice, ...] = ()  # slices whose digest the caller knew already (D31)
    repairs: tuple[Repair, ...] = ()
    truncated: bool = False
