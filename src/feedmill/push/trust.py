"""Trust in a hub by evidence: entries that pings brought first against entries that polls found (D41).

While trust is high the poll of a feed is a slow safety check. One entry found by a poll ends the
trust, of the feed at once and of the other feeds of that hub until the hub has pushed again.
"""

from datetime import datetime, timedelta

from feedmill.model.addresses import mask_address
from feedmill.model.push import HubTally, PushSubscription

_SILENT_AFTER = timedelta(days=7)  # a hub that never pushed is named after this


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
