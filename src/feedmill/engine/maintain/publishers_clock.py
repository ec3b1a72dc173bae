"""Compares the clock with the Date of publishers' answers: by a clock that is ahead, everything would be too old to keep."""
# Tested in tests/integration/engine/maintain/test_publishers_clock.py

from datetime import datetime, timedelta
from statistics import median_low
from typing import Final, Protocol

from feedmill.canonicalise.urls import split_url
from feedmill.engine.ports.entries import FetchStore
from feedmill.engine.ports.feeds import FeedStore
from feedmill.errors import ConflictError
from feedmill.fetch.caching import lead_over_server

FAR_AHEAD: Final = timedelta(days=1)
_RECENT: Final = timedelta(days=1)  # an earlier answer says nothing about the clock of today
_HOSTS: Final = 50
_FEEDS: Final = 1_000  # that are looked at


class PolledStore(FeedStore, FetchStore, Protocol):
    """Feeds and their fetches."""


async def check_clock(store: PolledStore, now: datetime) -> None:
    """ConflictError when the clock is more than a day ahead of the publishers that answered in the last day.

    The median of their hosts decides, so that one of them with a wrong date changes nothing. Nothing is known where none
    has answered.
    """
    leads: dict[str, timedelta] = {}
    for feed in (await store.feeds(limit=_FEEDS)).items:
        host = split_url(feed.url).host
        if host in leads or not _is_recent(feed.last_fetch_at, now):
            continue
        for fetch in (await store.fetches(feed.id, limit=1)).items:
            lead = lead_over_server(fetch.response_headers, fetch.fetched_at)
            if lead is not None and _is_recent(fetch.fetched_at, now):
                leads[host] = lead
        if len(leads) == _HOSTS:
            break
    ahead = median_low(leads.values()) if leads else timedelta(0)
    if ahead > FAR_AHEAD:
        message = (
            f"the clock is {ahead.days:,} days ahead of the publishers that were polled in the last day:"
            " nothing is purged by it"
        )
        hint = "set the clock; if the publishers are wrong: `feedmill purge --anyway`"
        raise ConflictError(message, reason="clock-ahead", hint=hint)


def _is_recent(at: datetime | None, now: datetime) -> bool:
    return at is not None and abs(now - at) <= _RECENT
