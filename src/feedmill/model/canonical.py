"""Canonicalisation and discovery: questions, answers and verdicts of a search (seed 004).

The search itself has no I/O. It asks (`Ask`, `Lookup`) and is answered (`Seen`, `Existing`), so
that everything it decided can be replayed and shown to a person.
"""
# Tested in tests/unit/engine/subscribe/test_canonicalise.py

from datetime import datetime
from typing import Any, Literal

from feedmill.model.base import Value
from feedmill.model.parsed import FeedFormat

RequestRole = Literal[
    "input",
    "bare",
    "rewrite",
    "self",
    "probe",
    "variant",
    "upgrade",
    "declared",  # the page itself names it as a feed
    "platform",  # where a platform says that the feed of such a page is
    "guess",  # where we think that a feed may be: robots.txt has a say
]
CanonicalSource = Literal["input", "response", "self"]
Proof = Literal["content", "signature"]
CanonicalReason = Literal[
    "response_url",  # where the server answered, and nothing cleaner is thinkable
    "redirect_verified",  # another of its addresses redirects here
    "content_verified",  # asked separately, and the same bytes came
    "signature_verified",  # asked separately, and the same feed came in other bytes
    "upgrade_https",  # the same feed by https
    "exists_in_db",  # the caller knows it by this address
    "fallback",  # cleaner addresses are thinkable, but none was proven
]


class Ask(Value):
    """The search wants this URL fetched; no URL is asked for twice."""

    url: str
    role: RequestRole


class Lookup(Value):
    """The search wants to know whether one of these addresses is known already, best first."""

    urls: tuple[str, ...]
    after_fetch: bool = False


class FeedFacts(Value):
    """What a document says of its feed: for a person who chooses, and to compare formats of one feed."""

    format: FeedFormat
    title: str = ""
    site: str = ""  # its home page without scheme, `www.` and slash
    language: str | None = None
    entries: int = 0
    last_post: datetime | None = None
    items: tuple[tuple[str, str], ...] = ()  # link and title of the newest entries, newest first
    links: tuple[str, ...] = ()  # of the newest entries, as published
    guids: tuple[str, ...] = ()  # of those without a link
    # link and enclosure's file name of the newest entries that have a file
    files: tuple[tuple[str, str], ...] = ()
    text_chars: int = 0  # of all entries together
    dated: int = 0  # entries with a date
    named: int = 0  # entries with an id
    has_hub: bool = False


class Seen(Value):
    """What came back for one URL, as far as the search is concerned."""

    url: str
    final_url: str
    status: int | None = None
    is_feed: bool = False  # 2xx, and the document could be read
    digest: str | None = None  # of the body
    signature: str | None = None  # of the feed, see canonicalise/same_feed.py
    self_urls: tuple[str, ...] = ()  # the Link header's, then the document's own, as declared
    is_temporary: bool = False  # some hop was no permanent redirect
    spent: bool = True  # False: refused before anything was sent
    reason: str = ""  # why it is no feed: a stable word
    detail: str = ""  # the same for a person
    facts: FeedFacts | None = None  # None: no feed, or the caller reads feeds himself


class Existing(Value):
    """An address that the caller knows, and whatever the caller remembers with it."""

    url: str
    data: Any = None


class Candidate(Value):
    """An address that was thought of."""

    url: str
    cleanliness: float
    source: CanonicalSource
    preset: str = ""  # the policy that proposed it; empty: as it was found
    verdict: str = "not tried"


class Asked(Value):
    """One request with its answer, and what it meant for the search."""

    url: str
    role: RequestRole
    final_url: str
    status: int | None
    verdict: str
    detail: str = ""


class Canonical(Value):
    """The one right address: fetched and proven, or vouched for by the caller."""

    url: str
    reason: CanonicalReason
    requests: int  # without the first one
    source: CanonicalSource
    preset: str = ""
    level: int = 0  # of the preset, as seed 004 counts: 0 is "as it was found"
    input_url: str = ""
    response_url: str = ""
    self_url: str | None = None
    existing: Existing | None = None
    proven: tuple[str, ...] = ()  # every address that was seen to serve this feed
    candidates: tuple[Candidate, ...] = ()
    asked: tuple[Asked, ...] = ()


class NotCanonical(Value):
    """No feed was found at the address; `reason` is countable, `detail` is for a person."""

    reason: str
    detail: str = ""
    input_url: str = ""
    status: int | None = None
    requests: int = 0
    asked: tuple[Asked, ...] = ()
    first: Seen | None = None  # what the address answered, for discovery


FoundBy = Literal[
    "header",  # a Link header of the page
    "link",  # a link element of the page
    "platform",  # a platform rule, shipped or of your own
    "anchor",  # an ordinary link of the page
    "guess",  # a well-known path
    "list",  # an outline of an OPML list
    "address",  # the given address is the feed
]


class FoundFeed(Value):
    """A feed that a page leads to; best first in every list. What was requested says what it is."""

    url: str
    found_by: FoundBy
    title: str | None = None
    type: str | None = None  # the media type: declared, or of what was served
    is_comments: bool = False
    rule: str = ""  # the platform rule that proposed it
    is_published: bool = False  # the rule is the platform's own word, no guess of ours
    is_extra: bool = False  # listed, but never a reason to ask which one is wanted
    is_fetched: bool = False  # it was requested and is a feed; what follows is known only then
    format: str | None = None
    entries: int | None = None
    last_post: datetime | None = None
    language: str | None = None
    cleanliness: float | None = None  # of its address
    alternatives: tuple[str, ...] = ()  # the same feed in other formats
    chosen_for: str = ""  # why this format and not one of the alternatives


FoundReason = Literal[
    "declared",  # the page names its feeds; no request was left to look at them
    "proven",  # the first one was asked for and is a feed
    "nothing-found",  # everything that came to mind was asked, and nothing is a feed
    "budget-spent",  # there was more to ask than requests to spend
    "rate-limited",  # the host asked for patience
    "disallowed",  # robots.txt forbids the page or something that was left to ask
    "catch-all",  # the site answers every address with a page, so guessing is useless
]


class Found(Value):
    """What a page leads to, what was asked on the way, and why the search ended."""

    feeds: tuple[FoundFeed, ...]  # best first: live ones, empty ones, comments
    reason: FoundReason
    asked: tuple[Asked, ...] = ()
    untried: tuple[FoundFeed, ...] = ()  # thought of, and not asked for
    failed: Seen | None = None  # the answer of the first declared feed that is none


class Discovered(Value):
    """What an address leads to, without a subscription: every feed, what was tried, what it cost."""

    url: str  # as asked for, put right
    reason: FoundReason
    words: str  # why the search ended, for a person
    requests: int  # robots.txt and redirects included
    feeds: tuple[FoundFeed, ...] = ()
    tried: tuple[Asked, ...] = ()
    untried: tuple[str, ...] = ()
