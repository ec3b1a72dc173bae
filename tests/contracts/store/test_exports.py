"""Exports: rows of every table from its view, page by page, the same from every store."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import HOUR, NOON, a_refresh, an_entry, new_feed, poll

from feedmill.engine.ports.store import Store
from feedmill.model.entry import Author, EntryEnclosure
from feedmill.model.page import EntryFilter
from feedmill.model.running.export import EXPORTS, ExportFilter, ExportName


async def rows_of(
    store: Store, name: ExportName, where: ExportFilter | None = None, limit: int = 2
) -> list[dict[str, Any]]:
    """All rows, read in small batches."""
    found: list[dict[str, Any]] = []
    after = None
    while True:
        batch = await store.export_batch(name, where or ExportFilter(), after=after, limit=limit)
        found += [_named(name, row) for row in batch.rows]
        after = batch.cursor
        if batch.complete:
            return found


def _named(name: ExportName, row: tuple[Any, ...]) -> dict[str, Any]:
    values = zip(EXPORTS[name], row, strict=True)
    return {
        field.name: msgspec.json.decode(one)
        if field.kind in ("json", "texts", "addresses") and one is not None
        else one
        for field, one in values
    }


def test_an_exported_entry_has_every_field_of_the_published_one(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        rich = replace(
            an_entry("a"),
            authors=(Author(name="Ann"),),
            categories=("x", "y"),
            enclosures=(EntryEnclosure(url="https://e.org/a.mp3", length=12),),
        )
        await poll(store, feed, 1, [rich, an_entry("b")], at=NOON)
        await poll(store, feed, 2, [replace(rich, title="Changed", slice=None)], at=NOON + HOUR)

        exported = {one["entry_uid"]: one for one in await rows_of(store, "entries")}

        stored = (await store.entries(EntryFilter(include_removed=True))).items
        assert len(exported) == len(stored) == 2
        for entry in stored:
            wire = msgspec.json.decode(msgspec.json.encode(entry))
            row = exported[entry.entry_uid]
            assert row.keys() == wire.keys()
            for ref in wire["raw_refs"]:
                del ref["note"]
            for name, one in wire.items():
                assert _same_instant(row[name], one), name

    tell(story)


def _same_instant(row: Any, wire: Any) -> bool:
    """True for equal values; instants are written with microseconds in an export."""
    if isinstance(row, str) and isinstance(wire, str) and wire.endswith("Z"):
        whole = wire if "." in wire else f"{wire[:-1]}.000000Z"
        return row in (wire, whole)
    return bool(row == wire)


def test_raw_refs_list_every_document_an_entry_changed_in_the_newest_first(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        for number in range(1, 26):
            await poll(
                store, feed, number, [an_entry("a", f"version {number}")], at=NOON + HOUR * number
            )

        (entry,) = (await store.entries(EntryFilter())).items

        fetches = (await store.fetches(feed.id)).items
        assert [ref.fetch_id for ref in entry.raw_refs] == [one.fetch_id for one in fetches[:20]]
        (text,) = (await store.entry_texts(EntryFilter())).items
        assert msgspec.json.decode(text, type=type(entry)) == entry
        assert entry == await store.entry(entry.entry_uid)

    tell(story)


def test_batches_of_any_size_hold_every_row_once(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in (1, 2, 3):
            feed, _ = await store.add_feed(new_feed(number))
            for hour in range(3 if number != 2 else 0):
                entries = [an_entry(f"{number} {hour} {at}") for at in range(2)]
                await poll(store, feed, 10 * number + hour, entries, at=NOON + HOUR * hour)

        counts = {"feeds": 3, "fetches": 6, "decisions": 6, "entries": 12, "articles": 12}
        assert counts.keys() == EXPORTS.keys()
        for name in EXPORTS:
            whole = await rows_of(store, name, limit=1_000)

            assert (name, len(whole)) == (name, counts[name])
            for limit in (1, 2, 5, len(whole)):
                assert await rows_of(store, name, limit=limit) == whole

    tell(story)


def test_a_cursor_of_a_complete_export_leads_to_what_came_since(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in (1, 2):
            feed, _ = await store.add_feed(new_feed(number))
            await poll(store, feed, number, [an_entry(f"{number} old")], at=NOON + HOUR)
        readers = [Exporting(name, limit) for name in EXPORTS for limit in (1, 2, 100)]
        for round_ in (1, 2, 3):
            for reader in readers:
                await reader.read_on(store)
            if round_ == 1:  # of the first feed, scheduled before the last that was exported
                (first,) = (await store.feeds(limit=1)).items
                await poll(store, first, 11, [an_entry("1 new")], at=NOON)
                feed, _ = await store.add_feed(new_feed(3))
                await poll(store, feed, 3, [an_entry("3 new")], at=NOON + HOUR)

        for reader in readers:
            key = EXPORTS[reader.name][0].name
            assert (reader.name, len(reader.seen)) == (
                reader.name,
                3 if reader.name == "feeds" else 4,
            )
            assert sorted(reader.seen) == sorted(
                one[key] for one in await rows_of(store, reader.name)
            )

    tell(story)


class Exporting:
    """A reader of one export that goes on where it was."""

    def __init__(self, name: ExportName, limit: int) -> None:
        self.name, self._limit = name, limit
        self.seen: list[str] = []
        self._cursor: str | None = None

    async def read_on(self, store: Store) -> None:
        """Read to the end of what is there."""
        is_complete = False
        while not is_complete:
            batch = await store.export_batch(
                self.name, ExportFilter(), after=self._cursor, limit=self._limit
            )
            self.seen += [row[0] for row in batch.rows]
            self._cursor, is_complete = batch.cursor, batch.complete


@pytest.mark.parametrize("others", [1, 0], ids=["another feed stays", "no feed stays"])
def test_export_goes_on_after_the_feed_with_the_newest_rows_was_removed(
    tell: Tell, others: int
) -> None:
    async def story(store: Store) -> None:
        feeds = [(await store.add_feed(new_feed(number)))[0] for number in range(1, 2 + others)]
        for number, feed in enumerate(feeds, start=1):
            await poll(store, feed, number, [an_entry(f"{number}")], at=NOON + HOUR * number)
        cursors = {
            name: (await store.export_batch(name, ExportFilter())).cursor for name in EXPORTS
        }
        await store.remove_feed(feeds[-1].id)
        added, _ = await store.add_feed(new_feed(7))
        await poll(store, added, 7, [an_entry("7")], at=NOON + HOUR * 7)

        for name, cursor in cursors.items():
            batch = await store.export_batch(name, ExportFilter(), after=cursor)

            rows = await rows_of(store, name)
            assert [_named(name, row) for row in batch.rows] == rows[-1:]
            assert (name, len(rows)) == (name, 1 + others)

    tell(story)


def test_exports_are_filtered_by_time_feed_and_tag(tell: Tell) -> None:
    async def story(store: Store) -> None:
        for number in (1, 2):
            feed, _ = await store.add_feed(replace(new_feed(number), tags=(f"tag{number}",)))
            for hour in (1, 2):
                entry = an_entry(f"{number} at {hour}")
                await poll(store, feed, 10 * number + hour, [entry], at=NOON + HOUR * hour)
        since, until = NOON + HOUR * 2, NOON + HOUR * 2 - timedelta(microseconds=1)

        for name in ("entries", "articles", "fetches", "decisions"):
            for where, expected in (
                (ExportFilter(since=since), 2),
                (ExportFilter(until=until), 2),
                (ExportFilter(feed_id=new_feed(1).id), 2),
                (ExportFilter(tag="tag2"), 2),
                (ExportFilter(tag="tag2", since=since), 1),
                (ExportFilter(tag="tag3"), 0),
            ):
                found = await rows_of(store, name, where)
                assert len(found) == expected, (name, where)
        assert len(await rows_of(store, "feeds", ExportFilter(tag="tag1"))) == 1

    tell(story)


def test_exported_fetches_have_the_headers_and_addresses_of_the_stored_ones(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        for number in (1, 2, 3):
            await poll(store, feed, number, [an_entry("a")], at=NOON + HOUR * number)

        exported = await rows_of(store, "fetches")

        stored = (await store.fetches(feed.id)).items[::-1]
        for row, fetch in zip(exported, stored, strict=True):
            wire = msgspec.to_builtins(fetch)
            assert {name: wire[name] for name in ("fetch_id", "url", "final_url", "outcome")} == {
                name: row[name] for name in ("fetch_id", "url", "final_url", "outcome")
            }
            assert row["response_headers"] == [list(one) for one in fetch.response_headers]
            assert row["request_headers"] == [list(one) for one in fetch.request_headers]

    tell(story)


def test_a_decision_without_hints_is_exported_without_them(tell: Tell) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        await poll(store, feed, 1, [an_entry("a")], at=NOON)

        (row,) = (await store.export_batch("decisions", ExportFilter())).rows

        values = dict(zip((one.name for one in EXPORTS["decisions"]), row, strict=True))
        assert values["hints"] is None
        assert values["steps"] is not None

    tell(story)


def test_an_exported_address_hides_its_token(tell: Tell) -> None:
    async def story(store: Store) -> None:
        url, hidden = "https://e.org/f?token=secret", "https://e.org/f?token=***"
        feed, _ = await store.add_feed(replace(new_feed(1), url=url))
        refresh = a_refresh(feed, 1, at=NOON)
        await store.commit(
            replace(
                refresh, feed=replace(refresh.feed, site_url=url, self_url=url, hubs=(url, url))
            )
        )

        (row,) = await rows_of(store, "feeds")

        assert [row[name] for name in ("url", "site_url", "self_url")] == [hidden] * 3
        assert row["hubs"] == [hidden, hidden]

    tell(story)
