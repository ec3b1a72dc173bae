"""What is known about hosts: their state, since when, what is held for them, and who tries them."""
# Tested in tests/integration/engine/service/feeds/test_hosts.py

from datetime import datetime
from typing import Final

from feedmill.engine.run.services import Services
from feedmill.errors import NotFoundError
from feedmill.model.feed import Feed, HostLane
from feedmill.model.page import HostFilter
from feedmill.publish.cursors import read_cursor, write_cursor
from feedmill.publish.figure_shapes import HostPage, HostShape
from feedmill.schedule.explain import duration_in_words, instant_in_words
from feedmill.schedule.host_pace import host_of_lane, host_state, limited_until

_MOST: Final = 1_000
_USUAL: Final = 100
_SLOWED: Final = 1.05  # a smaller factor makes no difference


async def list_hosts(
    services: Services,
    *,
    troubled: bool = False,
    resting: bool = False,
    text: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> HostPage:
    """Hosts by name, or those with `text` in it; `troubled`: only those with a problem.

    `resting`: only those that are left alone now, those with the most feeds first, one page.
    """
    now = services.clock.now()
    page = await services.store.host_lanes(
        HostFilter(troubled=troubled, resting=resting, text=text),
        now=now,
        after=read_cursor("hosts", cursor),
        limit=_USUAL if limit is None else min(max(limit, 1), _MOST),
    )
    items = tuple(_shape(lane, services, now) for lane in page.items)
    return HostPage(items=items, next=write_cursor("hosts", page.next))


async def get_host(host: str, services: Services) -> HostShape:
    """One host by its name; of a host with several lanes the one that waits longest."""
    now = services.clock.now()
    where = HostFilter(host=host.lower())
    found = (await services.store.host_lanes(where, now=now, limit=_MOST)).items
    if not found:
        message = f"there is no feed of the host {host[:200]!r}"
        raise NotFoundError(message, "`feedmill hosts --all` lists them")
    longest = max(
        found, key=lambda lane: lane.pace.next_ok_at or datetime.min.replace(tzinfo=now.tzinfo)
    )
    whole = HostLane(
        key=longest.key,
        pace=longest.pace,
        feeds=sum(lane.feeds for lane in found),
        due=sum(lane.due for lane in found),
    )
    return _shape(whole, services, now)


def host_in_words(host: HostShape) -> str:
    """How the host is doing, in one sentence without its end."""
    said = []
    why = f" ({host.reason})" if host.reason else ""
    since = f" since {instant_in_words(host.since)}" if host.since is not None else ""
    if host.state == "incident":
        tries = f"; feed {host.canary} tried it last" if host.canary is not None else ""
        said.append(f"fails{why}{since}, {host.failures:,} times in a row{tries}")
    elif host.state == "paused" and host.until is not None:
        said.append(f"pauses{why}{since}")
    elif host.state == "paused":
        said.append(f"paused{why}{since}; the pause is over, and the next poll tries the host")
    elif host.failures:
        times = "once" if host.failures == 1 else f"{host.failures:,} times in a row"
        said.append(f"failed {times}{why}")
    else:
        said.append("well")
    if host.until is not None:
        waiting = "1 feed waits" if host.held == 1 else f"{host.held:,} feeds wait"
        held = f", and {waiting}" if host.held else ""
        said.append(f"left alone until {instant_in_words(host.until)}{held}")
    if host.limited_urls:
        one = "1 address with a pause of its own"
        many = f"{host.limited_urls:,} addresses with a pause of their own"
        said.append(one if host.limited_urls == 1 else many)
    gap = duration_in_words(host.gap_sec) if host.gap_sec >= 1 else f"{host.gap_sec * 1000:.0f} ms"
    slow = f", {host.slow_down:.1f} times the usual" if host.slow_down > _SLOWED else ""
    said.append(f"{gap} between requests{slow}")
    return "; ".join(said)


async def hold_in_words(feed: Feed, services: Services) -> str | None:
    """Why a feed is not polled although its time has come or will come: its host; None when it is free."""
    pace = await services.store.host_pace(feed.url)
    if pace is None or feed.paused:
        return None
    now = services.clock.now()
    own = limited_until(pace, feed.url, now)
    pause = pace.next_ok_at if pace.blocked_reason is not None else None
    until = max((at for at in (own, pause) if at is not None), default=None)
    if until is None or until <= now or feed.next_poll_at >= until:
        return None
    left = duration_in_words((until - now).total_seconds())
    why = f"({pace.blocked_reason or 'unavailable'})"
    since = f" since {instant_in_words(pace.troubled_since)}" if pace.troubled_since else ""
    who = f"; feed {pace.canary} tries it first" if pace.canary not in (None, feed.id) else ""
    what = "this address" if own is not None and own == until else "its host"
    return (
        f"The feed is held: {what} is left alone{since} {why} until {instant_in_words(until)}, for"
        f" another {left}{who}."
    )


def _shape(lane: HostLane, services: Services, now: datetime) -> HostShape:
    pace = lane.pace
    state = host_state(pace, services.config.host)
    until = pace.next_ok_at
    resting = until is not None and until > now and state != "well"
    return HostShape(
        host=host_of_lane(lane.key),
        state=state,
        reason=pace.blocked_reason or pace.failing_with,
        since=pace.troubled_since,
        until=until if resting else None,
        failures=pace.failures,
        canary=pace.canary if state == "incident" else None,
        feeds=lane.feeds,
        due=lane.due,
        held=lane.due if resting else 0,
        limited_urls=sum(end > now for _, end in pace.limited_urls),
        gap_sec=round(pace.gap_ms * pace.slow_down / 1000, 3),
        slow_down=pace.slow_down,
    )
