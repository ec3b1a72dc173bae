"""Search for the feeds of a page: which URLs to request, in which order, and when to stop.

It has no I/O: it yields `Ask` and is sent `Seen`. What the page declares comes first, then the
platform's rules, the anchors that look like feeds, and the well-known paths, each only where nothing before
it is alive. A declared feed that is dead does not end the search, and neither does one without entries; of
the well-known paths the first feed does. The search ends early when a host is rate limiting,
when the site answers every guess with a page, and when the budget is spent.

Handles of the fediverse: `@user@host` leads to a profile page by WebFinger (RFC 7033).

The host may answer for accounts that live on another one, so the page is asked for and not guessed; where
there is no answer it is the page that Mastodon and its relatives have.
"""

import re
from collections.abc import Generator, Iterable, Sequence
from typing import Any, Final, Literal

import msgspec

from feedmill.canonicalise.discovery import page_links
from feedmill.canonicalise.discovery.html_page import HtmlPage, plain_url
from feedmill.canonicalise.discovery.platforms import PlatformRules, shipped_rules
from feedmill.canonicalise.search_log import asked, is_answered
from feedmill.canonicalise.urls import split_url
from feedmill.model.base import Value
from feedmill.model.canonical import Ask, Asked, Found, FoundFeed, FoundReason, RequestRole, Seen

DISALLOWED: Final = "robots-disallowed"  # what `Seen.reason` says when robots.txt forbids it
DEFAULT_BUDGET: Final = 12  # requests: all well-known paths of a site, and one declared feed
_COMMENTS: Final = 2
_CATCH_ALL: Final = 2  # guesses answered with a page, and none otherwise: so would be the rest
WELL_KNOWN: Final = (
    "feed",
    "rss.xml",
    "atom.xml",
    "feed.xml",
    "index.xml",
    "rss",
    "feed.json",
    "feeds/posts/default",
    "?feed=rss2",
    "feed.atom",
    "rss/feed.xml",
)


FeedsWanted = Literal["first", "choices", "all"]  # all: comments and extras too
_HANDLE: Final = re.compile(r"(?:acct:)?@?([\w.+-]{1,64})@([\w-]{1,63}(?:\.[\w-]{1,63})+)")
_MAX_BYTES: Final = 100_000
_MAX_LINKS: Final = 100
_FEED_TYPES: Final = ("application/atom+xml", "application/rss+xml", "application/feed+json")
_PROFILE: Final = "http://webfinger.net/rel/profile-page"
_UPDATES: Final = "http://schemas.google.com/g/2010#updates-from"


class FindOptions(Value):
    """Limits of a search: the number of requests, how many feeds are wanted, which candidates."""

    budget: int = DEFAULT_BUDGET  # requests
    wanted: FeedsWanted = "choices"
    anchors: bool = True
    guesses: bool = True
    rules: PlatformRules | None = None  # None: those that come with feedmill


DiscoverySteps = Generator[Ask, Seen, Found]


def find_feeds(page: HtmlPage, options: FindOptions | None = None) -> DiscoverySteps:
    """Search a page for feeds; the generator returns what was found and which requests were made."""
    options = options or FindOptions()
    rules = options.rules or shipped_rules()
    platform = (*rules.feeds_of_address(page.url), *rules.feeds_of_page(page))
    anchors = page_links.anchored_feeds(page) if options.anchors else ()
    guesses = guess_feeds(page.url) if options.guesses else ()
    phases: list[tuple[FoundFeed, ...]] = []
    known: tuple[FoundFeed, ...] = ()
    for feeds in (page_links.declared_feeds(page), platform, anchors, guesses):
        together = page_links.distinct_feeds((*known, *feeds))
        phases.append(together[len(known) :])
        known = together
    return (yield from _Search(options).run(phases))


def check_feeds(feeds: Sequence[FoundFeed], options: FindOptions) -> DiscoverySteps:
    """Request the feeds that are known by name: which are alive, best first."""
    return (yield from _Search(options).run((feeds,)))


def guess_feeds(url: str) -> tuple[FoundFeed, ...]:
    """The well-known feed paths beside a page, likeliest first; () for what is no web page.

    The last resort, one request per guess, in the order of how often each path is met; a page's own
    folder and the root of the site take turns. A page close to the root is more likely a site of
    its own (`/blog/`, `/~name/`) than one deep below it, which is an article.
    """
    page = plain_url(url)
    if page is None:
        return ()
    parts = split_url(page)
    origin = page[: -len(parts.path + ("" if parts.query is None else f"?{parts.query}"))]
    urls = (f"{origin}{folder}{name}" for name in WELL_KNOWN for folder in _folders(parts.path))
    return tuple(FoundFeed(url=one, found_by="guess") for one in urls if one != page)


class _Search:
    """One pass through the candidate URLs."""

    def __init__(self, options: FindOptions) -> None:
        self._options = options
        self._left = options.budget
        self._asked: list[Asked] = []
        self._silent: set[tuple[str, str, str]] = set()  # origins that do not answer at all
        self._live: list[FoundFeed] = []
        self._empty: list[FoundFeed] = []  # feeds without entries
        self._untried: list[FoundFeed] = []  # for lack of requests
        self._passed: list[FoundFeed] = []  # because something better is there
        self._stopped: FoundReason | None = None
        self._failed: Seen | None = None
        self._pages = 0  # guesses that were answered with a page

    def run(self, phases: Iterable[Sequence[FoundFeed]]) -> DiscoverySteps:
        """Request one kind of candidate after the other until something is alive, then comments."""
        aside: list[FoundFeed] = []
        for feeds in phases:
            aside += (feed for feed in feeds if self._is_aside(feed))
            plain = [feed for feed in feeds if not self._is_aside(feed)]
            if self._live and self._options.wanted != "all":
                self._passed += plain
            else:
                yield from self._request(plain)
        if self._options.wanted == "all" or not (self._live or self._empty):
            yield from self._request(aside)
        else:
            self._passed += (feed for feed in aside if feed.is_extra)
            self._untried += (feed for feed in aside if not feed.is_extra)
        return self._end()

    def _is_aside(self, feed: FoundFeed) -> bool:
        """Comments are not what a person who gives a page wants, nor are a rule's further feeds."""
        return feed.is_extra or page_links.feed_rank(feed) == _COMMENTS

    def _request(self, feeds: Sequence[FoundFeed]) -> Generator[Ask, Seen, None]:
        for feed in feeds:
            if self._is_useless(feed):
                self._passed.append(feed)
                continue
            if self._left <= 0:
                self._stopped = self._stopped or "budget-spent"
            if self._stopped is not None:
                self._untried.append(feed)
                continue
            seen = yield Ask(url=feed.url, role=_role(feed))
            self._note(feed, seen)

    def _is_useless(self, feed: FoundFeed) -> bool:
        """Whether a request would bring nothing that is wanted."""
        is_guess = feed.found_by == "guess"
        if self._live and (is_guess or self._options.wanted == "first"):
            return True
        if is_guess and self._pages >= _CATCH_ALL:
            return True
        return _origin(feed.url) in self._silent

    def _note(self, feed: FoundFeed, seen: Seen) -> None:
        self._left -= int(seen.spent)
        if seen.spent and seen.status is None:
            self._silent.add(_origin(feed.url))
        self._asked.append(asked(feed.url, _role(feed), seen))
        if seen.status == 429 or seen.reason == "rate-limited":
            self._stopped = "rate-limited"
        if seen.is_feed:
            is_empty = seen.facts is not None and not seen.facts.entries
            (self._empty if is_empty else self._live).append(feed)
        elif feed.found_by in ("header", "link"):
            self._failed = self._failed or seen
        elif feed.found_by == "guess":
            self._pages += int(is_answered(seen))

    def _end(self) -> Found:
        found = sorted(self._live, key=_is_comments) + sorted(self._empty, key=_is_comments)
        offered = [one for one in self._untried if _role(one) != "guess"]
        feeds = tuple(sorted((*found, *offered), key=_is_comments))
        rest = tuple(one for one in (*self._untried, *self._passed) if one not in offered)
        return Found(
            feeds=feeds,
            reason=self._reason(is_declared=bool(feeds)),
            asked=tuple(self._asked),
            untried=rest,
            failed=self._failed,
        )

    def _reason(self, *, is_declared: bool) -> FoundReason:
        if self._live or self._empty:
            return "proven"
        if self._stopped == "budget-spent" and is_declared:
            return "declared"
        if self._stopped is not None:
            return self._stopped
        if self._pages >= _CATCH_ALL:
            return "catch-all"
        was_forbidden = any(one.verdict == DISALLOWED for one in self._asked)
        return "disallowed" if was_forbidden else "nothing-found"


def _role(feed: FoundFeed) -> RequestRole:
    if feed.found_by in ("header", "link"):
        return "declared"
    return "platform" if feed.is_published else "guess"


def _is_comments(feed: FoundFeed) -> bool:
    return page_links.feed_rank(feed) == _COMMENTS


def _origin(url: str) -> tuple[str, str, str]:
    parts = split_url(url)
    return parts.scheme, parts.host, parts.port


def _folders(path: str) -> tuple[str, ...]:
    """The folders to look into; a last segment without a dot is a folder."""
    segments = [segment for segment in path.split("/") if segment]
    if segments and not path.endswith("/") and "." in segments[-1]:
        segments.pop()
    own = "".join(f"/{segment}" for segment in segments) + "/"
    if own == "/":
        return ("/",)
    return (own, "/") if len(segments) == 1 else ("/", own)


def is_handle(text: str) -> bool:
    """Whether the text is an account of the fediverse, such as `@ada@social.example`."""
    return _HANDLE.fullmatch(text.strip()) is not None


def webfinger_url(handle: str) -> str:
    """Where the host of a handle says which pages belong to it."""
    user, host = _parts(handle)
    account = user.replace("+", "%2B")
    return f"https://{host}/.well-known/webfinger?resource=acct:{account}@{host}"


def usual_page(handle: str) -> str:
    """The profile page that most servers have."""
    user, host = _parts(handle)
    return f"https://{host}/@{user}"


def page_of_account(body: bytes) -> str | None:
    """The feed or the profile page that a WebFinger answer names; None for what is none."""
    try:
        document: Any = msgspec.json.decode(body[:_MAX_BYTES])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # wrong octets, deep nesting
        return None
    links = document.get("links") if isinstance(document, dict) else None
    if not isinstance(links, list):
        return None
    named = [link for link in links[:_MAX_LINKS] if isinstance(link, dict)]
    feeds = [one for one in named if one.get("rel") == _UPDATES or one.get("type") in _FEED_TYPES]
    pages = [one for one in named if one.get("rel") == _PROFILE]
    for link in (*feeds, *pages):
        href = link.get("href")
        url = plain_url(href) if isinstance(href, str) else None
        if url is not None:
            return url
    return None


def _parts(handle: str) -> tuple[str, str]:
    found = _HANDLE.fullmatch(handle.strip())
    assert found is not None
    return found[1], found[2].lower()
