"""Reading from PostgreSQL: the same answers as from one file, whatever strangers write and ask."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.sample_refreshes import (
    DAY,
    HOUR,
    NOON,
    a_refresh,
    an_entry,
    blob_ref,
    new_feed,
    poll,
)

from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.adapters.store.statements import begins_word
from feedmill.adapters.store.tables.contents import entries
from feedmill.engine.ports.store import Store
from feedmill.model.candidate import CollectedDocument
from feedmill.model.page import EntryFilter

TITLES = [
    "Straße und Maße",
    "STRASSE",
    "Kelvin \u212a-mark",
    "100% of a_b",
    "back\\slash",
    "\u00dcber \u00dcBUNGEN",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u041c\u0418\u0420",
    "\u4e2d\u6587\u65b0\u95fb \u65b0\u805e",
    "\u65b0\u805e Zeitung",
    "\u0130stanbul \u0131",
    "plain words only",
    "\ufb01nal \u017feal",
    "",
    None,
]
QUESTIONS = [
    "stras", "STRASSE", "ma", "k", "\u212a", "100%", "a_", "a", "back\\", "\u00fcb", "\u00dcBUNG",
    "\u043c\u0438\u0440", "\u4e2d\u6587", "\u65b0\u805e", "\u805e", "zei", "\u0130", "i", "\u0131",
    "fi", "seal", "words o", " ", "%", "nothing", "\u65b0\u805e Zei", "\x00",
]  # fmt: skip


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(dsn, connections=4)
    try:
        yield store
        assert await store.problems() == ()
    finally:
        await store.close()


async def alike(
    dsn: str, folder: Path, story: Callable[[Store], Awaitable[object]]
) -> tuple[object, object]:
    """What the story comes to on both stores."""
    sqlite = await SqliteStore.open(folder / "store.db")
    try:
        one = await story(sqlite)
    finally:
        await sqlite.close()
    async with opened(dsn) as postgres:
        return one, await story(postgres)


def test_words_of_titles_are_found_as_everywhere(
    emptied_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_PROPOSED", 2)  # titles are looked at in several bites

    async def story() -> None:
        async with opened(emptied_dsn) as store:
            feed, _ = await store.add_feed(new_feed())
            entries = [replace(an_entry(f"e{at}"), title=title) for at, title in enumerate(TITLES)]
            await poll(store, feed, 1, entries, at=NOON)
            every = {one.title for one in (await store.entries(EntryFilter())).items}
            for question in QUESTIONS:
                found, after = list[str | None](), None
                while True:
                    where = EntryFilter(text=question)
                    page = await store.entries(where, after=after, limit=2)
                    found += [one.title for one in page.items]
                    after = page.next
                    if after is None:
                        break

                expected = {title for title in every if begins_word(title, question)}
                assert (question, sorted(map(str, found))) == (question, sorted(map(str, expected)))

    asyncio.run(story())


def test_words_of_titles_are_found_backwards_too(emptied_dsn: str) -> None:
    async def story() -> None:
        async with opened(emptied_dsn) as store:
            feed, _ = await store.add_feed(new_feed())
            await poll(store, feed, 1, [an_entry(f"{n:02d}") for n in range(7)], at=NOON)
            where = EntryFilter(text="about")
            first = await store.entries(where, limit=3)
            second = await store.entries(where, after=first.next, limit=3)

            back = await store.entries(where, before=second.previous, limit=3)

            assert (back.items, back.next) == (first.items, first.next)

    asyncio.run(story())


def test_what_no_text_of_the_database_can_hold_is_found_by_nobody_and_breaks_nothing(
    emptied_dsn: str,
) -> None:
    async def story() -> None:
        async with opened(emptied_dsn) as store:
            odd = "a\x00b\ud800"
            for where in (
                EntryFilter(feed_id=odd),
                EntryFilter(feed_ids=(odd,)),
                EntryFilter(tag=odd),
                EntryFilter(category=odd),
                EntryFilter(text=odd),
            ):
                assert (await store.entries(where)).items == ()
                assert (await store.entry_texts(where)).items == ()
            assert await store.feed(odd) is None
            assert await store.aliases(odd) == ()
            assert (await store.feeds(tag=odd)).items == ()
            assert (await store.fetches(odd)).items == ()
            assert await store.fetch(odd) is None
            assert await store.decisions(odd) == ()
            assert await store.entry(odd) is None
            assert await store.revisions(odd) == ()
            assert await store.blob(odd) is None
            assert await store.blobs(segment=odd) == ()
            assert (await store.article_page(after=f"1.{odd}")).items == ()

    asyncio.run(story())


def test_a_category_with_a_nul_does_not_hide_the_others(emptied_dsn: str) -> None:
    async def story() -> None:
        async with opened(emptied_dsn) as store:
            feed, _ = await store.add_feed(new_feed())
            entry = replace(an_entry("a"), categories=("nul\x00", 'quo"ted', "plain"))
            await poll(store, feed, 1, [entry], at=NOON)

            for category, found in (("plain", 1), ('quo"ted', 1), ("nul\x00", 1), ("quo", 0)):
                page = await store.entries(EntryFilter(category=category))
                assert (category, len(page.items)) == (category, found)

    asyncio.run(story())


def test_events_are_counted_before_they_have_a_number(emptied_dsn: str) -> None:
    async def story() -> None:
        async with opened(emptied_dsn) as store:
            feed, _ = await store.add_feed(new_feed())
            await poll(store, feed, 1, [an_entry("a")], at=NOON)
            before = (await store.counts())["events"]
            await store.last_seq()

            assert before == (await store.counts())["events"] == 1

    asyncio.run(story())


def test_bodies_lean_on_each_other_and_are_spent_as_on_one_file(
    emptied_dsn: str, tmp_path: Path
) -> None:
    async def story(store: Store) -> object:
        feeds = [(await store.add_feed(new_feed(number)))[0] for number in range(4)]
        served = [(body, feed) for body in "abcab" for feed in feeds[: 2 + ord(body) % 3]]
        for run, (body, feed) in enumerate(served):
            at = NOON + HOUR * run
            refresh = a_refresh(feed, run, at=at)
            sha256 = f"{body}{feed.id[-1] if body == 'b' else ''}"
            repairs = ("stray-ampersands",) if run % 3 == 0 else ()
            fetch = replace(refresh.fetch, body_sha256=sha256, repairs=repairs)
            blob = blob_ref(sha256, segment=f"s{run % 2}", offset=run)
            await store.commit(replace(refresh, fetch=fetch, blob=blob))
        await store.save_collected(_collected("loose"), blob_ref("loose", segment="s0", offset=999))
        chains = [await store.blob_chains(one) for one in (["s0"], ["s1"], ["s0", "s1"], [])]
        spent = [
            sorted(
                await store.expired_blobs(
                    keep_last=keep, before=NOON + HOUR * hours, keep_samples=samples
                )
            )
            for keep in (0, 1, 2, 9)
            for samples in (0, 1)
            for hours in (-999, 3, 8, 99)
        ]
        assert {previous for _, previous in chains[2]} > {None, "a"}
        assert {len(one) for one in spent} > {1}
        return [sorted(one, key=str) for one in chains], chains[2][-3:], spent

    async def both() -> None:
        one, two = await alike(emptied_dsn, tmp_path, story)
        assert one == two

    asyncio.run(both())


def test_a_body_that_a_feed_has_taken_up_again_is_not_forgotten(emptied_dsn: str) -> None:
    async def story() -> None:
        async with opened(emptied_dsn) as store:
            feed, _ = await store.add_feed(new_feed())
            refresh = a_refresh(feed, 1, at=NOON)
            known = replace(refresh.feed, body_sha256="a" * 64)
            await store.commit(replace(refresh, feed=known, blob=blob_ref("a" * 64)))
            await store.save_collected(_collected("b" * 64), blob_ref("b" * 64))

            await store.delete_blobs(["a" * 64, "b" * 64, "c" * 64])

            assert [one.sha256 for one in await store.blobs()] == ["a" * 64]

    asyncio.run(story())


def _collected(sha256: str) -> CollectedDocument:
    return CollectedDocument(
        source=0,
        url="https://paper.example/feed",
        final_url="https://paper.example/feed",
        fetched_at=NOON - DAY,
        body_sha256=sha256,
        fetch_id=f"fetch-{sha256}",
    )
