"""Probes one address for the search: guard, host queue, fetch, judge, parse; remembers each answer."""
# Tested in tests/integration/engine/subscribe/

from typing import NamedTuple

from feedmill.canonicalise.signature import body_digest
from feedmill.config import Config
from feedmill.engine.documents.fetch_document import Answer, describe_verdict, fetch_and_judge
from feedmill.engine.documents.parse_threads import PARSE_THREADS
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.fetcher import Fetcher
from feedmill.engine.subscribe import canonicalise
from feedmill.engine.subscribe.feed_facts import facts_of
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.fetch.guard import check_url
from feedmill.fetch.headers import links_with_rel
from feedmill.fetch.redirects import permanent_target
from feedmill.model.canonical import Seen
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import Failed, Fresh, Gone, RawDocument, RawResponse, Refused, Verdict
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document


class ProbeResult(NamedTuple):
    """One probed address with its answer and what was parsed."""

    seen: Seen
    response: RawResponse | None = None  # None: nothing was sent
    verdict: Verdict | None = None
    parsed: ParsedFeed | Unreadable | None = None
    answer: Answer | None = None


class Prober:
    """Probes addresses for one search and remembers the answers."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        config: Config,
        host_queue: HostQueue,
        *,
        overrides: FeedOverrides | None = None,
        given_url: str = "",
        hash_fn: canonicalise.HashFunction | None = None,
        parse_fn: canonicalise.ParseFunction | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._config = config
        self._host_queue = host_queue
        self._own = overrides or FeedOverrides()
        self._given_url = given_url  # whose host may see the feed's own headers and credentials
        self._hash: canonicalise.HashFunction = hash_fn or body_digest
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
            digest=await canonicalise.await_if_awaitable(self._hash(body)),
            signature=face.signature,
            self_urls=tuple(dict.fromkeys((*links, *own_link))),
            facts=facts_of(parsed) if isinstance(parsed, ParsedFeed) else None,
        )
        return ProbeResult(seen, response, verdict, parsed)


def _parsed(
    document: RawDocument, config: Config
) -> tuple[ParsedFeed | Unreadable, canonicalise.Face | Unreadable]:
    parsed = parse_document(document, config.parse)
    return parsed, parsed if isinstance(parsed, Unreadable) else canonicalise.face_of(parsed)


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
        final_url=response.final_url,
        status=response.status,
        is_temporary=is_temporary,
        **facts,  # type: ignore[arg-type]
    )
