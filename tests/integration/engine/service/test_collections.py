"""Collections over a real store: the right entries, in the right order, page by page."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.sample_refreshes import DAY, HOUR, NOON, an_entry, new_feed, poll
from tests.support.waiting import hang_guard

from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.run.services import Services
from feedmill.engine.service.collections import (
    Collection,
    CollectionPage,
    collection_key,
    collection_page,
)
from feedmill.errors import CursorError
from feedmill.model.feed import Feed

Told = Callable[[Callable[[Services, Feed, Feed], Awaitable[None]]], None]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """A world with two feeds: five entries over three days, and one that came in last."""

    def run(story: Callable[[Services, Feed, Feed], Awaitable[None]]) -> None:
        async def whole() -> None:
            config = Config(store=StoreConfig(home=str(tmp_path)))
            async with hang_guard(), open_services(config) as services:
                one, _ = await services.store.add_feed(replace(new_feed(1), title="One"))
                two, _ = await services.store.add_feed(new_feed(2))
                days = [an_entry(name, published=NOON - DAY * n) for n, name in enumerate("abcde")]
                await poll(services.store, one, 1, days, at=NOON)
                await poll(services.store, two, 1, [an_entry("z")], at=NOON + HOUR)
                await story(services, one, two)

        asyncio.run(whole())

    return run


def names(found: CollectionPage) -> str:
    return "".join((entry.title or "")[-1] for entry in found.entries)


def test_a_collection_shows_the_newest_first_and_names_its_sources(told: Told) -> None:
    async def story(services: Services, one: Feed, two: Feed) -> None:
        found = await collection_page(Collection(), services)

        assert names(found) == "zabcde"
        assert found.title == "All entries"
        assert found.updated == NOON + HOUR
        assert {one.id, two.id} == set(found.sources)
        assert found.sources[one.id].url == one.url
        assert (found.next, found.previous) == (None, None)

    told(story)


@pytest.mark.parametrize(
    ("query", "expected", "title"),
    [
        (Collection(tag="odd"), "abcde", "odd"),
        (Collection(feed_ids=("feed-00000002",)), "z", "https://host2.example/feed/2"),
        (Collection(feed_ids=("feed-00000001",), text="About b"), "b", "One · “About b”"),
        (Collection(feed_ids=("feed-00000001", "gone")), "abcde", "2 feeds"),
        (Collection(feed_ids=("gone",)), "", "gone"),
        (Collection(category="c"), "c", "c"),
        (Collection(since=NOON + HOUR), "z", "All entries"),
        (Collection(until=NOON + HOUR, tag="even"), "", "even"),
    ],
)
def test_a_collection_is_any_question(
    told: Told, query: Collection, expected: str, title: str
) -> None:
    async def story(services: Services, _: Feed, __: Feed) -> None:
        found = await collection_page(query, services)

        assert (names(found), found.title) == (expected, title)

    told(story)


def test_pages_lead_there_and_back(told: Told) -> None:
    async def story(services: Services, _: Feed, __: Feed) -> None:
        first = await collection_page(Collection(), services, limit=2)
        second = await collection_page(Collection(), services, first.next, 2)
        third = await collection_page(Collection(), services, second.next, 2)
        back = await collection_page(Collection(), services, third.previous, 2)
        front = await collection_page(Collection(), services, back.previous, 2)

        assert [names(one) for one in (first, second, third)] == ["za", "bc", "de"]
        assert (names(back), names(front)) == ("bc", "za")
        assert (third.next, first.previous, front.previous) == (None, None, None)

    told(story)


def test_a_page_behind_a_cursor_stays_as_it_is_when_entries_come_in(told: Told) -> None:
    async def story(services: Services, one: Feed, _: Feed) -> None:
        first = await collection_page(Collection(), services, limit=3)
        before = await collection_page(Collection(), services, first.next, 3)

        late = an_entry("y", published=NOON - timedelta(days=900))
        await poll(services.store, one, 2, [late], at=NOON + HOUR * 2, whole=False)

        after = await collection_page(Collection(), services, first.next, 3)
        assert [e.entry_uid for e in after.entries] == [e.entry_uid for e in before.entries]
        assert names(await collection_page(Collection(), services, limit=3)) == "yza"

    told(story)


def test_a_cursor_of_another_list_is_refused(told: Told) -> None:
    async def story(services: Services, _: Feed, __: Feed) -> None:
        for cursor in ("", "x", "AAAA", "older", "\ud800"):
            with pytest.raises(CursorError):
                await collection_page(Collection(), services, cursor)

    told(story)


def test_what_the_store_holds_is_sanitised_again_on_the_way_out(told: Told) -> None:
    async def story(services: Services, one: Feed, _: Feed) -> None:
        bad = '<p>hi<script>__xss(1)</script><img src="x.png" onerror="__xss(2)"></p>'
        entry = replace(an_entry("x", "planted"), content=bad)  # as if an older rule had let it in
        await poll(services.store, one, 2, [entry], at=NOON + HOUR * 3, whole=False)

        found = await collection_page(Collection(), services, limit=1)

        assert found.entries[0].content == "<p>hi<img></p>"

    told(story)


def test_a_collection_is_written_in_a_language_when_all_of_it_is(told: Told) -> None:
    async def story(services: Services, one: Feed, _: Feed) -> None:
        german = [replace(an_entry(name), language="de") for name in ("k", "l")]
        await poll(services.store, one, 2, german, at=NOON + HOUR * 3, whole=False)

        assert (await collection_page(Collection(), services, limit=2)).language == "de"
        assert (await collection_page(Collection(), services, limit=3)).language is None

    told(story)


def test_equal_questions_have_equal_names_and_others_do_not() -> None:
    same = {
        collection_key(Collection(feed_ids=ids))
        for ids in (("a", "b"), ("b", "a"), ("b", "a", "b"))
    }
    others = {
        collection_key(one)
        for one in (
            Collection(),
            Collection(feed_ids=()),
            Collection(tag="a"),
            Collection(category="a"),
            Collection(text="a"),
            Collection(since=NOON),
            Collection(until=NOON),
        )
    }

    assert len(same) == 1
    assert len(others) == 7
