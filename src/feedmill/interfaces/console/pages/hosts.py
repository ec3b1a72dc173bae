"""Hosts: pace, incidents, pauses, and the feeds that wait."""
# Tested in tests/integration/interfaces/console/test_hosts.py

from typing import Any, Final
from urllib.parse import urlencode

from feedmill.engine.service.feed_health import health_in_brief
from feedmill.engine.service.hosts import get_host, host_in_words, list_hosts, list_hubs
from feedmill.interfaces.console.pages.feeds import mark_of
from feedmill.interfaces.console.render import view
from feedmill.interfaces.console.session import text_field
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.page import FeedFilter
from feedmill.publish.figure_shapes import HostShape

HERE: Final = "/console/hosts"
_PER_PAGE: Final = 50
_FEEDS: Final = 50
_MARKS: Final = {"incident": "theirs", "paused": "host"}


@view("/console/hosts", "hosts.html", "Hosts")
async def hosts(request: AnyRequest) -> dict[str, Any]:
    """A page of the list."""
    services, given = services_of(request), request.query_params
    text = text_field(given, "text")
    troubled = given.get("troubled") == "1"
    found = await list_hosts(
        services,
        troubled=troubled,
        text=text or None,
        cursor=given.get("cursor") or None,
        limit=_PER_PAGE,
    )
    chosen = {"text": text, "troubled": "1" if troubled else "", "cursor": found.next or ""}
    return {
        "hosts": [(one, host_mark(one), host_in_words(one)) for one in found.items],
        "text": text,
        "troubled": troubled,
        "next": f"{HERE}?{urlencode(chosen)}" if found.next else None,
        "is_first": "cursor" not in given,
        "hubs": (await list_hubs(services)).items,
    }


@view("/console/hosts/{host:str}", "host.html", here=HERE)
async def host(request: AnyRequest) -> dict[str, Any]:
    """One host, and its feeds in the order of their next poll."""
    services, name = services_of(request), str(request.path_params["host"])
    found = await get_host(name, services)
    where = FeedFilter(host=found.host, order="next-poll")
    feeds = await services.store.find_feeds(where, limit=_FEEDS)
    return {
        "title": found.host,
        "host": found,
        "mark": host_mark(found),
        "words": host_in_words(found),
        "feeds": [(one, health_in_brief(one), mark_of(one)) for one in feeds.items],
        "has_more": feeds.next is not None,
    }


def host_mark(one: HostShape) -> str:
    """The colour of a host's state."""
    return _MARKS.get(one.state, "theirs" if one.failures else "ok")
