"""Hosts for people: pace, what holds them up, who waits."""

import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import HOUR, NOON, new_feed

from feedmill.engine.ports.store import Store
from feedmill.errors import UsageError
from feedmill.model.feed import HostLane
from feedmill.model.page import HostFilter


async def three_hosts(store: Store) -> None:
    """One that is polled now, one that asked for a pause, one with nothing to do."""
    await store.add_feed(new_feed(1, host="leased.example"))
    await store.claim("me", now=NOON, lease_sec=60, max_lanes=1, max_feeds=9)
    await store.add_feed(new_feed(2, host="resting.example"))
    await store.add_feed(replace(new_feed(3, host="resting.example"), paused=True))
    await store.limit_host("https://resting.example/", NOON + HOUR, "rate-limited")
    await store.add_feed(replace(new_feed(4, host="idle.example"), next_poll_at=NOON + HOUR))


def test_hosts_are_listed_by_name_page_by_page(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await three_hosts(store)

        found: list[HostLane] = []
        after: str | None = None
        while True:
            page = await store.host_lanes(HostFilter(), now=NOON, after=after, limit=1)
            found += page.items
            if page.next is None:
                break
            after = page.next

        assert [one.key for one in found] == ["idle.example", "leased.example", "resting.example"]
        idle, _, resting = found
        assert (idle.feeds, idle.due) == (1, 0)
        assert (resting.feeds, resting.due) == (1, 1)  # a paused feed waits for nothing
        assert resting.pace.blocked_reason == "rate-limited"
        assert resting.pace.next_ok_at == NOON + HOUR

    tell(story)


FILTERED: tuple[tuple[HostFilter, list[str]], ...] = (
    (HostFilter(text="EST"), ["resting.example"]),
    (HostFilter(text="%"), []),
    (HostFilter(host="idle.example"), ["idle.example"]),
    (HostFilter(host="idle"), []),
    (HostFilter(troubled=True), ["resting.example"]),
    (HostFilter(troubled=True, text="idle"), []),
    (HostFilter(resting=True), ["resting.example"]),
)


def test_hosts_are_filtered(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await three_hosts(store)

        for where, expected in FILTERED:
            found = await store.host_lanes(where, now=NOON)

            assert (where, [one.key for one in found.items]) == (where, expected)

    tell(story)


def test_hosts_that_rest_come_with_the_most_feeds_first(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await three_hosts(store)
        for number in (5, 6):
            await store.add_feed(new_feed(number, host="tired.example"))
        await store.limit_host("https://tired.example/", NOON + HOUR, "unavailable")
        where = HostFilter(resting=True)

        both = await store.host_lanes(where, now=NOON)
        most = await store.host_lanes(where, now=NOON, limit=1)
        later = await store.host_lanes(where, now=NOON + 2 * HOUR)

        assert [one.key for one in both.items] == ["tired.example", "resting.example"]
        assert ([one.key for one in most.items], most.next) == (["tired.example"], None)
        assert later.items == ()

    tell(story)


def test_a_cursor_of_another_list_of_hosts_is_refused(tell: Tell) -> None:
    async def story(store: Store) -> None:
        with pytest.raises(UsageError, match="cursor"):
            await store.host_lanes(HostFilter(), now=NOON, after="xyz")

    tell(story)
