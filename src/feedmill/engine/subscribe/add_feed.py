"""Subscribing to an address as it is: one feed per address, whoever adds it, how often ever (D5).

Nothing is asked of the network here; engine/subscribe/subscriber.py finds out first what an address leads to.
"""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from feedmill.canonicalise.pasted_url import resolve_url
from feedmill.canonicalise.urls import split_url, strip_userinfo_and_fragment
from feedmill.engine.run.services import Services
from feedmill.errors import AddressError
from feedmill.fetch.guard import check_url, printable_url
from feedmill.model.base import Value
from feedmill.model.canonical import Canonical
from feedmill.model.feed import Feed, FeedOverrides, NewFeed
from feedmill.model.fetch import Refused
from feedmill.publish.events import event_of_new_feed
from feedmill.schedule.feed_state import initial_state

_CLOSED = {
    "private-address": "is not on the public internet",
    "local-name": "is a name of a private network",
    "dotless-name": "is a name of a private network",
    "bad-port": "is a port of another protocol",
}
_OPENING = "if you trust it, open its network: FEEDMILL_EGRESS_ALLOW_CIDRS=127.0.0.0/8, say"


class FeedAddress(NamedTuple):
    """An address that can be subscribed to; credentials have left the URL."""

    url: str
    username: str | None = None
    password: str | None = None


class Subscribed(Value):
    """The feed that an address leads to, and whether it is new here."""

    feed: Feed
    created: bool
    canonical: Canonical | None = None  # how its address was found; None: nothing was asked
    requests: int = 0
    digest: str = ""  # of the document that was seen on the way
    page_url: str | None = None  # the page on which the feed was found, if it was


def validate_address(address: str, allow_cidrs: Sequence[str] = ()) -> FeedAddress:
    """The address that somebody meant, put right; AddressError when it cannot be fetched."""
    url = resolve_url(address)
    if url is None:
        message = f"{printable_url(address)!r} is no web address"
        hint = "give one like https://example.com/feed"
        raise AddressError(message, reason="malformed-url", hint=hint)
    parts = split_url(url)
    plain = strip_userinfo_and_fragment(url)
    verdict = check_url(plain, allow_cidrs=allow_cidrs)
    if isinstance(verdict, Refused):
        raise _refusal(address, verdict)
    if not parts.userinfo:
        return FeedAddress(plain)
    username, _, password = parts.userinfo.partition(":")
    return FeedAddress(plain, unquote(username), unquote(password))


async def subscribe(
    address: str,
    services: Services,
    *,
    title: str | None = None,
    tags: Sequence[str] = (),
    overrides: FeedOverrides | None = None,
) -> Subscribed:
    """Add a feed by its address, or find it under any address it was ever met at.

    Credentials in the address become the feed's own and are stored apart from it.
    """
    target = validate_address(address, services.config.fetch.allow_cidrs)
    known = await services.store.find_feed((target.url, address.strip()))
    if known is not None:
        return Subscribed(feed=known, created=False)
    return await subscribe_to(
        target.url,
        services,
        aliases=spellings_of(address, target),
        title=title,
        tags=tags,
        overrides=with_credentials(overrides, target),
    )


async def subscribe_to(
    url: str,
    services: Services,
    *,
    aliases: Sequence[str] = (),
    title: str | None = None,
    tags: Sequence[str] = (),
    overrides: FeedOverrides | None = None,
) -> Subscribed:
    """Add a feed under an address that was checked; known under any of them, it learns the rest."""
    now = services.clock.now()
    new = NewFeed(
        id=services.clock.new_id(),
        url=url,
        created_at=now,
        next_poll_at=now,
        schedule=initial_state(services.config.schedule),
        aliases=tuple(dict.fromkeys((url, *aliases))),
        title=title,
        tags=tuple(sorted(set(tags))),
        overrides=overrides or FeedOverrides(),
    )
    feed, created = await services.store.add_feed(new, (event_of_new_feed(new),))
    return Subscribed(feed=feed, created=created)


async def add_tags(feed: Feed, tags: Sequence[str], services: Services) -> Feed:
    """The feed with these tags besides its own."""
    all_tags = tuple(sorted({*feed.tags, *tags}))
    if all_tags == tuple(sorted(feed.tags)):
        return feed
    filed = replace(feed, tags=all_tags)
    await services.store.change_feed(filed)
    return filed


def with_credentials(overrides: FeedOverrides | None, target: FeedAddress) -> FeedOverrides:
    """The feed's own settings with the credentials that stood in its address."""
    own = overrides or FeedOverrides()
    if target.username is None or own.username is not None:
        return own
    return replace(own, username=target.username, password=target.password)


def spellings_of(address: str, target: FeedAddress) -> tuple[str, ...]:
    """The addresses to find it by: as it was written, unless credentials stand in it."""
    return (target.url,) if target.username is not None else (target.url, address.strip())


def _refusal(address: str, refused: Refused) -> AddressError:
    closed = _CLOSED.get(refused.reason)
    why = f"{refused.detail} {closed}" if closed else refused.reason
    message = f"{printable_url(address)!r} is not fetched: {why}"
    hint = _OPENING if closed else "give one like https://example.com/feed"
    return AddressError(message, reason=refused.reason, hint=hint)
