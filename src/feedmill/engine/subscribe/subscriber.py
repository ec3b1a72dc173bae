"""Subscribing to whatever a person pastes: it becomes the one right feed, or says why not.

    known      the address is one of a feed's: no request
    platform   the address itself tells where its feed is
    search     the feed at the address, under its best name (canonicalise/search.py)
    discover   a page instead: the feeds that it leads to
    subscribe  under the proven name; every address seen to serve it is an alias (D5)

A desk serves many visitors: it keeps the manners towards hosts, the robots.txt it has read and the
faces of the feeds it took in. The steps between are in visit.py.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from feedmill.canonicalise.search import CanonicalOptions
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.add_feed import (
    Subscribed,
    spellings_of,
    subscribe_to,
    validate_address,
    with_credentials,
)
from feedmill.engine.subscribe.faces import RecentlySubscribed
from feedmill.engine.subscribe.host_queue import HostQueue
from feedmill.engine.subscribe.probe import Prober
from feedmill.engine.subscribe.resolve_address import CHOOSE_BEST, AddressResolver, FeedChoices
from feedmill.engine.subscribe.robots_gate import RobotsGate
from feedmill.fetch.plan import is_trusted, without_credentials
from feedmill.model.feed import FeedOverrides

__all__ = ["CHOOSE_BEST", "FeedChoices", "Subscriber"]


class Subscriber:
    """Where subscriptions are taken."""

    def __init__(self, services: Services, options: CanonicalOptions | None = None) -> None:
        self.services = services
        self.options = options or CanonicalOptions()
        self.manners = HostQueue(
            services.clock,
            services.config.host,
            remember=services.store.host_pace,
            leave=services.store.limit_host,
        )
        self.gate = RobotsGate(
            services.fetcher, services.clock, services.config.fetch, self.manners
        )
        self.faces = RecentlySubscribed()

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
        visit = self._visit(spellings_of(address, target), own, choose)
        found = await visit.run()
        if isinstance(found, FeedChoices):
            return found
        done = await subscribe_to(
            found.url,
            self.services,
            aliases=visit.aliases(found),
            title=title or visit.title_of(found.url),
            tags=tags,
            overrides=own if is_trusted(found.url, target.url) else without_credentials(own),
        )
        face = visit.first_answer
        if face is not None:
            self.faces.add(done.feed.id, face)
        digest = "" if face is None else face.digest or ""
        return replace(
            done,
            canonical=found,
            requests=visit.requests,
            digest=digest,
            page_url=visit.page_url,
        )

    def _visit(
        self, spellings: Sequence[str], own: FeedOverrides, choose: str | None
    ) -> AddressResolver:
        prober = Prober(
            self.services.fetcher,
            self.services.clock,
            self.services.config,
            self.manners,
            overrides=own,
            given_url=spellings[0],
        )
        return AddressResolver(
            spellings,
            prober,
            self.services,
            gate=self.robots_gate_for(own),
            faces=self.faces,
            options=self.options,
            choose=choose,
        )

    def robots_gate_for(self, own: FeedOverrides) -> RobotsGate:
        """The gate that asks on the same way as everybody else does for that feed."""
        if own.proxy is None and own.verify_tls:
            return self.gate
        services = self.services
        return RobotsGate(
            services.fetcher,
            services.clock,
            services.config.fetch,
            self.manners,
            verify_tls=own.verify_tls,
            proxy=own.proxy,
        )
