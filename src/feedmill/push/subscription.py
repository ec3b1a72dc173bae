"""The subscriber's side of WebSub without I/O: requests, challenges, renewal, the next hub (§5).

discover   hubs and topic: Link header, then the document (§4)      announced_push
ask        POST hub.mode=subscribe to the hub                          subscribe_form
answered   202: it will verify; 307, 308: ask there; 4xx: no; 5xx: later   judge_answer
verify     GET callback?hub.mode=subscribe&hub.challenge=…             judge_challenge
renew      ask again at 80 % of the lease                              renew_at

Trust in a hub by evidence: entries that pings brought first against entries that polls found (D41).

While trust is high the poll of a feed is a slow safety check. One entry found by a poll ends the
trust, of the feed at once and of the other feeds of that hub until the hub has pushed again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from feedmill.canonicalise.discovery.html_page import read_page
from feedmill.canonicalise.urls import http_url
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value
from feedmill.model.feed import HubTally, PushSubscription
from feedmill.model.parsed import Link
from feedmill.push.hub import encode_form

MAX_LEASE: Final = timedelta(days=14)
_RENEW_AT: Final = 0.8  # of the lease
_MAX_CHALLENGE_CHARS: Final = 4_096
_MAX_LEASE_DIGITS: Final = 12
_REASON_CHARS: Final = 200

Mode = Literal["subscribe", "unsubscribe"]
MAX_HUBS = 8
_SILENT_AFTER = timedelta(days=7)  # a hub that never pushed is named after this


class Accepted(Value):
    """The hub will verify the request."""


class Redirected(Value):
    """The hub lives elsewhere (307, 308: the same request there)."""

    url: str


class Refused(Value):
    """The hub will not do it; another one may."""

    reason: str


class Unavailable(Value):
    """No usable answer: ask again later."""

    reason: str


HubAnswer = Accepted | Redirected | Refused | Unavailable


class Confirmed(Value):
    """The challenge to echo, and how long the subscription holds."""

    challenge: str
    mode: Mode
    lease: timedelta


class Denied(Value):
    """The hub says that it will not serve the topic (§5.2)."""

    reason: str


class NotOurs(Value):
    """A request that no subscription of ours explains: 404."""


Challenge = Confirmed | Denied | NotOurs


def subscribe_form(
    subscription: PushSubscription, *, callback: str, lease_sec: int, mode: Mode = "subscribe"
) -> bytes:
    """The body of the request to the hub."""
    fields = {"hub.mode": mode, "hub.topic": subscription.topic, "hub.callback": callback}
    if mode == "subscribe":
        fields |= {"hub.secret": subscription.secret, "hub.lease_seconds": str(lease_sec)}
    return encode_form(fields).encode()


def callback_url(public_url: str, token: str) -> str:
    """Where the hub reaches us."""
    return f"{public_url.rstrip('/')}/push/{token}"


def judge_answer(url: str, status: int | None, location: str | None, error: str) -> HubAnswer:
    """What the hub's answer to a request means."""
    if status is None:
        return Unavailable(reason=error or "connection-failed")
    if 200 <= status < 300:
        return Accepted()
    if status in (307, 308):
        target = None if location is None else http_url(location, url)
        return Refused(reason="bad-redirect") if target is None else Redirected(url=target)
    if status in (408, 425, 429) or status >= 500:
        return Unavailable(reason=f"http-{status}")
    return Refused(reason=f"http-{status}")


def judge_challenge(
    query: Mapping[str, str], known: PushSubscription, *, asked_lease_sec: int
) -> Challenge:
    """What a GET to the callback means for the subscription that its path names (§5.3)."""
    mode, topic = query.get("hub.mode", ""), query.get("hub.topic", "")
    if topic != known.topic:
        return NotOurs()
    if mode == "denied":
        return Denied(reason=query.get("hub.reason", "")[:_REASON_CHARS])
    challenge = query.get("hub.challenge", "")
    if not 0 < len(challenge) <= _MAX_CHALLENGE_CHARS:
        return NotOurs()
    if mode == "subscribe" and known.state in ("asked", "active", "unverified"):
        lease = _lease(query.get("hub.lease_seconds"), asked_lease_sec)
        return Confirmed(challenge=challenge, mode="subscribe", lease=lease)
    if mode == "unsubscribe" and known.state == "unsubscribing":
        return Confirmed(challenge=challenge, mode="unsubscribe", lease=timedelta(0))
    return NotOurs()


def is_own_document(self_url: str | None, *addresses: str | None) -> bool:
    """False when a document that was pushed says that its address is none of its feed's."""
    return self_url is None or self_url in addresses


def renew_at(subscription: PushSubscription) -> datetime | None:
    """When an active subscription is asked for again: at 80 % of its lease."""
    begun, until = subscription.verified_at, subscription.lease_until
    if begun is None or until is None:
        return None
    return begun + (until - begun) * _RENEW_AT


def next_hub(hubs: Sequence[str], tried: Sequence[str]) -> str | None:
    """The first hub that was not tried; None when all were."""
    return next((hub for hub in hubs if hub not in tried), None)


def _lease(given: str | None, asked_sec: int) -> timedelta:
    """What the hub grants, at most 14 days; what was asked for when it does not say."""
    is_number = given is not None and given.isascii() and given.isdigit()
    seconds = int(given) if is_number and given and len(given) <= _MAX_LEASE_DIGITS else asked_sec
    return min(timedelta(seconds=max(seconds, 1)), MAX_LEASE)


class Announced(Value):
    """The hubs that a publisher announces, the preferred one first, and the topic to subscribe to."""

    hubs: tuple[str, ...]
    topic: str


def announced_push(
    links: Sequence[Link], *, hubs: Sequence[str], self_url: str | None, url: str
) -> Announced | None:
    """What an answer from `url` announces; None without a hub.

    `links` are those of the Link header, `hubs` and `self_url` those of the document. The header
    comes first; hubs that only the document names are further ones to fall back to.
    """
    found = [*_targets(links, "hub"), *hubs]
    usable = tuple(dict.fromkeys(href for hub in found if (href := http_url(hub)) is not None))
    if not usable:
        return None
    own = next(iter(_targets(links, "self")), None) or self_url
    topic = None if own is None else http_url(own)
    return Announced(hubs=usable[:MAX_HUBS], topic=topic or url)


def announced_on_page(body: bytes, content_type: str | None, url: str) -> Announced | None:
    """What the `link` elements of an HTML page announce."""
    page = read_page(body, url, content_type=content_type)
    links = [
        Link(href=href, rel=element.get("rel"))
        for element in page.links
        if (href := http_url(element.get("href"), page.base)) is not None
    ]
    return announced_push(links, hubs=(), self_url=None, url=url)


def _targets(links: Sequence[Link], rel: str) -> list[str]:
    return [link.href for link in links if rel in (link.rel or "").lower().split()]


def live_subscription(
    subscriptions: tuple[PushSubscription, ...], now: datetime
) -> PushSubscription | None:
    """The subscription under which a hub may push now."""
    return next(
        (
            one
            for one in subscriptions
            if one.state == "active" and one.lease_until is not None and now < one.lease_until
        ),
        None,
    )


def is_trusted(
    subscription: PushSubscription | None, hub: HubTally | None, *, trust_after: int
) -> bool:
    """True while the hub pushes what the feed publishes; `hub` is the tally of all its feeds."""
    if subscription is None or subscription.streak < trust_after:
        return False
    if hub is None or hub.missed_at is None:
        return True
    return hub.last_push_at is not None and hub.last_push_at > hub.missed_at


def counts_as_missed(
    subscription: PushSubscription | None, *, last_fetch_at: datetime | None
) -> bool:
    """True when a new entry of a poll is one that the hub should have pushed.

    The first poll after the verification may bring entries from before it.
    """
    return (
        subscription is not None
        and subscription.verified_at is not None
        and last_fetch_at is not None
        and last_fetch_at >= subscription.verified_at
    )


def never_pushes(hub: HubTally, now: datetime) -> bool:
    """True when a hub accepted subscriptions and has delivered nothing, although there was something or time."""
    if hub.active == 0 or hub.pushes > 0:
        return False
    return hub.by_poll > 0 or now - (hub.verified_at or now) >= _SILENT_AFTER


def hub_in_words(hub: HubTally, now: datetime) -> str:
    """What is known of a hub, in one sentence."""
    address = mask_address(hub.hub)
    if hub.active == 0:
        return f"{address} has no active subscription."
    if hub.pushes == 0:
        begun = hub.verified_at or now
        days = (now - begun) // timedelta(days=1)
        if not never_pushes(hub, now):
            return (
                f"{address} has not pushed yet; it accepted {_count(hub.active)} {days} days ago."
            )
        missed = f" and polls found {hub.by_poll} entries first" if hub.by_poll else ""
        return (
            f"{address} accepted {_count(hub.active)} {days} days ago and has never pushed{missed}."
        )
    total = hub.by_push + hub.by_poll
    if total == 0:
        return f"{address} pushed {hub.pushes} times, never anything new."
    share = round(100 * hub.by_push / total)
    return f"{address} brought {hub.by_push} of {total} new entries first ({share} %)."


def push_in_words(
    subscriptions: tuple[PushSubscription, ...],
    now: datetime,
    *,
    trusted: bool,
    safety_poll: timedelta,
) -> str:
    """The state of push for one feed, in one sentence."""
    live = live_subscription(subscriptions, now)
    if live is None:
        if not subscriptions:
            return "Push: not subscribed to any hub."
        last = subscriptions[0]
        because = f": {last.last_error}" if last.last_error else ""
        return f"Push: no hub delivers; {mask_address(last.hub)} is {last.state}{because}."
    hub = mask_address(live.hub)
    evidence = f"{live.by_push} entries came by push, {live.by_poll} were found by polling first"
    if trusted:
        hours = round(safety_poll / timedelta(hours=1))
        return (
            f"Push: {hub} delivers and is trusted ({evidence}); the feed is polled every"
            f" {hours} h as a safety check."
        )
    return f"Push: {hub} is subscribed and not trusted yet ({evidence}); polls keep their pace."


def _count(number: int) -> str:
    return "1 subscription" if number == 1 else f"{number} subscriptions"
