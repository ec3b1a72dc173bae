"""Search for the canonical URL of a feed: the phases of seed 004, without I/O (D4).

    before     does the caller know one of the spellings already?
    fetch      the address that was given; where the server answered is home
    after      the same question with everything that is known by now
    declared   the address that the feed declares, if it proves to be the same feed
    rewritten  the name that its platform prefers
    probed     other addresses that its platform is known for
    cleaned    cleaner spellings, the cleanest first, until one is proven
    upgraded   https instead of http, and the cleaner spellings of that

The search is a generator: it yields an `Ask` or a `Lookup`, is sent a `Seen` or an `Existing`,
and returns its verdict. Whatever it returns was fetched and proven to be the same feed, or the
caller vouched for it.
"""

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from feedmill.canonicalise import policies
from feedmill.canonicalise.pasted_url import (
    ProbeRule,
    Rewrite,
    probed_urls,
    resolve_url,
    rewritten_url,
    starting_urls,
)
from feedmill.canonicalise.policies import FEED_PARAMS
from feedmill.canonicalise.same_feed import same_feed
from feedmill.canonicalise.search_log import SearchLog, destination, is_answered
from feedmill.canonicalise.urls import (
    http_url,
    is_https_version,
    other_scheme,
    split_url,
    strip_userinfo_and_fragment,
)
from feedmill.model import canonical
from feedmill.model.base import Value

SearchQuestion = canonical.Ask | canonical.Lookup
SearchAnswer = canonical.Seen | canonical.Existing | None
T = TypeVar("T")
SearchSteps = Generator[SearchQuestion, SearchAnswer, T]

_SLOW_DOWN = 429
_USERINFO = re.compile(r"//[^/?#]*@")
_REASONS: dict[canonical.Proof, canonical.CanonicalReason] = {
    "content": "content_verified",
    "signature": "signature_verified",
}


class CanonicalOptions(Value):
    """Request budget and preferences of a search (seed 004, configuration options)."""

    budget: int = 3  # requests after the first one
    presets: tuple[str | policies.UrlPolicy, ...] = policies.FEED_PRESETS
    tracking_params: tuple[str, ...] | None = None  # None: ours
    rewrites: tuple[Rewrite, ...] = ()  # the first that knows an address speaks
    probes: tuple[ProbeRule, ...] = ()
    use_signature: bool = True
    prefer_https: bool = True
    prefer_no_www: bool = True


class _Place(Value):
    """An address that serves the feed, and how that is known."""

    url: str
    source: canonical.CanonicalSource
    reason: canonical.CanonicalReason | None = None  # None: where the server answered
    preset: str = ""


_DEFAULTS = CanonicalOptions()


def canonicalise(
    address: str, options: CanonicalOptions = _DEFAULTS
) -> SearchSteps[canonical.Canonical | canonical.NotCanonical]:
    """Search for the canonical address of the feed that an address leads to."""
    walk = _Walk(options)
    starts = starting_urls(address, options.rewrites)
    if not starts:
        text = _USERINFO.sub("//", address.strip())
        detail = f"{text[:200]!r} is no web address" if text else "the address is empty"
        return canonical.NotCanonical(reason="malformed-url", detail=detail, input_url=text)
    walk.log.input_url = next(url for url, role in starts if role == "input")
    spellings = walk.spellings([(url, "input") for url, _ in starts])
    if known := (yield from walk.look_up(spellings, after_fetch=False)):
        return walk.log.existing(known, "input")
    first = yield from walk.begin(starts)
    if not isinstance(first, canonical.Seen):
        return first
    home = yield from walk.settle(first)
    if home is None:
        return walk.log.failure(first, "bad-redirect", "it redirects to no web address")
    return (yield from _search(walk, home))


def _search(walk: "_Walk", home: str) -> SearchSteps[canonical.Canonical | canonical.NotCanonical]:
    """Everything after the first answer: other addresses of the feed, and which of them is best."""
    found: list[tuple[str, canonical.CanonicalSource]] = [(home, "response")]
    found += [(url, "self") for url in walk.declared_urls()]
    spellings = walk.spellings(found)
    if known := (yield from walk.look_up((*spellings, walk.first.url), after_fetch=True)):
        is_declared = known.url not in walk.spellings(found[:1])
        return walk.log.existing(known, "self" if is_declared else "response")
    place = yield from walk.declared(_Place(url=home, source="response"))
    place = yield from walk.rewritten(place)
    place = yield from walk.probed(place)
    place = yield from walk.cleaned(place)
    secure = yield from walk.upgraded(place)
    if secure is not place:  # other spellings may be there by https only
        secure = yield from walk.cleaned(secure)
    return walk.log.verdict(
        secure.url,
        secure.reason or walk.reason_of_staying(),
        source=secure.source,
        preset=secure.preset,
        level=policies.PRESET_LEVELS.get(secure.preset, 0),
    )


class _Walk:
    """One search: what was asked, what came back, and what may still be spent."""

    def __init__(self, options: CanonicalOptions) -> None:
        self.options = options
        self.log = SearchLog(options.tracking_params or FEED_PARAMS)
        self.presets = tuple(_presets(options))
        self.home = ""
        self.redirects_home = False
        self.tried = False
        self.stopped = False  # a server answered 429

    @property
    def first(self) -> canonical.Seen:
        return self.log.first

    def spellings(self, urls: Iterable[tuple[str, canonical.CanonicalSource]]) -> tuple[str, ...]:
        """Every spelling of the addresses, the cleanest of the best source first."""
        spelt: dict[str, None] = {}
        for url, source in urls:
            for variant in self.variants(url):
                self.log.add_candidate(variant, source)
                spelt[variant.url] = None
            spelt[url] = None
        return tuple(spelt)

    def variants(self, url: str) -> tuple[policies.FeedVariant, ...]:
        return policies.feed_variants(
            url, self.presets, tracking_params=self.options.tracking_params
        )

    def look_up(
        self, urls: Sequence[str], *, after_fetch: bool
    ) -> SearchSteps[canonical.Existing | None]:
        """The first of the addresses that the caller knows."""
        answer = yield canonical.Lookup(urls=tuple(dict.fromkeys(urls)), after_fetch=after_fetch)
        return answer if isinstance(answer, canonical.Existing) else None

    def begin(
        self, starts: Sequence[tuple[str, canonical.RequestRole]]
    ) -> SearchSteps[canonical.Seen | canonical.NotCanonical]:
        """The first answer that is a feed.

        A rewritten address that is dead gives way to the original, and https to http where the
        address named no protocol. A page ends the search: other rules find the feeds it leads to.
        """
        seen: canonical.Seen | None = None
        for url, role in starts:
            seen = yield from self.ask(url, role)
            if seen is None:  # a 429 came before
                break
            if seen.is_feed or (role == "input" and is_answered(seen)):
                break
        seen = self.log.last
        self.log.begin(seen)
        if seen.is_feed:
            return seen
        return self.log.failure(seen, seen.reason or "not-a-feed", seen.detail)

    def ask(self, url: str, role: canonical.RequestRole) -> SearchSteps[canonical.Seen | None]:
        """What the URL answers; None when no more requests may be made."""
        if (known := self.log.answer_of(url)) is not None:
            return known
        if self.stopped or (self.log.has_begun and not self.may_spend()):
            return None
        seen = yield canonical.Ask(url=url, role=role)
        assert isinstance(seen, canonical.Seen)
        self.stopped = seen.status == _SLOW_DOWN
        self.log.add_answer(url, role, seen)
        return seen

    def may_spend(self, reserve: int = 0) -> bool:
        return self.log.requests + reserve < self.options.budget

    def settle(self, first: canonical.Seen) -> SearchSteps[str | None]:
        """Where the feed lives as far as the first answer says; None when that is no address.

        Credentials never become part of an address, so an address that was only reached with
        them has to answer without. A temporary redirect to another host that adds a query is a
        ticket for one visit, not an address; so is one that adds nothing but a query.
        """
        final = http_url(first.final_url)
        if final is None:
            return None
        plain = strip_userinfo_and_fragment(final)
        self.home = destination(first)
        if split_url(final).userinfo and (yield from self.proves(plain, "bare")):
            self.home = plain
        self.log.response_url = self.home
        return self.home

    def declared_urls(self) -> tuple[str, ...]:
        """The addresses that the feed declares, resolved; without what cannot be fetched."""
        urls: dict[str, None] = {}
        for text in self.first.self_urls:
            url = resolve_url(text, self.first.final_url)
            if url is not None and text.strip():
                urls[strip_userinfo_and_fragment(url)] = None
        return tuple(urls)

    def declared(self, home: _Place) -> SearchSteps[_Place]:
        """The declared address, when it serves the same feed (phase 3)."""
        for url in self.declared_urls():
            self.log.self_url = self.log.self_url or url
            if url == home.url or (self.options.prefer_https and is_https_version(url, home.url)):
                return home
            insecure: canonical.Seen | None = None
            for address in self.ways_to(url):
                seen = yield from self.ask(address, "self")
                place = self.place_of(seen, home)
                if place is not None:
                    return place
                if seen is not None and self.steps_back(seen, home):
                    insecure = seen  # the publisher's word counts if its twin serves the feed
                elif seen is None or not seen.spent or is_answered(seen):
                    break  # it answers, and is another feed or none: so is its twin
            if insecure is not None:
                self.note_insecure(insecure)
        return home

    def steps_back(self, seen: canonical.Seen, home: _Place) -> bool:
        """Whether the answer is this feed, but would be a step back from https."""
        return self.proof(seen) is not None and self.leaves_https(home, seen.final_url)

    def note_insecure(self, seen: canonical.Seen) -> None:
        """Say why an address that serves the feed by http only was not taken."""
        was_asked = self.log.answer_of(other_scheme(seen.url)) is not None
        words = "is only there by http" if was_asked else "by http; no request was left for https"
        self.log.note(seen.url, words)

    def ways_to(self, url: str) -> Iterator[str]:
        """The platform's name for it, the address itself, and the same on the other scheme."""
        rewritten = rewritten_url(url, self.options.rewrites)
        if rewritten is not None and rewritten != url:
            yield rewritten
        yield url
        yield other_scheme(url)

    def place_of(self, seen: canonical.Seen | None, home: _Place) -> _Place | None:
        """Where a declared address leads to, if that is this feed and no step back from https."""
        proof = self.proof(seen)
        if seen is None or proof is None:
            return None
        target = destination(seen)
        if target == home.url:
            self.redirects_home = True
            return home
        if self.leaves_https(home, target, seen.final_url):  # also where the asked address is kept
            return None
        reason = _REASONS[proof] if target == seen.url else "redirect_verified"
        return _Place(url=target, source="self", reason=reason)

    def rewritten(self, place: _Place) -> SearchSteps[_Place]:
        """The platform's preferred name, if it serves the feed."""
        url = rewritten_url(place.url, self.options.rewrites)
        if url is None or url == place.url:
            return place
        return (yield from self.adopted(place, (url,), "rewrite"))

    def probed(self, place: _Place) -> SearchSteps[_Place]:
        """The first address that the platform is known for and that serves the feed."""
        for probe in self.options.probes:
            for url in probed_urls(probe, place.url):
                if url != place.url:
                    found = yield from self.adopted(place, (url,), "probe")
                    if found is not place:
                        return found
        return place

    def adopted(
        self, place: _Place, urls: Iterable[str], role: canonical.RequestRole
    ) -> SearchSteps[_Place]:
        """The first of the addresses that is this feed and neither leads back nor leaves https."""
        for url in urls:
            seen = yield from self.ask(url, role)
            proof = self.proof(seen)
            if seen is None or proof is None or self.leads_back(seen, place):
                continue
            if self.leaves_https(place, url, seen.final_url):
                self.log.note(url, "is only there by http")
                continue
            return _Place(url=url, source=place.source, reason=_REASONS[proof])
        return place

    def cleaned(self, place: _Place) -> SearchSteps[_Place]:
        """The cleanest spelling that is proven (phases 4 and 5).

        What is left of the budget keeps one request for https, which is worth more.
        """
        reserve = int(self.may_upgrade(place.url) and self.options.budget > 1)
        score = self.log.score(place.url)
        for variant in self.variants(place.url):
            self.log.add_candidate(variant, place.source)
            if variant.url == place.url or variant.cleanliness < score:
                break
            if variant.url == self.home:
                return _Place(
                    url=self.home, source="response", reason="response_url", preset=variant.policy
                )
            self.tried = True
            if self.log.answer_of(variant.url) is None and not self.may_spend(reserve):
                break
            found = yield from self.adopted(place, (variant.url,), "variant")
            if found is not place:
                return replace(found, preset=variant.policy)
        return place

    def upgraded(self, place: _Place) -> SearchSteps[_Place]:
        """The same by https (phase 6); what redirects to http again is not there by https."""
        if not self.wants_upgrade(place.url):
            return place
        self.tried = True
        secure = other_scheme(place.url)
        seen = yield from self.ask(secure, "upgrade")
        if seen is None or self.proof(seen) is None or not seen.final_url.startswith("https:"):
            return place
        return replace(place, url=secure, reason="upgrade_https")

    def wants_upgrade(self, url: str) -> bool:
        return self.options.prefer_https and url.startswith("http:")

    def may_upgrade(self, url: str) -> bool:
        """Whether a request for https may still be worth one."""
        return self.wants_upgrade(url) and not self.log.has_failed(other_scheme(url))

    def proves(self, url: str, role: canonical.RequestRole) -> SearchSteps[bool]:
        seen = yield from self.ask(url, role)
        return self.proof(seen) is not None

    def proof(self, seen: canonical.Seen | None) -> canonical.Proof | None:
        """How the answer proves to be the feed that came first."""
        if seen is None:
            return None
        proof = same_feed(self.first, seen)
        if proof == "signature" and not self.options.use_signature:
            proof = None
        self.log.add_proof(seen, proof)
        return proof

    def leaves_https(self, place: _Place, *urls: str) -> bool:
        """Whether one of the URLs would be a step back from https."""
        is_secure = self.options.prefer_https and place.url.startswith("https:")
        return is_secure and not all(url.startswith("https:") for url in urls)

    def leads_back(self, seen: canonical.Seen, place: _Place) -> bool:
        """Whether the address only redirects to where we are; then it is no better name (D4)."""
        target = destination(seen)
        is_back = target != seen.url and target in (place.url, self.home)
        if is_back:
            self.redirects_home = True
            self.log.note(seen.url, "redirects home")
        return is_back

    def reason_of_staying(self) -> canonical.CanonicalReason:
        """Why it stays where the server answered."""
        if self.redirects_home:
            return "redirect_verified"
        return "fallback" if self.tried else "response_url"


def _presets(options: CanonicalOptions) -> Iterator[policies.UrlPolicy]:
    for preset in options.presets:
        policy = preset if isinstance(preset, policies.UrlPolicy) else policies.POLICIES.get(preset)
        if policy is None:
            # Raises with the names there are.
            policies.feed_variants("https://example.com/", (preset,))
        elif options.prefer_no_www or not policy.strips_www:
            yield policy
        else:
            yield replace(policy, strips_www=False)
