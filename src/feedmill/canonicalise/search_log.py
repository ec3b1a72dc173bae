"""The log of a search: every request, answer and candidate, for its verdict and for `--explain`."""

from collections.abc import Iterable

from msgspec.structs import replace

from feedmill.canonicalise.policies import FeedVariant, adds_only_tracking, cleanliness
from feedmill.canonicalise.urls import http_url, join_url, split_url, strip_userinfo_and_fragment
from feedmill.model.canonical import (
    Asked,
    Candidate,
    Canonical,
    CanonicalReason,
    CanonicalSource,
    Existing,
    NotCanonical,
    Proof,
    RequestRole,
    Seen,
)

_PROVEN: dict[Proof | None, str] = {
    "content": "the same bytes",
    "signature": "the same feed in other bytes",
    None: "another feed",
}


_SOURCES: tuple[CanonicalSource, ...] = ("input", "response", "self")  # the weakest first


class SearchLog:
    """The requests, answers and candidates of one search; its verdict is made from them."""

    def __init__(self, tracking_params: Iterable[str]) -> None:
        self.input_url = ""
        self.response_url = ""
        self.self_url: str | None = None
        self.first: Seen
        self.has_begun = False
        self.requests = 0
        self._tracking_params = tuple(tracking_params)
        self._asked: list[Asked] = []
        self._answers: dict[str, Seen] = {}
        self._proven: dict[str, None] = {}
        self._candidates: dict[str, Candidate] = {}

    @property
    def last(self) -> Seen:
        return self._answers[self._asked[-1].url]

    def score(self, url: str) -> float:
        return cleanliness(url, self._tracking_params)

    def add_candidate(self, variant: FeedVariant, source: CanonicalSource) -> None:
        """Note a spelling that is worth a try, under the best source that proposed it."""
        known = self._candidates.get(variant.url)
        if known is None or _SOURCES.index(source) > _SOURCES.index(known.source):
            self._candidates[variant.url] = Candidate(
                url=variant.url,
                cleanliness=variant.cleanliness,
                source=source,
                preset=variant.policy,
            )

    def answer_of(self, url: str) -> Seen | None:
        """What the URL answered before, so that no URL is requested twice."""
        return self._answers.get(url)

    def has_failed(self, url: str) -> bool:
        """Whether the URL was asked, or no connection to its host and port could be made."""
        if url in self._answers:
            return True
        parts = split_url(url)
        return any(
            seen.status is None
            and seen.spent
            and (other := split_url(asked_url)).scheme == parts.scheme
            and (other.host, other.port) == (parts.host, parts.port)
            for asked_url, seen in self._answers.items()
        )

    def add_answer(self, url: str, role: RequestRole, seen: Seen) -> None:
        """Note a request and its answer."""
        self._answers[url] = seen
        self._asked.append(asked(url, role, seen))
        self.requests += int(self.has_begun and seen.spent)

    def begin(self, first: Seen) -> None:
        """From here on requests count against the budget."""
        self.first = first
        self.has_begun = True
        if first.is_feed:
            self._prove(first)
            # The final URL of a redirect has answered as well.
            final = _open_url(first.final_url)
            if final is not None:
                self._answers.setdefault(final, first)

    def add_proof(self, seen: Seen, proof: Proof | None) -> None:
        """Note what an answer proved."""
        if proof is not None:
            self._prove(seen)
        if seen.is_feed and seen is not self.first:
            self.note(seen.url, _PROVEN[proof])

    def note(self, url: str, verdict: str) -> None:
        """Say in words what an answer meant."""
        self._asked = [
            replace(one, verdict=verdict) if one.url == url else one for one in self._asked
        ]

    def verdict(
        self, url: str, reason: CanonicalReason, *, source: CanonicalSource, preset: str, level: int
    ) -> Canonical:
        """The end of a search that found what it looked for."""
        return Canonical(
            url=url,
            reason=reason,
            requests=self.requests,
            source=source,
            preset=preset,
            level=level,
            input_url=self.input_url,
            response_url=self.response_url,
            self_url=self.self_url,
            proven=tuple(dict.fromkeys((url, *self._proven))),
            candidates=self._judged_candidates(url, source),
            asked=tuple(self._asked),
        )

    def existing(self, known: Existing, source: CanonicalSource) -> Canonical:
        """The end of a search whose answer the caller knew."""
        found = self.verdict(known.url, "exists_in_db", source=source, preset="", level=0)
        return replace(found, existing=known)

    def failure(self, seen: Seen, reason: str, detail: str) -> NotCanonical:
        """The end of a search at an address that is no feed."""
        return NotCanonical(
            reason=reason,
            detail=detail,
            input_url=self.input_url,
            status=seen.status,
            requests=self.requests,
            asked=tuple(self._asked),
            first=seen,
        )

    def _prove(self, seen: Seen) -> None:
        """Both ends of the answer serve this feed."""
        for url in (seen.url, seen.final_url):
            href = _open_url(url)
            if href is not None:
                self._proven[href] = None

    def _judged_candidates(self, chosen: str, source: CanonicalSource) -> tuple[Candidate, ...]:
        """All spellings with what became of them, the cleanest first."""
        words = {one.url: one.verdict for one in self._asked}
        found = dict(self._candidates)
        as_found: tuple[tuple[str, CanonicalSource], ...] = (
            (self.response_url, "response"),
            (chosen, source),
        )
        for url, origin in as_found:
            if url and url not in found:
                found[url] = Candidate(url=url, cleanliness=self.score(url), source=origin)
        judged = [
            replace(one, verdict="chosen" if one.url == chosen else self._word(one, words, source))
            for one in found.values()
        ]
        return tuple(sorted(judged, key=lambda one: -one.cleanliness))

    def _word(self, one: Candidate, words: dict[str, str], source: CanonicalSource) -> str:
        if one.url == self.response_url:
            return "serves the feed; a better one was found"
        # Only the spellings of one source are tried (seed 004).
        is_passed_over = source == "self" and one.source != "self"
        not_tried = "not tried; the feed names another" if is_passed_over else "not tried"
        return words.get(one.url, not_tried)


def asked(url: str, role: RequestRole, seen: Seen) -> Asked:
    """A request with its answer, before the search has drawn a conclusion from it."""
    return Asked(
        url=url,
        role=role,
        final_url=seen.final_url,
        status=seen.status,
        verdict="a feed" if seen.is_feed else seen.reason or "no feed",
        detail=seen.detail,
    )


def is_answered(seen: Seen) -> bool:
    """True for a 2xx answer."""
    return seen.status is not None and 200 <= seen.status < 300


def destination(seen: Seen) -> str:
    """The address that an answer came from; where that is none to keep, the one that was asked."""
    final = http_url(seen.final_url)
    if final is None or split_url(final).userinfo or _is_ticket(seen):
        return seen.url
    if adds_only_tracking(seen.url, final):
        return seen.url  # a campaign or a session makes no better address
    return strip_userinfo_and_fragment(final)


def _is_ticket(seen: Seen) -> bool:
    """Whether a temporary redirect led to another host, or into a session, with its own query: a
    ticket for one visit, not an address.
    """
    asked, final = http_url(seen.url), http_url(seen.final_url)
    if not seen.is_temporary or asked is None or final is None:
        return False
    before, after = split_url(asked), split_url(final)
    is_elsewhere = before.host != after.host or before.path == after.path
    return is_elsewhere and after.query not in (None, before.query)


def _open_url(url: str) -> str | None:
    """The URL without its fragment; None where only credentials opened it."""
    href = http_url(url)
    if href is None or split_url(href).userinfo:
        return None
    return join_url(replace(split_url(href), fragment=None))
