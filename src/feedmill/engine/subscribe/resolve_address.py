"""Resolves one pasted address: the feed it leads to under its best name, or why there is none."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.discovery.platforms import platform_feeds
from feedmill.canonicalise.search import CanonicalOptions
from feedmill.canonicalise.signature import same_feed
from feedmill.canonicalise.urls import is_same_site, other_scheme
from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.canonicalise import Hooks, canonicalise_with
from feedmill.engine.subscribe.discover import discover
from feedmill.engine.subscribe.no_feed import no_feed_error
from feedmill.engine.subscribe.probe import Prober, ProbeResult, document_of
from feedmill.engine.subscribe.robots_gate import RobotsGate
from feedmill.engine.subscribe.same_feed import continues_feed, prove_same
from feedmill.errors import NoFeedError, UsageError
from feedmill.fetch.guard import printable_url
from feedmill.model.base import Value
from feedmill.model.canonical import Canonical, Existing, FoundFeed, NotCanonical, Seen
from feedmill.model.feed import Feed
from feedmill.model.fetch import Fresh
from feedmill.model.parsed import ParsedFeed
from feedmill.normalise.text import clean_text

CHOOSE_BEST: Final = "best"
MAX_RECENT_SUBSCRIPTIONS: Final = 10_000  # remembered; the oldest goes
PAGE_REASONS: Final = frozenset(
    {"html-page", "not-a-feed", "error-document", "login-page", "malformed"}
)


class FeedChoices(Value):
    """A page with several feeds: the caller has to choose one."""

    page_url: str
    feeds: tuple[FoundFeed, ...]
    requests: int = 0


class RecentlySubscribed:
    """Feeds by the signature they had when they were added, until they are polled."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}

    def matches(self, feed_id: str, seen: Seen) -> bool:
        """Whether an answer is the same feed as the one that was added."""
        first = self._seen.get(feed_id)
        return first is not None and same_feed(first, seen) is not None

    def add(self, feed_id: str, seen: Seen) -> None:
        """Remember the feed by what was seen of it."""
        if len(self._seen) >= MAX_RECENT_SUBSCRIPTIONS:
            del self._seen[next(iter(self._seen))]
        self._seen[feed_id] = seen


class AddressResolver:
    """Resolves one address."""

    def __init__(
        self,
        spellings: Sequence[str],
        prober: Prober,
        services: Services,
        *,
        robots_gate: RobotsGate,
        recent: RecentlySubscribed,
        options: CanonicalOptions,
        choose: str | None,
    ) -> None:
        self._services = services
        self._prober = prober
        self._robots_gate = robots_gate
        self._recent = recent
        self._options = options
        self._spellings = spellings  # put right, then as written
        self._url = spellings[0]
        self._choose = choose
        self.page_url: str | None = None
        self._feed_url: str | None = None  # where the search in hand first met a feed
        self._is_one_of_several = False  # the address leads to other feeds too: it names none

    @property
    def requests(self) -> int:
        return sum(result.seen.spent for result in self._prober.results.values())

    @property
    def first_answer(self) -> Seen | None:
        """What the feed looked like at the address where the search began."""
        result = self._first_feed()
        return None if result is None else result.seen

    async def run(self) -> Canonical | FeedChoices:
        """The feed's best name, or the feeds to choose among."""
        by_name = await self._by_platform()
        if by_name is not None:
            return by_name
        # As written, it may name no protocol: then http is tried where there is no https.
        found = await self._search(self._spellings[-1])
        if isinstance(found, Canonical):
            return found
        result = self._answer(found)
        if result is None or not _is_page(result):
            raise no_feed_error(self._url, found)
        return await self._discover(result)

    def aliases(self, found: Canonical) -> tuple[str, ...]:
        """The addresses that lead to the feed, and the given one if it leads to it alone.

        Another site's address is among them only if that site says so, by a redirect or as the
        one that was asked first: a copy must not take the address of what it copies.
        """
        given = () if self._is_one_of_several else self._spellings
        own = (found.url, found.response_url, *given)
        proven = (url for url in found.proven if url in own or self._leads_to(found.url, url))
        return tuple(dict.fromkeys((*proven, *given)))

    def title_of(self, url: str) -> str | None:
        """What the feed calls itself, until it is polled."""
        for seen, _, _, parsed, _ in self._prober.results.values():
            if isinstance(parsed, ParsedFeed) and parsed.title and url in _ends(seen):
                return clean_text(parsed.title.value) or None
        return None

    def answer_of(self, url: str) -> Answer | None:
        """The answer that brought the feed from this address, as if it had been asked directly."""
        for result in self._prober.results.values():
            answer = result.answer
            if answer is None or not result.seen.is_feed or result.seen.final_url != url:
                continue
            if not isinstance(answer.verdict, Fresh):
                continue
            verdict = replace(answer.verdict, moved_to=None)
            response = replace(answer.response, hops=())
            return replace(answer, url=url, response=response, verdict=verdict)
        return None

    async def _search(self, url: str) -> Canonical | NotCanonical:
        self._feed_url = None
        hooks = Hooks(exists_fn=self._known, on_fetch=self._noted)
        return await canonicalise_with(self._prober.probe, url, self._options, hooks)

    def _noted(self, url: str, seen: Seen) -> None:
        if self._feed_url is None and seen.is_feed:
            self._feed_url = url

    async def _by_platform(self) -> Canonical | FeedChoices | None:
        """The feed that a platform rule derives from the address; None when there is none after all."""
        feeds = tuple(feed for feed in platform_feeds(self._url) if feed.is_published)
        if not feeds:
            return None
        if len(feeds) > 1 and self._choose is None:
            return FeedChoices(page_url=self._url, feeds=feeds)
        found = await self._search(_chosen(feeds, self._choose, self._url).url)
        if isinstance(found, NotCanonical):
            return None
        self._is_one_of_several = len(feeds) > 1
        return found

    async def _discover(self, result: ProbeResult) -> Canonical | FeedChoices:
        assert result.response is not None
        found = await discover(
            result.response,
            gate=self._robots_gate,
            ask=self._prober.probe,
            thread_bytes=self._services.config.run.parse_in_thread_bytes,
        )
        if not found.feeds:
            raise _nothing_found(result.seen.url, found.reason)
        plain = [feed for feed in found.feeds if not feed.is_comments]
        if len(plain) != 1 and len(found.feeds) > 1 and self._choose is None:
            return FeedChoices(page_url=self._url, feeds=found.feeds, requests=self.requests)
        self.page_url = result.seen.url
        chosen = _chosen(found.feeds, self._choose, self._url)
        named = await self._search(chosen.url)
        if isinstance(named, NotCanonical):
            raise no_feed_error(chosen.url, named)
        self._is_one_of_several = plain != [chosen] and found.feeds != (chosen,)
        return named

    async def _known(self, urls: Sequence[str]) -> Existing | None:
        """A feed of ours at one of the addresses, when it proves to be this one.

        Before the first answer there is nothing to prove with; the address itself was looked up
        before. A variant, or a self link of another site, proves nothing alone.
        """
        result = self._first_feed()
        if result is None:
            return None
        spellings = (*urls, *map(other_scheme, urls))  # by http what is known by https, and back
        store = self._services.store
        if await store.find_feed(spellings) is None:
            return None
        for url in spellings:
            feed = await store.find_feed((url,))
            if feed is not None and await self._is_same(feed, url, result):
                return Existing(url=feed.url, data=feed)
        return None

    async def _is_same(self, feed: Feed, url: str, result: ProbeResult) -> bool:
        if url in _ends(result.seen) or self._recent.matches(feed.id, result.seen):
            return True
        if feed.body_sha256 is not None and feed.body_sha256 == result.seen.digest:
            return True
        document = document_of(result)
        if document is None:
            return False
        proof = await prove_same(feed, document, self._services, by_entries=True)
        if proof == "entries":
            return await continues_feed(feed, document, self._services)
        return proof is not None

    def _leads_to(self, name: str, url: str) -> bool:
        """Whether the address is of the same site, or was seen to redirect to the feed's name."""
        result = self._prober.results.get(url)
        return is_same_site(url, name) or (result is not None and result.seen.final_url == name)

    def _first_feed(self) -> ProbeResult | None:
        return None if self._feed_url is None else self._prober.results[self._feed_url]

    def _answer(self, found: NotCanonical) -> ProbeResult | None:
        return None if found.first is None else self._prober.results.get(found.first.url)


def _is_page(result: ProbeResult) -> bool:
    """Whether a page came where a feed was expected: then its links are worth a look."""
    return (
        result.response is not None
        and result.seen.reason in PAGE_REASONS
        and bool(result.response.body)
    )


def _chosen(feeds: Sequence[FoundFeed], choose: str | None, page_url: str) -> FoundFeed:
    if choose is None or choose == CHOOSE_BEST:
        return feeds[0]
    numbered = {str(number): feed for number, feed in enumerate(feeds, 1)}
    if choose in numbered:
        return numbered[choose]
    for feed in feeds:
        if feed.url == choose:
            return feed
    message = f"{page_url} leads to no feed {printable_url(choose)!r}"
    listed = "; ".join(f"{number} {feed.url}" for number, feed in enumerate(feeds, 1))
    raise UsageError(message + f"; choose among: {listed}")


def _ends(seen: Seen) -> tuple[str, str]:
    return (seen.url, seen.final_url)


def _nothing_found(url: str, reason: str) -> NoFeedError:
    if reason == "rate-limited":
        message = (
            f"{printable_url(url)} is a page, and its host answered 429 before a feed was found"
        )
        return NoFeedError(message, reason=reason, is_passing=True, hint="try again later")
    if reason == "disallowed":
        message = (
            f"{printable_url(url)} is a page, and its robots.txt does not allow programs to read it"
        )
        hint = "give the address of the feed itself"
        return NoFeedError(message, reason="robots-disallowed", hint=hint)
    message = (
        f"{printable_url(url)} is a page, and no feed was found on it or at the usual addresses"
    )
    return NoFeedError(message, reason="no-feed-found", hint="give the address of the feed itself")
