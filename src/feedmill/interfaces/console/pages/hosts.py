"""Hosts: pace, incidents, pauses, and the feeds that wait."""
# Tested in tests/integration/interfaces/console/test_hosts.py

from datetime import datetime
from typing import Final, cast, get_args
from urllib.parse import urlencode

from litestar import Response, Router, get

from feedmill.engine.service.feed_health import health_in_brief
from feedmill.errors import NotFoundError
from feedmill.interfaces.console.pages.feeds import mark_of
from feedmill.interfaces.console.render import duration, page, relative
from feedmill.interfaces.console.session import SCOPE
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.host import HostFilter, HostState, HostView
from feedmill.model.page import FeedFilter
from feedmill.publish.cursors import read_cursor, write_cursor

HERE: Final = "/console/hosts"
_PER_PAGE: Final = 50
_MOST_CHARS: Final = 200
_LANES: Final = 50  # of one host that are shown
_FEEDS: Final = 50


@get("/console/hosts", opt={SCOPE: "read"})
async def hosts(request: AnyRequest) -> Response[bytes]:
    """A page of the list."""
    services, given = services_of(request), request.query_params
    now, state = services.clock.now(), given.get("state")
    where = HostFilter(
        text=str(given.get("text") or "").strip()[:_MOST_CHARS] or None,
        state=cast("HostState", state) if state in get_args(HostState) else None,
    )
    after = read_cursor("console-hosts", given.get("cursor") or None)
    after_key = None if after is None else bytes.fromhex(after).decode()
    found = await services.store.hosts(where, now=now, after=after_key, limit=_PER_PAGE)
    following = None if found.next is None else found.next.encode().hex()
    chosen = {"text": where.text or "", "state": where.state or ""}
    query = urlencode({**chosen, "cursor": write_cursor("console-hosts", following) or ""})
    return page(
        request,
        "hosts.html",
        title="Hosts",
        here=HERE,
        hosts=[(one, host_mark(one, now), host_in_words(one, now)) for one in found.items],
        states=get_args(HostState),
        where=where,
        next=f"{HERE}?{query}" if following else None,
        is_first=after is None,
    )


@get("/console/hosts/{host:str}", opt={SCOPE: "read"})
async def host(request: AnyRequest) -> Response[bytes]:
    """One host: its lanes, and its feeds in the order of their next poll."""
    services, name = services_of(request), str(request.path_params["host"])
    now = services.clock.now()
    lanes = (await services.store.hosts(HostFilter(host=name), now=now, limit=_LANES)).items
    if not lanes:
        message = f"no feed lives at {name[:200]!r}"
        raise NotFoundError(message)
    feeds = await services.store.find_feeds(FeedFilter(host=name, order="next-poll"), limit=_FEEDS)
    return page(
        request,
        "host.html",
        title=name,
        here=HERE,
        host=name,
        lanes=[(one, host_mark(one, now), host_in_words(one, now)) for one in lanes],
        feeds=[(one, health_in_brief(one), mark_of(one)) for one in feeds.items],
        has_more=feeds.next is not None,
    )


def host_mark(one: HostView, now: datetime) -> str:
    """The colour of a host's state."""
    if one.rests(now):
        return "host"
    return "theirs" if one.failures else "ok"


def host_in_words(one: HostView, now: datetime) -> str:
    """What holds a host up, or that nothing does."""
    said = []
    if one.rests(now) and one.rests_until is not None:
        waiting = f"; {one.due:,} feeds wait" if one.due else ""
        said.append(f"left alone ({one.reason}), again {relative(one.rests_until, now)}{waiting}")
    if one.failures:
        times = "once" if one.failures == 1 else f"{one.failures} times in a row"
        said.append(f"failed {times} ({one.failing_with})")
    if one.slow_down > 1.01:  # a hundredth is no difference
        said.append(f"slowed down {one.slow_down:.1f} times")
    if one.owner is not None:
        said.append(f"polled by {one.owner}")
    gap = duration(one.gap_ms / 1000) if one.gap_ms else "no"
    said.append(f"{gap} between requests")
    return "; ".join(said)


host_pages = Router("/", route_handlers=[hosts, host])
