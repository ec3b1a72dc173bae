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
from typing import Unpack

from msgspec.structs import replace

from feedmill.canonicalise.search import CanonicalOptions
from feedmill.engine.documents.fetch_document import Answer
from feedmill.engine.ports.io import FetchOptions, Getter
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe import add_feed
from feedmill.engine.subscribe.canonicalise import Prober
from feedmill.engine.subscribe.host_queue import HostQueue, RobotsGate, RobotsOrigin
from feedmill.engine.subscribe.resolve_address import (
    CHOOSE_BEST,
    AddressResolver,
    FeedChoices,
    RecentlySubscribed,
)
from feedmill.engine.subscribe.same_feed import merge_with_twins
from feedmill.fetch.plan import is_trusted, without_credentials
from feedmill.model.canonical import Discovered
from feedmill.model.feed import Feed, FeedOverrides
from feedmill.model.fetch import FetchPlan, RawResponse

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
        self._origins: dict[str, RobotsOrigin] = {}  # robots.txt files that were read
        self.recent = RecentlySubscribed()

    async def subscribe(
        self,
        address: str,
        *,
        title: str | None = None,
        tags: Sequence[str] = (),
        overrides: FeedOverrides | None = None,
        choose: str | None = None,
        budget: int | None = None,
    ) -> add_feed.Subscribed | FeedChoices:
        """The feed that the address leads to, new or known; or the feeds to choose among.

        `choose` answers in advance: "best", a number from 1, or one of the addresses; `budget` limits
        the requests of a search for feeds. Raises AddressError for what may not be fetched, NoFeedError
        for what is no feed.
        """
        target = self._target(address)
        known = await self.services.store.find_feed((target.url, address.strip()))
        if known is not None:
            return add_feed.Subscribed(feed=known, created=False)
        own = add_feed.with_credentials(overrides, target)
        fetcher = CountedFetcher(self.services.fetcher)
        spellings = add_feed.spellings_of(address, target)
        resolver = self._resolver(spellings, own, fetcher, choose=choose, budget=budget)
        found = await resolver.run()
        if isinstance(found, FeedChoices):
            return replace(found, requests=fetcher.requests)
        answer = resolver.answer_of(found.url) if self.keep_first is not None else None
        done = await add_feed.subscribe_to(
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
        if self.keep_first is not None and done.created and first is not None:
            kept = await merge_with_twins(done.feed, first, self.services)
            done = replace(done, feed=kept, created=kept.id == done.feed.id)
        if first is not None:
            self.recent.add(done.feed.id, first)
        return replace(
            done,
            canonical=found,
            requests=fetcher.requests,
            chosen_for=resolver.chosen_for,
            digest="" if first is None else first.digest or "",
            page_url=resolver.page_url,
            is_guess=resolver.is_guess,
        )

    async def discover(self, address: str, *, budget: int | None = None) -> Discovered:
        """Every feed that the address leads to; nothing is stored."""
        target = self._target(address)
        fetcher, own = (
            CountedFetcher(self.services.fetcher),
            add_feed.with_credentials(None, target),
        )
        spellings = add_feed.spellings_of(address, target)
        resolver = self._resolver(spellings, own, fetcher, budget=budget, knows_feeds=False)
        found = await resolver.look()
        return replace(found, requests=fetcher.requests)

    def prober(
        self,
        overrides: FeedOverrides | None = None,
        given_url: str = "",
        fetcher: Getter | None = None,
    ) -> Prober:
        """A prober that shares this subscriber's queue of hosts."""
        return Prober(
            fetcher or self.services.fetcher,
            self.services.clock,
            self.services.config,
            self.host_queue,
            overrides=overrides,
            given_url=given_url,
        )

    def _target(self, address: str) -> add_feed.FeedAddress:
        services = self.services
        return add_feed.validate_address(address, services.config.fetch.allow_cidrs, services.rules)

    def _resolver(
        self,
        spellings: Sequence[str],
        own: FeedOverrides,
        fetcher: Getter,
        *,
        choose: str | None = None,
        budget: int | None = None,
        knows_feeds: bool = True,
    ) -> AddressResolver:
        is_default = own.proxy is None and own.verify_tls
        gate = RobotsGate(
            fetcher,
            self.services.clock,
            self.services.config.fetch,
            self.host_queue,
            verify_tls=own.verify_tls,  # the same proxy and TLS check as for the feed
            proxy=own.proxy,
            origins=self._origins if is_default else None,
        )
        return AddressResolver(
            spellings,
            self.prober(own, spellings[0], fetcher),
            self.services,
            robots_gate=gate,
            recent=self.recent,
            options=self.options,
            choose=choose,
            budget=budget,
            knows_feeds=knows_feeds,
        )


class CountedFetcher:
    """Passes requests on and counts those that were sent: robots.txt and every redirect included."""

    def __init__(self, fetcher: Getter) -> None:
        self._fetcher = fetcher
        self.requests = 0

    async def fetch(self, plan: FetchPlan, **how: Unpack[FetchOptions]) -> RawResponse:
        response = await self._fetcher.fetch(plan, **how)
        self.requests += len(response.hops) + int(response.error != "private-address")
        return response
