"""Search: the same questions find the same entries in the same order on every kind of store."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.contracts.store.test_fulltexts import a_text
from tests.support.sample_refreshes import HOUR, NOON, an_entry, new_feed, poll

from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.engine.ports.store import Store
from feedmill.errors import UsageError
from feedmill.model.entry import Entry
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter
from feedmill.search.query import parse_query

DAY = timedelta(days=1)
TEXTS = {  # by name: title, summary, content
    "release": ("Python 3.14 released", None, "<p>The new <b>release</b> of Python is out.</p>"),
    "snake": ("A python in the garden", None, "<p>It was released by its owner in Zürich.</p>"),
    "house": ("Häuser in Köln", "Wohnungen", "<p>Die Mieten der Häuser von Herrn Mueller.</p>"),
    "bike": ("Der Fahrradhelm", None, "<p>Ein Helm schützt Radfahrer auf der Straße.</p>"),
    "tokyo": ("東京都知事選挙の結果", None, "<p>新しい知事が<em>東京</em>タワーで話した。</p>"),
    "kyoto": ("京都の寺", None, "<p>食べた。ｶﾒﾗで写真を撮る。</p>"),
    "green": ("綠色設計", None, "<p>環境評價與人工智能</p>"),
    "script": ("Tags", None, "<p>a &lt;script&gt; tag &amp; more: don't panic</p>"),
}


def entry_of(name: str) -> Entry:
    title, summary, content = TEXTS[name]
    return replace(an_entry(name), title=title, summary=summary, content=content)


async def a_library(store: Store) -> Feed:
    feed, _ = await store.add_feed(new_feed())
    await poll(store, feed, 1, [entry_of(name) for name in TEXTS], at=NOON)
    return feed


async def found(
    store: Store, words: str, /, *, full_texts: bool = False, **where: object
) -> list[str]:
    chosen: dict[str, Any] = {"order": "relevance", **where}
    query = EntryFilter(query=parse_query(words, full_texts=full_texts), **chosen)
    page = await store.entries(query)
    return [(one.link or "").rpartition("/")[2] for one in page.items]


QUESTIONS = {
    "python": ["release", "snake"],
    "PYTHON released": ["release", "snake"],
    "python garden": ["snake"],
    '"python is"': ["release"],
    '"is python"': [],
    "python -garden": ["release"],
    'python -"its owner"': ["release"],
    "3.14": ["release"],
    "pyth*": ["release", "snake"],
    "zurich": ["snake"],
    "Haus": ["house"],
    "haeuser koeln": ["house"],
    "Müller": ["house"],
    "strasse": ["bike"],
    "fahrrad*": ["bike"],
    "fahrrad": [],
    "知事": ["tokyo"],
    "東京の知事": ["tokyo"],
    "東京タワー": ["tokyo"],
    "京": ["kyoto", "tokyo"],
    "寺": ["kyoto"],
    "食べる": ["kyoto"],
    "カメラ": ["kyoto"],
    "かめら": ["kyoto"],
    "绿色设计": ["green"],
    "人工智能 -設計": [],
    "don't": ["script"],
    "the python of": ["release", "snake"],
    "script tag": ["script"],
    "absent": [],
}


def test_questions_find_the_same_entries_in_the_same_order(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await a_library(store)

        answers = {text: await found(store, text) for text in QUESTIONS}

        assert answers == QUESTIONS

    tell(story)


def test_search_goes_with_every_other_filter_and_order(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_library(store)
        other, _ = await store.add_feed(new_feed(2))
        later = replace(
            an_entry("later", published=NOON + DAY), title="Python at last", language="en"
        )
        await poll(store, other, 1, [later], at=NOON + HOUR)

        by_feed = await found(store, "python", feed_id=feed.id)
        by_language = await found(store, "python", language="en")
        newest = await found(store, "python", order="published")
        oldest = await found(store, "python", order="first_seen", ascending=True)
        titled = await found(store, "python", text="garden")
        once = await found(store, "python", duplicates="hide", since=NOON + HOUR)

        assert by_feed == ["release", "snake"]
        assert by_language == ["later"]
        assert newest[0] == "later"
        assert oldest[-1] == "later"
        assert titled == ["snake"]
        assert once == ["later"]

    tell(story)


def test_pages_of_a_search_show_every_match_once(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed())
        many = [replace(an_entry(f"n{number}"), title="The same words") for number in range(7)]
        await poll(store, feed, 1, many, at=NOON)
        where = EntryFilter(query=parse_query("words"), order="relevance")

        seen: list[str] = []
        after = None
        while True:
            page = await store.entries(where, after=after, limit=3)
            texts = await store.entry_texts(where, after=after, limit=3)
            assert len(texts.items) == len(page.items)
            assert texts.next == page.next
            seen += [one.entry_uid for one in page.items]
            after = page.next
            if after is None:
                break

        assert len(seen) == len(set(seen)) == 7

    tell(story)


def test_article_of_two_feeds_is_found_once(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in (1, 2):
            feed, _ = await store.add_feed(new_feed(number))
            await poll(store, feed, 1, [entry_of("release")], at=NOON + number * HOUR)

        hidden = await found(store, "python", duplicates="hide")
        every = await found(store, "python", duplicates="include")

        assert (len(hidden), len(every)) == (1, 2)

    tell(story)


def test_index_follows_updates_removals_and_retention(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_library(store)
        changed = replace(an_entry("release", "second"), title="Ruby instead")
        rest = [entry_of(name) for name in TEXTS if name not in ("release", "snake")]

        feed = await poll(store, feed, 2, [changed, *rest], at=NOON + HOUR)

        assert await found(store, "python -garden") == []
        assert await found(store, "ruby") == ["release"]

        await poll(store, feed, 3, [changed], at=NOON + 2 * HOUR)
        await store.purge(before=NOON + DAY, now=NOON + 2 * DAY)

        assert await found(store, "Haus") == []
        assert await found(store, "ruby") == ["release"]
        assert await store.count_unindexed() == 0

        await store.remove_feed(feed.id, ())

        assert await found(store, "ruby") == []

    tell(story)


def test_merged_feeds_keep_what_was_indexed(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feeds = []
        for number in (1, 2):
            feed, _ = await store.add_feed(new_feed(number))
            await poll(store, feed, 1, [entry_of("release")], at=NOON + number * HOUR)
            feeds.append(feed)
        gone = (await store.entries(EntryFilter(feed_id=feeds[1].id))).items[0]
        await store.save_full_text(
            a_text(gone.entry_uid, feeds[1], html="<p>interpreters</p>"), events=()
        )

        await store.merge_feeds(feeds[1].id, feeds[0].id, at=NOON + DAY)

        assert len(await found(store, "python")) == 1
        assert len(await found(store, "interpreter python", full_texts=True)) == 1

    tell(story)


def test_full_texts_are_searched_on_request(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed = await a_library(store)
        uid = (await store.entries(EntryFilter(text="garden"))).items[0].entry_uid
        await store.save_full_text(a_text(uid, feed, html="<p>A reptile, three metres long</p>"))

        assert await found(store, "reptile") == []
        assert await found(store, "reptile python", full_texts=True) == ["snake"]
        assert await found(store, '"three metres"', full_texts=True) == ["snake"]
        assert await found(store, "python -reptile") == ["release", "snake"]
        assert await found(store, "python -reptile", full_texts=True) == ["release"]

        await store.save_full_text(a_text(uid, feed, state="failed", html=None, reason="timeout"))

        assert await found(store, "reptile", full_texts=True) == []

    tell(story)


def test_index_is_made_anew_in_batches(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await a_library(store)

        done, after = await store.index_entries(0, 5)
        rest, last = await store.index_entries(after, 5)
        end = await store.index_entries(last, 5)
        await store.rebuild_search_index()

        assert (done, rest, end) == (5, 3, (0, last))
        assert {text: await found(store, text) for text in QUESTIONS} == QUESTIONS

    tell(story)


@pytest.mark.parametrize(
    "where",
    [
        EntryFilter(order="relevance"),
        EntryFilter(query=parse_query("x"), order="relevance", ascending=True),
    ],
    ids=["no search", "the worst first"],
)
def test_relevance_is_an_order_of_searches(tell: Tell, where: EntryFilter) -> None:
    async def story(store: Store) -> None:
        with pytest.raises(UsageError, match="relevance"):
            await store.entries(where)

    tell(story)


@pytest.mark.parametrize("off", ["sqlite", "postgres"])
async def test_index_that_is_off_holds_no_earlier_text(
    tmp_path: Path, emptied_dsn: str, off: str
) -> None:
    async def opened(*, searchable: bool) -> Store:
        if off == "sqlite":
            return await SqliteStore.open(tmp_path / "store.db", searchable=searchable)
        return await PostgresStore.open(emptied_dsn, searchable=searchable)

    store = await opened(searchable=True)
    feed = await a_library(store)
    await store.close()
    store = await opened(searchable=False)
    changed = replace(an_entry("release", "second"), title="Ruby instead")

    await poll(store, feed, 2, [changed, entry_of("snake")], at=NOON + HOUR)

    assert await found(store, "python") == ["snake"]
    assert await found(store, "ruby") == []
    assert await store.count_unindexed() == 1
    assert (await store.index_entries(0, 100, missing=True))[0] == 1
    assert await found(store, "ruby") == ["release"]
    await store.close()


def test_long_searches_are_answered(tell: Tell) -> None:
    async def story(store: Store) -> None:
        await a_library(store)

        assert await found(store, "東京都知事選挙" * 40) == []
        assert await found(store, " ".join(["python"] * 30)) == ["release", "snake"]
        assert await found(store, "x" * 300) == []

    tell(story)
