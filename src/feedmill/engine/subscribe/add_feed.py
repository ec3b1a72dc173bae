"""Adds a feed under its address as given, without a request: one feed per address (D5).

subscriber.py finds out first what an address leads to.
"""
# Tested in tests/integration/engine/subscribe/

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from feedmill.canonicalise.discovery.platforms import PlatformRules, shipped_rules
from feedmill.canonicalise.discovery.search import is_handle, usual_page
from feedmill.canonicalise.pasted_url import resolve_url
from feedmill.canonicalise.urls import hides_ipv4, split_url, strip_userinfo_and_fragment
from feedmill.engine.ports.feeds import FeedStore
from feedmill.engine.run.services import Services
from feedmill.errors import AddressError
from feedmill.fetch.guard import MAX_URL_CHARS, check_url, printable_url
from feedmill.model.base import Value
from feedmill.model.canonical import Canonical
from feedmill.model.feed import Feed, FeedOverrides, NewFeed
from feedmill.model.fetch import Refused
from feedmill.publish.events import event_of_new_feed
from feedmill.schedule.decide import own_schedule
from feedmill.schedule.interval import initial_state

_EXAMPLE: Final = "give one like https://example.com/feed"
_WHICH_PLATFORM: Final = (
    "say where: @name@social.example, @name.bsky.social, youtube:@name, or the address of the page"
)
_NOT_PUBLIC: Final = {
    "private-address": "is a private address",
    "local-name": "is a name of a private network",
    "dotless-name": "is a name of a private network",
    "bad-port": "is a port of another protocol",
}


class FeedAddress(NamedTuple):
    """An address that can be subscribed to; credentials have left the URL, a handle has become a page."""

    url: str
    username: str | None = None
    password: str | None = None


class Subscribed(Value):
    """The feed that an address leads to, and whether it is new here."""

    feed: Feed
    created: bool
    canonical: Canonical | None = None  # how its address was found; None: no request was made
    requests: int = 0
    digest: str = ""  # of the document that was seen on the way
    page_url: str | None = None  # the page on which the feed was found, if it was
    is_guess: bool = False  # the page names no feed; a usual address was tried
    chosen_for: str = ""  # why this one of several formats


def validate_address(
    address: str, allow_cidrs: Sequence[str] = (), rules: PlatformRules | None = None
) -> FeedAddress:
    """A pasted address or handle as a URL; AddressError when it cannot be fetched."""
    if len(address) > MAX_URL_CHARS:
        detail = f"{len(address):,} characters, and {MAX_URL_CHARS:,} are the most"
        raise refusal(address, Refused(reason="too-long", detail=detail))
    url = resolve_url(address)
    if url is None and is_handle(address):
        url = usual_page(address)
    if url is None:
        url = (rules or shipped_rules()).page_of_handle(address)
    if url is None:
        message = f"invalid address {printable_url(address)!r}: this is not a web address"
        hint = _WHICH_PLATFORM if address.strip().startswith("@") else _EXAMPLE
        raise AddressError(message, reason="malformed-url", hint=hint)
    if hides_ipv4(address, url):  # 010.0.0.1 is 8.0.0.1 to a browser, and not to a person
        hidden = Refused(reason="non-canonical-ipv4", detail=printable_url(address))
        raise refusal(address, hidden)
    plain, own = split_credentials(url)
    verdict = check_url(plain, allow_cidrs=allow_cidrs)
    if isinstance(verdict, Refused):
        raise refusal(address, verdict)
    return FeedAddress(plain, own.username, own.password)


def split_credentials(address: str) -> tuple[str, FeedOverrides]:
    """A pasted address in two parts: the URL, and the credentials in it."""
    url = resolve_url(address)
    if url is None:
        return "", FeedOverrides()
    parts = split_url(url)
    plain = strip_userinfo_and_fragment(url)
    if not parts.userinfo:
        return plain, FeedOverrides()
    username, _, password = parts.userinfo.partition(":")
    return plain, FeedOverrides(username=unquote(username), password=unquote(password))


async def subscribe_unchecked(
    address: str,
    services: Services,
    *,
    title: str | None = None,
    tags: Sequence[str] = (),
    overrides: FeedOverrides | None = None,
) -> Subscribed:
    """Add a feed by its address, or find it by any of its aliases.

    Credentials in the address become the feed's own and are stored apart from it.
    """
    target = validate_address(address, services.config.fetch.allow_cidrs, services.rules)
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
    was_fetched: bool = False,
) -> Subscribed:
    """Add a feed under a checked address; one that is known gets the other addresses as aliases.

    One whose document `was_fetched` is not due before that document is stored.
    """
    now, own = services.clock.now(), overrides or FeedOverrides()
    state = initial_state(own_schedule(own, services.config.schedule))
    wait = timedelta(seconds=state.interval_sec if was_fetched else 0)
    new = NewFeed(
        id=services.clock.new_id(),
        url=url,
        created_at=now,
        next_poll_at=now + wait,
        schedule=state,
        aliases=tuple(dict.fromkeys((url, *aliases))),
        title=title,
        tags=tuple(sorted(set(tags))),
        overrides=own,
    )
    feed, created = await services.store.add_feed(new, (event_of_new_feed(new),))
    return Subscribed(feed=feed, created=created)


async def add_tags(feed: Feed, tags: Sequence[str], store: FeedStore) -> Feed:
    """The feed with these tags besides its own."""
    all_tags = tuple(sorted({*feed.tags, *tags}))
    if all_tags == tuple(sorted(feed.tags)):
        return feed
    filed = replace(feed, tags=all_tags)
    await store.change_feed(filed)
    return filed


def with_credentials(overrides: FeedOverrides | None, target: FeedAddress) -> FeedOverrides:
    """The feed's own settings with the credentials from its address."""
    own = overrides or FeedOverrides()
    if target.username is None or own.username is not None:
        return own
    return replace(own, username=target.username, password=target.password)


def spellings_of(address: str, target: FeedAddress) -> tuple[str, ...]:
    """The addresses to find it by: as it was written, unless it contains credentials."""
    return (target.url,) if target.username is not None else (target.url, address.strip())


def refusal(address: str, refused: Refused, kind: str = "address") -> AddressError:
    """The error for an address that the egress guard refuses: what is wrong, and how to allow it."""
    why, hint = f"{refused.reason} ({refused.detail})", _EXAMPLE
    if refused.reason == "non-canonical-ipv4":
        why, hint = "an IPv4 address has four decimal numbers", "write it like 192.0.2.1"
    if refused.reason == "scheme":
        why = "only http and https are allowed"
    if refused.reason in _NOT_PUBLIC:
        why = f"{refused.detail} {_NOT_PUBLIC[refused.reason]}"
        hint = "to allow it, add its network to FEEDMILL_EGRESS_ALLOW_CIDRS"
    if refused.reason == "private-address":
        bits = 128 if ":" in refused.detail else 32
        hint = f"to allow it: FEEDMILL_EGRESS_ALLOW_CIDRS={refused.detail}/{bits}"
    message = f"invalid {kind} {printable_url(address)!r}: {why}"
    return AddressError(message, reason=refused.reason, hint=hint)
