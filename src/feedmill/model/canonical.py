"""Canonicalisation and discovery: questions, answers and verdicts of a search (seed 004).

The search itself has no I/O. It asks (`Ask`, `Lookup`) and is answered (`Seen`, `Existing`), so
that everything it decided can be replayed and shown to a person.
"""
# Tested in tests/unit/engine/subscribe/test_canonicalise.py

from typing import Any, Literal

from feedmill.model.base import Value

RequestRole = Literal[
    "input",
    "bare",
    "rewrite",
    "self",
    "probe",
    "variant",
    "upgrade",
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


class Seen(Value):
    """What came back for one URL, as far as the search is concerned."""

    url: str
    final_url: str
    status: int | None = None
    is_feed: bool = False  # 2xx, and the document could be read
    digest: str | None = None  # of the body
    signature: str | None = None  # of the feed, see canonicalise/signature.py
    self_urls: tuple[str, ...] = ()  # the Link header's, then the document's own, as declared
    new_url: str | None = None  # itunes:new-feed-url
    is_temporary: bool = False  # some hop was no permanent redirect
    spent: bool = True  # False: refused before anything was sent
    reason: str = ""  # why it is no feed: a stable word
    detail: str = ""  # the same for a person


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

    @property
    def tested_urls(self) -> tuple[str, ...]:
        """Everything that was fetched, in order (`debug.testedUrls` of seed 004)."""
        return tuple(one.url for one in self.asked)


class NotCanonical(Value):
    """No feed was found at the address; `reason` is countable, `detail` is for a person."""

    reason: str
    detail: str = ""
    input_url: str = ""
    status: int | None = None
    requests: int = 0
    asked: tuple[Asked, ...] = ()
    first: Seen | None = None  # what the address answered, for discovery


FoundBy = Literal["header", "link", "platform", "anchor", "guess"]


class FoundFeed(Value):
    """A feed that a page leads to, not requested yet; best first in every list."""

    url: str
    found_by: FoundBy
    title: str | None = None
    type: str | None = None  # the media type that was declared
    is_comments: bool = False
    rule: str = ""  # the platform rule that proposed it
    is_published: bool = False  # the rule is the platform's own word, no guess of ours


FoundReason = Literal[
    "declared",  # the page names its feeds; nothing was asked
    "proven",  # the first one was asked for and is a feed
    "nothing-found",  # everything that came to mind was asked, and nothing is a feed
    "budget-spent",  # there was more to ask than requests to spend
    "rate-limited",  # the host asked for patience
    "disallowed",  # robots.txt forbids the page or something that was left to ask
]


class Found(Value):
    """What a page leads to. Only with a proof was a feed asked for, and then it stands first."""

    feeds: tuple[FoundFeed, ...]  # best first; comment feeds last
    reason: FoundReason
    proven: Seen | None = None  # the answer of the first feed
    asked: tuple[Asked, ...] = ()
    untried: tuple[FoundFeed, ...] = ()  # thought of, and neither asked for nor among the feeds
