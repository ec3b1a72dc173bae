"""One look at one address, for a search: fetched politely, judged, read, and told as a `Seen`."""

from typing import NamedTuple
from urllib.parse import unquote

from feedmill.canonicalise.pasted_url import resolve_url
from feedmill.canonicalise.signature import body_digest, feed_signature
from feedmill.canonicalise.urls import split_url, strip_userinfo_and_fragment
from feedmill.config import Config
from feedmill.engine.ports.clock import Clock
from feedmill.engine.ports.fetcher import Fetcher
from feedmill.engine.subscribe.canonicalise import (
    Face,
    HashFunction,
    ParseFunction,
    await_if_awaitable,
)
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.fetch.guard import check_url
from feedmill.fetch.judge import judge
from feedmill.fetch.link_headers import links_with_rel
from feedmill.fetch.plan import is_trusted, plan_feed_fetch, without_credentials
from feedmill.fetch.redirects import permanent_target
from feedmill.model.canonical import Seen
from feedmill.model.feed import FeedOverrides
from feedmill.model.fetch import Failed, Fresh, Gone, RawDocument, RawResponse, Refused, Verdict
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document


class ProbeResult(NamedTuple):
    """A look at an address with everything that came of it."""

    seen: Seen
    response: RawResponse | None = None  # None: nothing was sent
    verdict: Verdict | None = None
    parsed: ParsedFeed | Unreadable | None = None


class Prober:
    """Looks at addresses for one search and remembers what it saw."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Clock,
        config: Config,
        manners: HostQueue,
        *,
        overrides: FeedOverrides | None = None,
        given_url: str = "",
        hash_fn: HashFunction | None = None,
        parse_fn: ParseFunction | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._config = config
        self._manners = manners
        self._own = overrides or FeedOverrides()
        self._given_url = given_url  # whose host may see the feed's own headers and credentials
        self._hash: HashFunction = hash_fn or body_digest
        self._parse = parse_fn
        self.results: dict[str, ProbeResult] = {}

    async def probe(self, url: str) -> Seen:
        """What the address answers; nobody is asked twice."""
        if url not in self.results:
            self.results[url] = await self._look(url)
        return self.results[url].seen

    async def _look(self, url: str) -> ProbeResult:
        refused = check_url(url, allow_cidrs=self._config.fetch.allow_cidrs)
        if isinstance(refused, Refused):
            return ProbeResult(_unsent(url, refused.reason, refused.detail))
        if self._is_our_idea(url) and self._manners.lacks_https(url):
            return ProbeResult(
                _unsent(url, "connection-failed", "its host does not answer by https")
            )
        async with self._manners.slot(url) as turn:
            if not turn.is_granted:
                words = f"its host wants to be left alone for {turn.wait_sec:.0f} s"
                return ProbeResult(_unsent(url, "rate-limited", words))
            own = self._own if is_trusted(url, self._given_url) else without_credentials(self._own)
            plan = plan_feed_fetch(url, own, self._config.fetch)
            response = await self._fetcher.fetch(plan, verify_tls=own.verify_tls, proxy=own.proxy)
            turn.verdict = judge(response, plan, self._clock.now())
        return await self._sight(url, response, turn.verdict)

    def _is_our_idea(self, url: str) -> bool:
        """Whether https is tried although nobody spoke of it."""
        return url.startswith("https:") and self._given_url.startswith("http:")

    async def _sight(self, url: str, response: RawResponse, verdict: Verdict) -> ProbeResult:
        if not isinstance(verdict, Fresh):
            return ProbeResult(_failure(url, response, verdict), response, verdict)
        if self._parse is not None:
            face = self._parse(verdict.document.body, response.final_url)
            return ProbeResult(await self._faced(url, response, verdict, face), response, verdict)
        parsed = parse_document(verdict.document, self._config.parse)
        if isinstance(parsed, Unreadable):
            reason, detail = parsed.reason, parsed.detail
            seen = _answered(url, response, reason=reason, detail=detail)
            return ProbeResult(seen, response, verdict, parsed)
        header = links_with_rel(verdict.links, "self")
        seen = _answered(
            url,
            response,
            is_feed=True,
            digest=await await_if_awaitable(self._hash(verdict.document.body)),
            signature=feed_signature(parsed),
            self_urls=tuple(dict.fromkeys((*header, *_own_word(parsed)))),
            new_url=parsed.new_feed_url,
        )
        return ProbeResult(seen, response, verdict, parsed)

    async def _faced(
        self, url: str, response: RawResponse, verdict: Fresh, face: Face | None
    ) -> Seen:
        """What a caller's own parser made of a body."""
        if face is None:
            return _answered(url, response, reason="not-a-feed")
        return _answered(
            url,
            response,
            is_feed=True,
            digest=await await_if_awaitable(self._hash(verdict.document.body)),
            signature=face.signature,
            self_urls=(
                *links_with_rel(verdict.links, "self"),
                *(() if face.self_url is None else (face.self_url,)),
            ),
        )


def split_credentials(address: str) -> tuple[str, FeedOverrides]:
    """An address as somebody gave it, in two parts: where, and with which credentials."""
    url = resolve_url(address)
    if url is None:
        return "", FeedOverrides()
    parts = split_url(url)
    plain = strip_userinfo_and_fragment(url)
    if not parts.userinfo:
        return plain, FeedOverrides()
    username, _, password = parts.userinfo.partition(":")
    return plain, FeedOverrides(username=unquote(username), password=unquote(password))


def html_page_of(sight: ProbeResult) -> RawDocument | None:
    """The document that came instead of a feed, for discovery."""
    match sight.verdict:
        case Fresh() | Failed() | Gone():
            return sight.verdict.document
        case _:
            return None


def _unsent(url: str, reason: str, detail: str) -> Seen:
    return Seen(url=url, final_url=url, spent=False, reason=reason, detail=detail)


def _failure(url: str, response: RawResponse, verdict: Verdict) -> Seen:
    match verdict:
        case Failed():
            return _answered(url, response, reason=verdict.reason, detail=verdict.detail)
        case Gone():
            return _answered(url, response, reason="gone", detail="the publisher says it is gone")
        case _:
            return _answered(url, response, reason="unasked-304")


def _answered(url: str, response: RawResponse, **facts: object) -> Seen:
    is_temporary = bool(response.hops) and permanent_target(response.hops) is None
    return Seen(
        url=url,
        final_url=response.final_url,
        status=response.status,
        is_temporary=is_temporary,
        **facts,  # type: ignore[arg-type]
    )


def _own_word(parsed: ParsedFeed) -> tuple[str, ...]:
    return (parsed.self_url,) if parsed.self_url else ()
