"""Lists of feeds for people: searched, filtered, sorted, counted, a page at a time."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import NOON, new_feed

from feedmill.engine.ports.store import Store
from feedmill.errors import UsageError
from feedmill.model.feed import Feed
from feedmill.model.page import FeedFilter

MINUTE = timedelta(minutes=1)


async def add(store: Store, name: str, **fields: object) -> Feed:
    url = f"https://{name}.example/feed"
    plain: dict[str, object] = {"id": name, "url": url, "aliases": (f"{url}?old",), "tags": ()}
    new = replace(new_feed(), **plain | fields)
    feed, _ = await store.add_feed(new)
    return feed


async def names(store: Store, where: FeedFilter, limit: int = 100) -> list[str]:
    """The ids of all pages."""
    found: list[str] = []
    after: str | None = None
    while True:
        page = await store.find_feeds(where, after=after, limit=limit)
        assert len(page.items) <= limit
        found += [feed.id for feed in page.items]
        if page.next is None:
            return found
        after = page.next


def test_feeds_are_sorted_by_name_in_either_direction_page_by_page(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, "one", title="banana")
        await add(store, "two", title="Apple")
        await add(store, "three", title=None)  # sorted by its address, https://…
        await add(store, "four", title="banana")

        up = await names(store, FeedFilter(order="name"), limit=1)
        down = await names(store, FeedFilter(order="name", descending=True), limit=3)

        assert up == ["two", "one", "four", "three"]
        assert down == up[::-1]

    tell(story)


def test_feeds_are_sorted_by_age_and_by_their_next_poll(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, "one", next_poll_at=NOON + 3 * MINUTE)
        await add(store, "two", next_poll_at=NOON + MINUTE)
        await add(store, "three", next_poll_at=NOON + 2 * MINUTE)

        assert await names(store, FeedFilter(), limit=2) == ["one", "two", "three"]
        assert await names(store, FeedFilter(descending=True), limit=1) == ["three", "two", "one"]
        assert await names(store, FeedFilter(order="next-poll"), limit=1) == ["two", "three", "one"]

    tell(story)


FOUND_BY_TEXT: tuple[tuple[str, list[str]], ...] = (
    ("NEWS", ["harbour"]),  # of the title, whatever its case
    ("harbour.exa", ["harbour"]),  # of the address
    ("feed?old", ["harbour", "percent", "aerzte"]),  # of an earlier address
    ("100%", ["percent"]),  # no wildcard
    ("ärzte", ["aerzte"]),
    ("ÄRZTE", ["aerzte"]),
    ("nothing like it", []),
)


def test_feeds_are_found_by_a_part_of_title_or_address(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, "harbour", title="Harbour News")
        await add(store, "percent", title="100% cotton")
        await add(store, "aerzte", title="Ärzte heute")

        for text, expected in FOUND_BY_TEXT:
            assert (text, await names(store, FeedFilter(text=text))) == (text, expected)
            assert await store.count_feeds(FeedFilter(text=text)) == len(expected)

    tell(story)


def test_feeds_are_filtered_by_tag_host_and_state(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, "one", tags=("news",))
        await add(store, "two", paused=True)

        assert await names(store, FeedFilter(tag="news")) == ["one"]
        assert await names(store, FeedFilter(host="two.example")) == ["two"]
        assert await names(store, FeedFilter(host="two.exampl_")) == []
        assert await names(store, FeedFilter(state="paused")) == ["two"]
        assert await names(store, FeedFilter(state="failing")) == []
        assert await names(store, FeedFilter(order="failures", descending=True)) == []
        states = {"feeds": 2, "paused": 1, "circuit-open": 0, "never-polled": 1}
        assert await store.feed_states() == states

    tell(story)


def test_failing_feeds_are_listed_with_the_most_failures_first(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for name, failures, health in (("one", 1, "backing-off"), ("two", 9, "suspect")):
            state = replace(
                new_feed().schedule,
                consecutive_failures=failures,
                health=health,
            )
            await add(store, name, schedule=state)
        await add(store, "well")
        asleep = replace(new_feed().schedule, consecutive_failures=9, health="suspect")
        await add(store, "asleep", schedule=asleep, paused=True)  # counts as paused, once

        worst = FeedFilter(order="failures", descending=True)
        assert await names(store, worst, limit=1) == ["asleep", "two", "one"]
        assert await names(store, FeedFilter(state="failing")) == ["one", "two", "asleep"]
        assert await names(store, FeedFilter(state="suspect", text="two")) == ["two"]
        assert await store.feed_states() == {
            "feeds": 4,
            "paused": 1,
            "circuit-open": 0,
            "never-polled": 1,
            "backing-off": 1,
            "suspect": 1,
        }

    tell(story)


def test_a_cursor_of_another_list_is_refused(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for cursor in ("", "1", "x.y", "1.zz", "-1.3", f"1.{10**19}"):
            with pytest.raises(UsageError, match="cursor"):
                await store.find_feeds(FeedFilter(), after=cursor)

    tell(story)


def test_late_feeds_are_due_for_longer_than_their_interval(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await add(store, "late", next_poll_at=NOON - 16 * MINUTE)  # asked every 15 minutes
        await add(store, "due", next_poll_at=NOON - 14 * MINUTE)
        await add(store, "paused", next_poll_at=NOON - 16 * MINUTE)
        paused = await store.feed("paused")
        assert paused is not None
        await store.change_feed(replace(paused, paused=True))

        assert await names(store, FeedFilter(late_at=NOON)) == ["late"]
        assert await store.count_feeds(FeedFilter(late_at=NOON + 2 * MINUTE)) == 2

    tell(story)
