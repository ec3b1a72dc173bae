"""Resolves one pasted address: the feed it leads to under its best name, or why there is none."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from feedmill.canonicalise.discovery.html_page import plain_url, read_page, refresh_target
from feedmill.canonicalise.discovery.page_links import MAX_FEEDS, declared_feeds, distinct_feeds
from feedmill.canonicalise.discovery.platforms import shipped_rules
from feedmill.canonicalise.discovery.search import (
    FeedsWanted,
    FindOptions,
    is_handle,
    page_of_account,
    webfinger_url,
)
from feedmill.canonicalise.pasted_url import resolve_url
from feedmill.canonicalise.same_feed import same_feed
from feedmill.canonicalise.search import CanonicalOptions
from feedmill.canonicalise.urls import is_same_site, other_scheme
from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.documents.read_document import classify_non_feed
from feedmill.engine.run.memory_budget import PARSE_THREADS
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.canonicalise import (
    Hooks,
    Prober,
    ProbeResult,
    canonicalise_with,
    document_of,
)
from feedmill.engine.subscribe.discover import (
    check_known,
    discover,
    no_feed_error,
    nothing_found_error,
    words_of_end,
)
from feedmill.engine.subscribe.host_queue import RobotsGate
from feedmill.engine.subscribe.list_formats import read_list
from feedmill.engine.subscribe.same_feed import (
    continues_feed,
    described,
    find_other_format,
    group_formats,
    prove_same,
)
from feedmill.errors import NoFeedError, UsageError
from feedmill.fetch.guard import printable_url
from feedmill.model import canonical
from feedmill.model.base import Value
from feedmill.model.feed import Feed
from feedmill.model.fetch import Fresh

CHOOSE_BEST: Final = "best"
MAX_RECENT_SUBSCRIPTIONS: Final = 10_000  # remembered; the oldest goes
PAGE_REASONS: Final = frozenset(
    {"html-page", "not-a-feed", "error-document", "login-page", "malformed", "opml"}
)
HTTP_OK: Final = 200
_MAX_REFRESHES: Final = 3  # pages that only send their reader on


class FeedChoices(Value):
    """A page with several feeds: the caller has to choose one."""

    page_url: str
    feeds: tuple[canonical.FoundFeed, ...]
    requests: int = 0

    @property
    def words(self) -> str:
        """What every interface says before it lists them."""
        unasked = sum(not feed.is_fetched for feed in self.feeds)
        rest = f", {unasked} of which were not requested" if unasked else ""
        return f"{printable_url(self.page_url)} leads to {len(self.feeds)} feeds{rest}"


class RecentlySubscribed:
    """Feeds by the signature they had when they were added, until they are polled."""

    def __init__(self) -> None:
        self._seen: dict[str, canonical.Seen] = {}

    def matches(self, feed_id: str, seen: canonical.Seen) -> bool:
        """Whether an answer is the same feed as the one that was added."""
        first = self._seen.get(feed_id)
        return first is not None and same_feed(first, seen) is not None

    def add(self, feed_id: str, seen: canonical.Seen) -> None:
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
        budget: int | None = None,
        knows_feeds: bool = True,
    ) -> None:
        self._services = services
        self._prober = prober
        self._robots_gate = robots_gate
        self._recent = recent
        self._options = options
        self._spellings = spellings  # put right, then as written
        self._url = spellings[0]
        # As written, it may name no protocol: then http is tried where there is no https.
        self._start = spellings[-1] if resolve_url(spellings[-1]) is not None else spellings[0]
        self._choose = choose
        self._budget = services.config.discovery.budget if budget is None else budget
        self._knows_feeds = knows_feeds  # False: what is subscribed does not count
        self._alternatives: tuple[str, ...] = ()
        self.chosen_for = ""  # why this format of several
        self.page_url: str | None = None
        self.is_guess = False  # the page names no feed: a usual address was tried
        self._feed_url: str | None = None  # where the search in hand first met a feed
        self._is_one_of_several = False  # the address leads to other feeds too: it names none

    @property
    def first_answer(self) -> canonical.Seen | None:
        """What the feed looked like at the address where the search began."""
        result = self._first_feed()
        return None if result is None else result.seen

    async def run(self) -> canonical.Canonical | FeedChoices:
        """The feed's best name, or the feeds to choose among."""
        await self._follow_handle()
        by_name = await self._by_platform()
        if by_name is not None:
            return by_name
        found, result = await self._search_behind()
        if isinstance(found, canonical.Canonical):
            return found
        if result is None or not _is_page(result):
            raise self._no_feed(found)
        listed = await self._listed(result)
        if listed:
            return await self._taken(canonical.Found(feeds=listed, reason="declared"))
        return await self._discover(result)

    async def look(self) -> canonical.Discovered:
        """Every feed that the address leads to; nothing is stored."""
        await self._follow_handle()
        first, result = await self._search_behind()
        if isinstance(first, canonical.Canonical):
            feed = canonical.FoundFeed(url=first.url, found_by="address")
            found = canonical.Found(feeds=(feed,), reason="proven", asked=first.asked)
            return self._looked(found)
        if result is None or result.response is None:
            raise self._no_feed(first)
        listed = await self._listed(result)
        if listed:
            return self._looked(canonical.Found(feeds=listed, reason="declared", asked=first.asked))
        found = await self._found_on(result, "all")
        if not found.feeds and not _is_page(result):
            raise self._no_feed(first)
        return self._looked(replace(found, asked=(*first.asked, *found.asked)))

    def _looked(self, found: canonical.Found) -> canonical.Discovered:
        return canonical.Discovered(
            url=self._url,
            reason=found.reason,
            words=words_of_end(found, self._budget),
            requests=0,
            feeds=self._grouped(found.feeds),
            tried=found.asked,
            untried=tuple(feed.url for feed in found.untried),
        )

    def aliases(self, found: canonical.Canonical) -> tuple[str, ...]:
        """The addresses that lead to the feed, and the given one if it leads to it alone.

        Another site's address is among them only if that site says so, by a redirect or as the
        one that was asked first: a copy must not take the address of what it copies.
        """
        given = () if self._is_one_of_several else self._spellings
        own = (found.url, found.response_url, *given)
        proven = (url for url in found.proven if url in own or self._leads_to(found.url, url))
        formats = (url for url in self._alternatives if is_same_site(url, found.url))
        return tuple(dict.fromkeys((*proven, *given, *formats)))

    def title_of(self, url: str) -> str | None:
        """What the feed calls itself, until it is polled."""
        for result in self._prober.results.values():
            if result.seen.facts is not None and url in _ends(result.seen):
                return result.seen.facts.title or None
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

    async def _search(self, url: str) -> canonical.Canonical | canonical.NotCanonical:
        self._feed_url = None
        hooks = Hooks(exists_fn=self._known, on_fetch=self._noted)
        return await canonicalise_with(self._prober.probe, url, self._options, hooks)

    async def _search_behind(
        self,
    ) -> tuple[canonical.Canonical | canonical.NotCanonical, ProbeResult | None]:
        """The search at the address, or where its page sends its reader on at once."""
        found = await self._search(self._start)
        for _ in range(_MAX_REFRESHES):
            result = None if isinstance(found, canonical.Canonical) else self._answer(found)
            ahead = await self._refreshed_to(result)
            if ahead is None or ahead in self._prober.results:
                return found, result
            self._url = ahead
            found = await self._search(ahead)
        return found, None if isinstance(found, canonical.Canonical) else self._answer(found)

    async def _refreshed_to(self, result: ProbeResult | None) -> str | None:
        """Where a page without a feed of its own sends its reader; None where it stays."""
        document = document_of(result) if result is not None and _is_page(result) else None
        if result is None or document is None or b"refresh" not in document.body.lower():
            return None
        url = result.seen.final_url
        page = await PARSE_THREADS.run(
            lambda: read_page(document.body, url, content_type=document.content_type)
        )
        ahead = refresh_target(page)
        if ahead is None or declared_feeds(page) or not await self._robots_gate.allows(url):
            return None
        return ahead

    def _noted(self, url: str, seen: canonical.Seen) -> None:
        if self._feed_url is None and seen.is_feed:
            self._feed_url = url

    async def _follow_handle(self) -> None:
        """Replace a handle of the fediverse by the page or feed that its host names."""
        handle = self._spellings[-1]
        if not is_handle(handle):
            return
        await self._prober.probe(webfinger_url(handle))
        answer = self._prober.results[webfinger_url(handle)].response
        is_good = answer is not None and answer.status == HTTP_OK
        page = page_of_account(answer.body) if answer is not None and is_good else None
        if page is not None:
            self._url = self._start = page
            self._spellings = (page, *self._spellings)

    async def _by_platform(self) -> canonical.Canonical | FeedChoices | None:
        """The feed that a platform rule derives from the address; None when there is none after all."""
        rules = self._services.rules or shipped_rules()
        feeds = [one for one in rules.feeds_of_address(self._url) if one.is_published]
        if not feeds:
            return None
        found = await check_known(
            feeds, gate=self._robots_gate, ask=self._prober.probe, options=self._options_of(None)
        )
        if not found.feeds:
            return None
        return await self._taken(found)

    async def _discover(self, result: ProbeResult) -> canonical.Canonical | FeedChoices:
        found = await self._found_on(result, "choices")
        if not found.feeds:
            document = document_of(result)
            page = await classify_non_feed(document, self._services.config)
            raise nothing_found_error(result.seen, found, self._budget, instead=page)
        self.page_url = result.seen.url
        return await self._taken(found)

    async def _found_on(self, result: ProbeResult, wanted: FeedsWanted) -> canonical.Found:
        assert result.response is not None
        return await discover(
            result.response,
            gate=self._robots_gate,
            ask=self._prober.probe,
            thread_bytes=self._services.config.run.parse_in_thread_bytes,
            options=self._options_of(wanted),
        )

    def _options_of(self, wanted: FeedsWanted | None) -> FindOptions:
        if wanted != "all" and self._choose == CHOOSE_BEST:
            wanted = "first"
        return FindOptions(
            budget=self._budget, wanted=wanted or "choices", rules=self._services.rules
        )

    async def _taken(self, found: canonical.Found) -> canonical.Canonical | FeedChoices:
        """The feed that was chosen, or is the only one, under its best name; else the choices."""
        feeds = self._grouped(found.feeds)
        plain = [feed for feed in feeds if not feed.is_comments and not feed.is_extra]
        lively = [feed for feed in plain if feed.entries or not feed.is_fetched]
        if self._choose is None and len(feeds) > 1 and len(lively or plain) != 1:
            return FeedChoices(page_url=self._url, feeds=feeds)
        chosen = _chosen(feeds, found.feeds, self._choose, self._url)
        self.is_guess = chosen.found_by == "guess"
        named = await self._search(chosen.url)
        if isinstance(named, canonical.NotCanonical):
            raise no_feed_error(chosen.url, named)
        self._is_one_of_several = plain != [chosen] and feeds != (chosen,)
        self._alternatives = chosen.alternatives
        if chosen.alternatives:
            self.chosen_for = f"{chosen.format}, chosen of {len(chosen.alternatives) + 1} formats for {chosen.chosen_for}"
        return named

    def _grouped(self, feeds: Sequence[canonical.FoundFeed]) -> tuple[canonical.FoundFeed, ...]:
        """The feeds with what was seen of them, formats of one blog as one."""
        seen = {url: result.seen for url, result in self._prober.results.items()}
        facts = {url: one.facts for url, one in seen.items() if one.facts is not None}
        return group_formats([described(feed, seen.get(feed.url)) for feed in feeds], facts)

    async def _listed(self, result: ProbeResult) -> tuple[canonical.FoundFeed, ...]:
        """The feeds of an OPML list, which is neither a feed nor a page."""
        document = document_of(result)
        if result.seen.reason != "opml" or document is None:
            return ()
        try:
            outlines = await PARSE_THREADS.run(lambda: read_list(document.body)[:MAX_FEEDS])
        except ValueError:
            return ()
        return distinct_feeds(
            canonical.FoundFeed(url=url, found_by="list", title=one.title)
            for one in outlines
            if (url := plain_url(one.url)) is not None
        )

    async def _known(self, urls: Sequence[str]) -> canonical.Existing | None:
        """A feed of ours at one of the addresses, when it proves to be this one.

        Before the first answer there is nothing to prove with; the address itself was looked up
        before. A variant, or a self link of another site, proves nothing alone.
        """
        result = self._first_feed()
        if result is None or not self._knows_feeds:
            return None
        spellings = (*urls, *map(other_scheme, urls))  # by http what is known by https, and back
        store = self._services.store
        if await store.find_feed(spellings) is not None:
            for url in spellings:
                feed = await store.find_feed((url,))
                if feed is not None and await self._is_same(feed, url, result):
                    return canonical.Existing(url=feed.url, data=feed)
        other = await find_other_format(result.seen, self._services)
        return None if other is None else canonical.Existing(url=other.url, data=other)

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

    def _no_feed(self, found: canonical.NotCanonical) -> NoFeedError:
        """The error about the address that was given, or about its http twin if that answered otherwise."""
        verdicts = {one.url: one.verdict for one in found.asked}
        if found.first is None or verdicts.get(self._url) == found.reason:
            return no_feed_error(self._url, found)
        return no_feed_error(found.first.url, found)

    def _answer(self, found: canonical.NotCanonical) -> ProbeResult | None:
        return None if found.first is None else self._prober.results.get(found.first.url)


def _is_page(result: ProbeResult) -> bool:
    """Whether a page came where a feed was expected: then its links are worth a look."""
    return (
        result.response is not None
        and result.seen.reason in PAGE_REASONS
        and bool(result.response.body)
    )


def _chosen(
    feeds: Sequence[canonical.FoundFeed],
    formats: Sequence[canonical.FoundFeed],
    choose: str | None,
    page_url: str,
) -> canonical.FoundFeed:
    """The feed that the caller wants; `formats` are all of them, each format for itself."""
    if choose is None or choose == CHOOSE_BEST:
        return feeds[0]
    numbered = {str(number): feed for number, feed in enumerate(feeds, 1)}
    if choose in numbered:
        return numbered[choose]
    for feed in (*feeds, *formats):
        if feed.url == choose:
            return feed
    message = f"{page_url} leads to no feed {printable_url(choose)!r}"
    listed = "; ".join(f"{number} {feed.url}" for number, feed in enumerate(feeds, 1))
    raise UsageError(message + f"; choose among: {listed}")


def _ends(seen: canonical.Seen) -> tuple[str, str]:
    return (seen.url, seen.final_url)
