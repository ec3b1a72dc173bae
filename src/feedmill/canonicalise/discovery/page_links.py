"""The feeds that a page links to, best first: declared feeds, then anchors that look like feeds.

Declared is a `Link` header or a link element whose relation is alternate or feed and whose type is
one of a feed; a generic type (or none) only where the address looks like a feed. The order:
comment feeds last, feeds of a part (a category, an author, a search) before them, otherwise as the
page lists them. Of feeds that differ in their format only, Atom comes first (it has to carry ids
and dates), then RSS, RSS 1.0, JSON Feed and generic XML; all of them stay in the list.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from feedmill.canonicalise.discovery.html_page import Element, HtmlPage, plain_url
from feedmill.canonicalise.pasted_url import convert_feed_scheme
from feedmill.canonicalise.policies import canonical_link
from feedmill.canonicalise.same_feed import title_words
from feedmill.canonicalise.urls import HttpUrl, percent_decoded, split_url
from feedmill.model.canonical import FoundBy, FoundFeed

MAX_FEEDS: Final = 50
_MAX_TITLE_CHARS: Final = 200

_FORMATS: Final = {  # the rank of each type: the smaller, the better
    "application/atom+xml": 0, "application/x.atom+xml": 0, "application/x-atom+xml": 0,
    "application/atom": 0, "text/atom+xml": 0, "text/atom": 0,
    "application/rss+xml": 1, "application/x-rss+xml": 1, "application/rss": 1,
    "text/rss+xml": 1, "text/rss": 1,
    "application/rdf+xml": 2,
    "application/feed+json": 3,
}  # fmt: skip
_GENERIC: Final = frozenset(
    ("", "application/xml", "text/xml", "application/json", "application/octet-stream")
)
_XML: Final = frozenset(("", "application/xml", "text/xml"))
_UNKNOWN_FORMAT: Final = 4

_FEED_PATH: Final = re.compile(
    r"(?:/|^)(?:feeds?|rss|rss2|atom|rdf)(?:/|\Z)"
    r"|(?:/|[-_.])(?:feeds?|rss2?|atom|rdf)(?:[-_][a-z0-9-]{1,40})?\.(?:xml|json|php|aspx?|cgi)\Z"
    r"|\.(?:rss|atom|rdf)\Z"
    r"|/(?:index|blog|news|posts?|podcast)\.xml\Z",
    re.IGNORECASE,
)
_FEED_FILE: Final = re.compile(r"\.(?:rss|atom|rdf|xml|json)\Z", re.IGNORECASE)
_FEED_QUERY: Final = re.compile(
    r"(?:^|&)(?:feed=|(?:format|type|alt|output|view)=(?:rss|atom|feed|json ?feed)2?(?:&|\Z)"
    r"|(?:rss|atom)(?:=|&|\Z))",
    re.IGNORECASE,
)
_SURE_FILE: Final = 1  # how unsure an anchor is; 0 for one that says it is a feed
_FEED_HOST: Final = re.compile(r"(?:feeds?\d?|rss|feedproxy)\.")
_FEED_WORDS: Final = re.compile(
    r"\b(?:rss|atom feed|json feed|web ?feed|xml feed)\b", re.IGNORECASE
)
_FEED_SCHEME: Final = re.compile(r"(?:feed|rss|pcast|itpc|podcast):", re.IGNORECASE)
# Addresses that look like feeds and are something else.
_NO_FEED: Final = re.compile(
    r"/wp-json(?:/|\Z)|oembed|/xmlrpc\.php|sitemap|/osd\.xml|opensearch", re.IGNORECASE
)
# Buttons of readers: the feed's address is a part of theirs. Share buttons have the page's.
_READERS: Final = re.compile(
    r"(?:.*\.)?(?:feedly|inoreader|newsblur|netvibes|bloglines|theoldreader|feedbin|subtome"
    r"|add\.my\.yahoo|fusion\.google|validator\.w3)\.(?:com|org)"
)
_SHARING: Final = re.compile(r"(?:.*\.)?(?:facebook|twitter|x|linkedin)\.com")
_INNER_URL: Final = re.compile(r"(?<=.)https?:/{1,2}[^&#]+", re.IGNORECASE | re.DOTALL)

_COMMENTS: Final = re.compile(
    r"\bcomments\b|\bcomment[- ]feed\b|\bkommentar|\bcommentaires?\b|\bcoment[aá]rios?\b"
    r"|\bcommenti\b|\breacties|\bkomentar|\byorum|комментар|コメント|评论|評論|留言|댓글",
    re.IGNORECASE,
)
_COMMENTS_URL: Final = re.compile(
    r"/comments?(?:/|\.|-|_|\Z)|/feeds/\d+/comments|comments-(?:rss|atom)|/replies(?:/|\.)",
    re.IGNORECASE,
)
_PART_URL: Final = re.compile(
    r"/(?:category|categories|tags?|author|search|label|-)/|[?&]s=", re.IGNORECASE
)
_PART: Final = re.compile(r"\b(?:category|tag|author|search results?)\b", re.IGNORECASE)


def declared_feeds(page: HtmlPage) -> tuple[FoundFeed, ...]:
    """The feeds that the page names as its own, by its header and by its link elements."""
    headers = (
        _declared(page, "header", _Claim(one.href, one.rel, one.type, one.title, one.hreflang))
        for one in page.announced
    )
    links = (_declared(page, "link", _claim(element)) for element in page.links)
    return distinct_feeds(_ranked(feed for feed in (*headers, *links) if feed is not None))


def anchored_feeds(page: HtmlPage) -> tuple[FoundFeed, ...]:
    """The anchors that look like feeds, the surest first, the page's own host before others."""
    host = split_url(page.url).host if page.anchors else ""
    rated: list[tuple[int, bool, FoundFeed]] = []
    for element in page.anchors:
        url = _target(page, element.get("href"))
        is_button = url is not None and _READERS.fullmatch(split_url(url).host) is not None
        if url is not None and is_button:
            url = _inner_address(url)
        doubt = (
            None if url is None else _SURE_FILE if is_button else _doubt(element, split_url(url))
        )
        if url is not None and doubt is not None:
            feed = _found(url, "anchor", _media_type(element.get("type")), _label(element))
            rated.append((doubt, split_url(url).host != host, feed))
    rated.sort(key=lambda one: (feed_rank(one[2]), *one[:2]))
    return distinct_feeds(feed for _, _, feed in rated)


def distinct_feeds(feeds: Iterable[FoundFeed]) -> tuple[FoundFeed, ...]:
    """The first of each address, however it is spelt; at most MAX_FEEDS."""
    known: dict[str, FoundFeed] = {}
    for feed in feeds:
        spelling = canonical_link(feed.url, "feed-aggressive") or feed.url
        known.setdefault(spelling.partition("://")[2], feed)
        if len(known) >= MAX_FEEDS:
            break
    return tuple(known.values())


def feed_rank(feed: FoundFeed) -> int:
    """0 for a feed of the whole, 1 for one of a part, 2 for comments."""
    if feed.is_comments:
        return 2
    return int(bool(_PART_URL.search(feed.url) or _PART.search(feed.title or "")))


class _Claim(NamedTuple):
    """What a Link header or a link element says about a feed."""

    href: str
    rel: str
    type: str | None
    title: str | None
    hreflang: str | None


def _claim(element: Element) -> _Claim:
    return _Claim(*(element.get(name) for name in ("href", "rel", "type", "title", "hreflang")))


def _declared(page: HtmlPage, found_by: FoundBy, claim: _Claim) -> FoundFeed | None:
    rels = claim.rel.lower().split()
    if "stylesheet" in rels or not {"alternate", "feed"} & set(rels):
        return None
    url = _target(page, claim.href)
    if url is None or not _is_declared(url, claim, named="feed" in rels):
        return None
    return _found(url, found_by, _media_type(claim.type), claim.title)


def _is_declared(url: str, claim: _Claim, *, named: bool) -> bool:
    """Whether type, relation and address together say "feed"."""
    kind = _media_type(claim.type)
    if kind in _FORMATS:
        # RFC 5023 12.1: one entry is no feed.
        return "type=entry" not in (claim.type or "").lower().replace('"', "")
    if kind not in _GENERIC:
        return False
    if named and not kind:
        return True
    parts = split_url(url)
    is_xml = kind in _XML and parts.path.lower().endswith(".xml")
    # Without a type, a language makes it a translation of the page.
    return (is_xml or _looks_like_feed(parts)) and not (claim.hreflang and not kind)


def _target(page: HtmlPage, href: str) -> str | None:
    """Where a reference leads; None for what is no address, for the page itself, and for no feed."""
    scheme = page.base.partition(":")[0]
    url = plain_url(convert_feed_scheme(href, scheme), page.base) if href else None
    return None if url is None or url == page.url or _NO_FEED.search(url) else url


def _inner_address(url: str) -> str | None:
    """The feed in the address of a reader's button: `feedly.com/i/subscription/feed%2Fhttps%3A…`."""
    found = _INNER_URL.search(percent_decoded(url))
    return None if found is None else plain_url(found[0])


def _doubt(element: Element, parts: HttpUrl) -> int | None:
    """How unsure it is that an anchor leads to a feed, or None when nothing speaks for it."""
    if _SHARING.fullmatch(parts.host):
        return None
    if _media_type(element.get("type")) in _FORMATS or _FEED_SCHEME.match(element.get("href")):
        return 0
    if _looks_like_feed(parts):
        is_file = _FEED_FILE.search(parts.path) or _FEED_QUERY.search(parts.query or "")
        return _SURE_FILE if is_file else 2
    if _FEED_HOST.match(parts.host) and parts.path != "/":
        return 2
    return 3 if _FEED_WORDS.search(f"{element.text} {_label(element)}") else None


def _looks_like_feed(parts: HttpUrl) -> bool:
    return bool(_FEED_PATH.search(parts.path) or _FEED_QUERY.search(parts.query or ""))


def _found(url: str, found_by: FoundBy, kind: str, title: str | None) -> FoundFeed:
    title = " ".join((title or "")[:_MAX_TITLE_CHARS].split())
    is_comments = bool(_COMMENTS.search(title) or _COMMENTS_URL.search(url))
    return FoundFeed(
        url=url, found_by=found_by, title=title or None, type=kind or None, is_comments=is_comments
    )


def _label(element: Element) -> str:
    return element.get("title") or element.get("aria-label") or element.text


def _ranked(feeds: Iterable[FoundFeed]) -> list[FoundFeed]:
    """By standing, then as listed; formats of one feed stand together, the best first."""
    listed = list(feeds)
    groups: dict[str, int] = {}
    for position, feed in enumerate(listed):
        groups.setdefault(title_words(feed.title or ""), position)
    return sorted(
        listed,
        key=lambda feed: (
            feed_rank(feed),
            groups[title_words(feed.title or "")],
            _FORMATS.get(feed.type or "", _UNKNOWN_FORMAT),
        ),
    )


def _media_type(text: str | None) -> str:
    return (text or "").partition(";")[0].strip().lower()
