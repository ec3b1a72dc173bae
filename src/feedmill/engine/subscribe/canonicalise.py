"""Probes one address for the search: guard, host queue, fetch, judge, parse; remembers each answer.

Drives the search for a feed's canonical address: fetches and looks up what the search asks for.

The search (canonicalise/search.py) decides everything. The functions that a caller may bring in
place of ours are those of seed 004: `fetch_fn`, `verify_fn`, `exists_fn`, `hash_fn`.
"""

from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from feedmill.canonicalise.same_feed import body_digest, feed_signature
from feedmill.canonicalise.search import CanonicalOptions, canonicalise
from feedmill.canonicalise.urls import http_url
from feedmill.config import Config
from feedmill.engine.documents.fetch_document import Answer, describe_verdict, fetch_and_judge
from feedmill.engine.ports.io import Clock, Getter
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.engine.subscribe.same_feed import facts_of
from feedmill.fetch.guard import check_url
from feedmill.fetch.headers import header_value, link_headers, links_with_rel
from feedmill.fetch.plan import permanent_target
from feedmill.model.base import Value
from feedmill.model.canonical import Ask, Canonical, Existing, Lookup, NotCanonical, Seen
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import (
    Failed,
    Fresh,
    Gone,
    Headers,
    RawDocument,
    RawResponse,
    Refused,
    Verdict,
)
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document

T = TypeVar("T")
ProbeUrl = Callable[[str], Awaitable[Seen]]
VerifyFunction = Callable[[str], bool | Awaitable[bool]]
ExistsFunction = Callable[
    [Sequence[str]], "Existing | str | Awaitable[Existing | str | None] | None"
]
HashFunction = Callable[[bytes], str | Awaitable[str]]


class ProbeResult(NamedTuple):
    """One probed address with its answer and what was parsed."""

    seen: Seen
    response: RawResponse | None = None  # None: nothing was sent
    verdict: Verdict | None = None
    parsed: ParsedFeed | Unreadable | None = None
    answer: Answer | None = None


class Face(Value):
    """What a caller's own `parse_fn` says of a body; None in its place: no feed."""

    self_url: str | None = None
    signature: str = ""


ParseFunction = Callable[[bytes, str], Face | None]


class Prober:
    """Probes addresses for one search and remembers the answers."""

    def __init__(
        self,
        fetcher: Getter,
        clock: Clock,
        config: Config,
        host_queue: HostQueue,
        *,
        overrides: FeedOverrides | None = None,
        given_url: str = "",
        hash_fn: HashFunction | None = None,
        parse_fn: ParseFunction | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._config = config
        self._host_queue = host_queue
        self._own = overrides or FeedOverrides()
        self._given_url = given_url  # whose host may see the feed's own headers and credentials
        self._hash: HashFunction = hash_fn or body_digest
        self._parse = parse_fn
        self.results: dict[str, ProbeResult] = {}

    async def probe(self, url: str) -> Seen:
        """What the address answers; an address is fetched once."""
        if url not in self.results:
            self.results[url] = await self._probe(url)
        return self.results[url].seen

    async def _probe(self, url: str) -> ProbeResult:
        refused = check_url(url, allow_cidrs=self._config.fetch.allow_cidrs)
        if isinstance(refused, Refused):
            return ProbeResult(_unsent(url, refused.reason, refused.detail))
        if self._is_https_guess(url) and self._host_queue.lacks_https(url):
            return ProbeResult(
                _unsent(url, "connection-failed", "its host does not answer by https")
            )
        answer = await self._host_queue.send(url, lambda: self._fetch(url))
        if isinstance(answer, Failed):
            return ProbeResult(_unsent(url, answer.reason, answer.detail))
        result = await self._read(url, answer.response, answer.verdict)
        return result._replace(answer=answer)

    async def _fetch(self, url: str) -> Answer:
        return await fetch_and_judge(
            url,
            self._own,
            home_url=self._given_url,
            fetcher=self._fetcher,
            clock=self._clock,
            config=self._config.fetch,
        )

    def _is_https_guess(self, url: str) -> bool:
        """Whether https is our own guess: the given address has http."""
        return url.startswith("https:") and self._given_url.startswith("http:")

    async def _read(self, url: str, response: RawResponse, verdict: Verdict) -> ProbeResult:
        if not isinstance(verdict, Fresh):
            reason, detail = describe_verdict(verdict)
            seen = _answered(url, response, reason=reason, detail=detail)
            return ProbeResult(seen, response, verdict)
        body, links = verdict.document.body, links_with_rel(verdict.links, "self")
        parsed: ParsedFeed | Unreadable | None = None
        if self._parse is not None:
            face = self._parse(body, response.final_url) or Unreadable(reason="not-a-feed")
        else:
            document = verdict.document
            parsed, face = await PARSE_THREADS.run(lambda: _parsed(document, self._config))
        if isinstance(face, Unreadable):
            seen = _answered(url, response, reason=face.reason, detail=face.detail)
            return ProbeResult(seen, response, verdict, parsed)
        own_link = (face.self_url,) if face.self_url else ()
        seen = _answered(
            url,
            response,
            is_feed=True,
            digest=await await_if_awaitable(self._hash(body)),
            signature=face.signature,
            self_urls=tuple(dict.fromkeys((*links, *own_link))),
            facts=facts_of(parsed) if isinstance(parsed, ParsedFeed) else None,
        )
        return ProbeResult(seen, response, verdict, parsed)


def _parsed(
    document: RawDocument, config: Config
) -> tuple[ParsedFeed | Unreadable, Face | Unreadable]:
    parsed = parse_document(document, config.parse)
    return parsed, parsed if isinstance(parsed, Unreadable) else face_of(parsed)


def document_of(sight: ProbeResult) -> RawDocument | None:
    """The document that came instead of a feed, for discovery."""
    match sight.verdict:
        case Fresh() | Failed() | Gone():
            return sight.verdict.document
        case _:
            return None


def _unsent(url: str, reason: str, detail: str) -> Seen:
    return Seen(url=url, final_url=url, spent=False, reason=reason, detail=detail)


def _answered(url: str, response: RawResponse, **facts: object) -> Seen:
    is_temporary = bool(response.hops) and permanent_target(response.hops) is None
    return Seen(
        url=url,
        # A redirect may name a place in the document.
        final_url=response.final_url.partition("#")[0],
        status=response.status,
        is_temporary=is_temporary,
        **facts,  # type: ignore[arg-type]
    )


class Reply(Value):
    """What a caller's own `fetch_fn` brings back: the last answer after redirects."""

    url: str  # where it ended
    status: int
    body: bytes | str = b""
    headers: Headers = ()


FetchFunction = Callable[[str], Reply | Awaitable[Reply]]


class Hooks(Value):
    """A caller's own checks and listeners during a search."""

    exists_fn: ExistsFunction | None = None
    verify_fn: VerifyFunction | None = None
    on_fetch: Callable[[str, Seen], object] | None = None  # every answer
    on_match: Callable[[str, Seen], object] | None = None  # every address that proved to be it
    on_exists: Callable[[Existing], object] | None = None


_NO_HOOKS = Hooks()


async def canonicalise_with(
    probe: ProbeUrl, address: str, options: CanonicalOptions, hooks: Hooks = _NO_HOOKS
) -> Canonical | NotCanonical:
    """The one right address of the feed at an address, by any prober."""
    search = canonicalise(address, options)
    seen_by_url: dict[str, Seen] = {}
    answer: Seen | Existing | None = None
    while True:
        try:
            question = search.send(answer)
        except StopIteration as end:
            return _with_matches(end.value, seen_by_url, hooks)
        if isinstance(question, Ask):
            answer = seen_by_url[question.url] = await _asked(question.url, probe, hooks)
        else:
            answer = await _looked_up(question, hooks)


def prober_from_functions(
    fetch_fn: FetchFunction,
    config: Config,
    *,
    hash_fn: HashFunction | None = None,
    parse_fn: ParseFunction | None = None,
) -> ProbeUrl:
    """A prober made of a caller's own functions."""

    async def probe(url: str) -> Seen:
        try:
            reply = await await_if_awaitable(fetch_fn(url))
        except Exception as problem:  # noqa: BLE001  # foreign code: whatever it raises is "no answer"
            words = f"{type(problem).__name__}: {problem}"
            return Seen(url=url, final_url=url, reason="connection-failed", detail=words)
        return await _read(url, reply, config, hash_fn or body_digest, parse_fn)

    return probe


def _with_matches(
    found: Canonical | NotCanonical, seen_by_url: dict[str, Seen], hooks: Hooks
) -> Canonical | NotCanonical:
    if isinstance(found, Canonical) and hooks.on_match is not None:
        for url in found.proven:
            if url in seen_by_url:
                hooks.on_match(url, seen_by_url[url])
    return found


async def _asked(url: str, probe: ProbeUrl, hooks: Hooks) -> Seen:
    """The answer, unless the caller objects to the address or to where it leads."""
    if not await _is_verified(url, hooks):
        return Seen(url=url, final_url=url, spent=False, reason="refused", detail="by the caller")
    seen = await probe(url)
    if hooks.on_fetch is not None and seen.status is not None:
        hooks.on_fetch(url, seen)
    if seen.final_url == url:
        return seen
    if http_url(seen.final_url) is None or not await _is_verified(seen.final_url, hooks):
        return replace(
            seen,
            is_feed=False,
            reason="refused",
            detail="it redirects to an address that is refused",
        )
    return seen


async def _is_verified(url: str, hooks: Hooks) -> bool:
    return hooks.verify_fn is None or await await_if_awaitable(hooks.verify_fn(url))


async def _looked_up(question: Lookup, hooks: Hooks) -> Existing | None:
    if hooks.exists_fn is None:
        return None
    found = await await_if_awaitable(hooks.exists_fn(question.urls))
    if not found:
        return None
    known = Existing(url=found) if isinstance(found, str) else found
    if hooks.on_exists is not None:
        hooks.on_exists(known)
    return known


async def _read(
    url: str, reply: Reply, config: Config, hash_fn: HashFunction, parse_fn: ParseFunction | None
) -> Seen:
    """The caller's answer as the search sees it."""
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    seen = Seen(url=url, final_url=reply.url, status=reply.status)
    if not 200 <= reply.status < 300:
        return replace(seen, reason="http-status", detail=f"it answered {reply.status}")
    links = link_headers(reply.headers, reply.url)
    face: Face | Unreadable | None
    if parse_fn:
        face = parse_fn(body, reply.url)
    else:
        face = await PARSE_THREADS.run(lambda: _face(body, reply, config))
    if isinstance(face, Unreadable):
        return replace(seen, reason=face.reason, detail=face.detail)
    if face is None or not body:
        return replace(seen, reason="not-a-feed")
    own = () if face.self_url is None else (face.self_url,)
    return replace(
        seen,
        is_feed=True,
        digest=await await_if_awaitable(hash_fn(body)),
        signature=face.signature,
        self_urls=(*links_with_rel(links, "self"), *own),
    )


def _face(body: bytes, reply: Reply, config: Config) -> Face | Unreadable:
    content_type = header_value(reply.headers, "content-type")
    document = RawDocument(body=body, url=reply.url, content_type=content_type)
    parsed = parse_document(document, config.parse)
    if isinstance(parsed, Unreadable):
        return parsed
    return face_of(parsed)


def face_of(parsed: ParsedFeed) -> Face:
    """What the search compares of a parsed feed."""
    return Face(self_url=parsed.self_url, signature=feed_signature(parsed))


async def await_if_awaitable(value: T | Awaitable[T]) -> T:
    return await value if isawaitable(value) else value
