"""Subscribes to a pasted address: finds the feed it leads to under its best name, or says why not.

    known      the address is one of a feed's: no request
    platform   the address itself tells where its feed is
    search     the feed at the address, under its best name (canonicalise/search.py)
    discover   a page instead: the feeds that it leads to
    subscribe  under the proven name; every address seen to serve it is an alias (D5)
    keep       the document that was fetched on the way, as the feed's first fetch

A subscriber is kept for many addresses: it has one queue per host, the robots.txt files that were
read, and the signatures of the feeds it added. The steps between are in resolve_address.py.
"""

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from feedmill.canonicalise.search import CanonicalOptions
from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import (
    Subscribed,
    spellings_of,
    subscribe_to,
    validate_address,
    with_credentials,
)
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.engine.subscribe.probe import Prober
from feedmill.engine.subscribe.resolve_address import (
    CHOOSE_BEST,
    AddressResolver,
    FeedChoices,
    RecentlySubscribed,
)
from feedmill.engine.subscribe.robots_gate import RobotsGate
from feedmill.fetch.plan import is_trusted, without_credentials
from feedmill.model.feed import Feed, FeedOverrides

__all__ = ["CHOOSE_BEST", "FeedChoices", "Subscriber"]


# Keeps an answer as the first fetch of a new feed; the feed afterwards.
KeepFirst = Callable[[Feed, Answer], Awaitable[Feed]]


class Subscriber:
    """Subscribes to addresses, one after the other or at the same time."""

    def __init__(
        self,
        services: Services,
        options: CanonicalOptions | None = None,
        *,
        keep_first: KeepFirst | None = None,
    ) -> None:
        self.services = services
        self.keep_first = keep_first
        self.options = options or CanonicalOptions()
        self.host_queue = HostQueue(services.clock, services.config.host, services.store)
        self.robots_gate = self._robots_gate(FeedOverrides())
        self.recent = RecentlySubscribed()

    async def subscribe(
        self,
        address: str,
        *,
        title: str | None = None,
        tags: Sequence[str] = (),
        overrides: FeedOverrides | None = None,
        choose: str | None = None,
    ) -> Subscribed | FeedChoices:
        """The feed that the address leads to, new or known; or the feeds to choose among.

        `choose` answers in advance: "best", a number from 1, or one of the addresses. Raises
        AddressError for what may not be fetched, NoFeedError for what is no feed.
        """
        target = validate_address(address, self.services.config.fetch.allow_cidrs)
        known = await self.services.store.find_feed((target.url, address.strip()))
        if known is not None:
            return Subscribed(feed=known, created=False)
        own = with_credentials(overrides, target)
        resolver = self._resolver(spellings_of(address, target), own, choose)
        found = await resolver.run()
        if isinstance(found, FeedChoices):
            return found
        answer = resolver.answer_of(found.url) if self.keep_first is not None else None
        done = await subscribe_to(
            found.url,
            self.services,
            was_fetched=answer is not None,
            aliases=resolver.aliases(found),
            title=title or resolver.title_of(found.url),
            tags=tags,
            overrides=own if is_trusted(found.url, target.url) else without_credentials(own),
        )
        if self.keep_first is not None and answer is not None and done.created:
            done = replace(done, feed=await self.keep_first(done.feed, answer))
        first = resolver.first_answer
        if first is not None:
            self.recent.add(done.feed.id, first)
        return replace(
            done,
            canonical=found,
            requests=resolver.requests,
            digest="" if first is None else first.digest or "",
            page_url=resolver.page_url,
        )

    def prober(self, overrides: FeedOverrides | None = None, given_url: str = "") -> Prober:
        """A prober that shares this subscriber's queue of hosts."""
        return Prober(
            self.services.fetcher,
            self.services.clock,
            self.services.config,
            self.host_queue,
            overrides=overrides,
            given_url=given_url,
        )

    def _resolver(
        self, spellings: Sequence[str], own: FeedOverrides, choose: str | None
    ) -> AddressResolver:
        is_default = own.proxy is None and own.verify_tls
        return AddressResolver(
            spellings,
            self.prober(own, spellings[0]),
            self.services,
            robots_gate=self.robots_gate if is_default else self._robots_gate(own),
            recent=self.recent,
            options=self.options,
            choose=choose,
        )

    def _robots_gate(self, own: FeedOverrides) -> RobotsGate:
        """A gate that fetches robots.txt through the same proxy and TLS check as the feed."""
        return RobotsGate(
            self.services.fetcher,
            self.services.clock,
            self.services.config.fetch,
            self.host_queue,
            verify_tls=own.verify_tls,
            proxy=own.proxy,
        )
