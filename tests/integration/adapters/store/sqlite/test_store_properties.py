"""Laws that hold for any succession of documents."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.sample_refreshes import HOUR, NOON, an_entry, new_feed, poll, read

from feedmill.adapters.store.sqlite.connection import MEMORY
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.engine.ports.store import Store
from feedmill.model.entry import Entry
from feedmill.model.feed import Feed
from feedmill.model.page import EntryFilter

# A document is a set of entries, each in one of two texts; None is a 304.
DOCUMENTS = st.lists(
    st.none() | st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["one", "two"])),
    min_size=1,
    max_size=8,
)


def entries_of(document: dict[str, str]) -> Sequence[Entry]:
    return [an_entry(name, text) for name, text in sorted(document.items())]


async def told(documents: Sequence[dict[str, str] | None], store: Store) -> tuple[Feed, Any]:
    """Poll the documents one after the other, and count by hand what a store should count."""
    feed, _ = await store.add_feed(new_feed())
    seen: Counter[str] = Counter()
    last: dict[str, int] = {}
    current: dict[str, str] = {}
    for run, document in enumerate(documents):
        entries = None if document is None else entries_of(document)
        feed = await poll(store, feed, run, entries, at=NOON + HOUR * run)
        current = current if document is None else document
        seen.update(list(current))
        last.update(dict.fromkeys(current, run))
    return feed, (seen, last, current)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
def test_sightings_are_counted_right_although_hardly_a_row_is_written(
    documents: list[dict[str, str] | None],
) -> None:
    async def story() -> None:
        store = await SqliteStore.open(MEMORY)
        feed, (seen, last, current) = await told(documents, store)

        page = await store.entries(EntryFilter())
        found = {(one.title or "")[-1]: one for one in page.items}
        assert {name: one.seen_count for name, one in found.items()} == dict(seen)
        assert {n: one.last_seen for n, one in found.items()} == {
            name: NOON + HOUR * run for name, run in last.items()
        }
        rows = await store.current_document(feed.id)
        assert {(row.guid or "")[-1] for row in rows} == set(current)
        assert await store.last_seq() == len(seen)
        assert await store.problems() == ()
        await store.close()

    asyncio.run(story())


@settings(max_examples=40, deadline=None)
@given(DOCUMENTS)
def test_what_was_committed_is_known_and_changes_nothing_the_second_time(
    documents: list[dict[str, str] | None],
) -> None:
    async def story() -> None:
        store = await SqliteStore.open(MEMORY)
        feed, (_, _, current) = await told(documents, store)

        again = await read(store, feed, entries_of(current))

        assert again.summary.added == again.summary.revised == 0
        assert again.summary.touched == len(current)
        await store.close()

    asyncio.run(story())


@settings(max_examples=40, deadline=None)
@given(DOCUMENTS, DOCUMENTS)
def test_a_purge_never_makes_an_old_entry_new(
    before: list[dict[str, str] | None], after: list[dict[str, str] | None]
) -> None:
    async def story() -> None:
        store = await SqliteStore.open(MEMORY)
        feed, (seen, _, _) = await told(before, store)
        await store.purge(before=NOON + HOUR * 1_000, now=NOON + HOUR * 2_000)

        names = {name for document in after if document for name in document}
        for run, document in enumerate(after, start=3_000):
            entries = None if document is None else entries_of(document)
            feed = await poll(store, feed, run, entries, at=NOON + HOUR * run)

        assert await store.last_seq() == len(set(seen) | names)
        assert await store.problems() == ()
        await store.close()

    asyncio.run(story())
