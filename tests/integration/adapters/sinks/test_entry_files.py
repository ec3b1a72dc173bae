"""Files of whole entries beside the files of events: each change once, also across crashes and updates."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.sinks_under_test import NOON, event, events
from tests.support.webhook_harness import happen

from feedmill.adapters.settings import load_config
from feedmill.adapters.sinks import (
    ENTRY_FILES,
    EVENT_FILES,
    NdjsonSink,
    has_former_files,
    move_former_files,
)
from feedmill.app.services import file_sinks, open_services
from feedmill.engine.deliver.read_log import entry_lines
from feedmill.engine.deliver.to_sinks import deliver_pending
from feedmill.model.event import Event, StoredEntry


class Entries:
    """A store that has every entry but those that were deleted."""

    def __init__(self, *deleted: str) -> None:
        self.deleted = deleted
        self.asked: list[int] = []

    async def entries_by_uid(self, entry_uids: Sequence[str]) -> Mapping[str, StoredEntry]:
        self.asked.append(len(entry_uids))
        return {uid: _entry(uid) for uid in entry_uids if uid not in self.deleted}


def _entry(uid: str) -> StoredEntry:
    return StoredEntry(
        entry_uid=uid,
        feed_id="feed",
        first_seen=NOON,
        last_seen=NOON,
        seen_count=1,
        content_hash="h",
        dedupe_key="k",
        match_confidence="high",
        content="<p>whole\u2028</p>",
    )


def tap(folder: Path, store: Any = None, batch_events: int = 50) -> NdjsonSink:
    chosen: Any = store or Entries()
    load = partial(entry_lines, store=chosen)
    return NdjsonSink(
        folder, name=ENTRY_FILES, kind="entries", load=load, batch_events=batch_events
    )


def deliver(sink: NdjsonSink, several: Sequence[Event]) -> None:
    asyncio.run(sink.deliver(several))


def lines(folder: Path, kind: str = "entries") -> list[dict[str, Any]]:
    paths = sorted((folder / kind).glob("*.ndjson"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def test_a_line_is_the_whole_entry_with_its_change(tmp_path: Path) -> None:
    updated = Event(
        seq=2, id="e2", type="entry.updated", feed_id="feed", occurred_at=NOON, entry_uid="uid-1"
    )

    deliver(tap(tmp_path), [event(1), updated])

    new, later = lines(tmp_path)
    assert (new["change"], new["seq"], new["event_id"]) == ("new", 1, "event-1")
    assert (later["change"], later["entry_uid"]) == ("updated", "uid-1")
    assert later["changed_at"] == "2025-10-14T12:00:00Z"
    assert new["content"] == "<p>whole\u2028</p>"
    assert new.keys() >= set(StoredEntry.__struct_fields__) - {"highlight"}  # of a search


def test_other_events_and_deleted_entries_have_no_line(tmp_path: Path) -> None:
    other = Event(seq=2, id="e2", type="feed.added", feed_id="feed", occurred_at=NOON)

    deliver(tap(tmp_path, Entries("uid-3")), [event(1), other, event(3)])
    deliver(tap(tmp_path), [other])

    assert [line["seq"] for line in lines(tmp_path)] == [1]


def test_entries_are_loaded_a_few_at_a_time(tmp_path: Path) -> None:
    store = Entries()

    deliver(tap(tmp_path, store, batch_events=2), events(1, 5))

    assert store.asked == [2, 2, 1]
    assert [line["seq"] for line in lines(tmp_path)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("cut", [1, 40, 5_000])
def test_what_a_crash_left_half_written_is_cut_and_written_again(tmp_path: Path, cut: int) -> None:
    deliver(tap(tmp_path), events(1, 12))
    path = tmp_path / "entries" / "2025-10-14.ndjson"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])

    deliver(tap(tmp_path), events(1, 13))

    assert [line["seq"] for line in lines(tmp_path)] == list(range(1, 14))


def test_files_of_events_that_were_called_entries_are_recognised_and_moved(tmp_path: Path) -> None:
    former = NdjsonSink(tmp_path, kind="entries")
    deliver(former, events(1, 3))

    found = has_former_files(tmp_path)
    move_former_files(tmp_path)
    move_former_files(tmp_path)  # by another process, at the same time
    deliver(NdjsonSink(tmp_path), events(2, 4))

    assert found
    assert [line["seq"] for line in lines(tmp_path, "events")] == [1, 2, 3, 4]
    assert not has_former_files(tmp_path)


def test_files_of_entries_are_never_taken_for_files_of_events(tmp_path: Path) -> None:
    assert not has_former_files(tmp_path)
    deliver(tap(tmp_path), events(1, 3))
    assert not has_former_files(tmp_path)
    (tmp_path / "entries" / "2025-10-15.ndjson").write_bytes(b"half a li")
    assert not has_former_files(tmp_path)


def test_an_installation_of_the_version_before_goes_on_without_repeating_anything(
    tmp_path: Path,
) -> None:
    """Its cursor stands in the middle: two events are in files called entries, the third waits."""
    home = tmp_path / "home"
    config = load_config(None, {"FEEDMILL_HOME": str(home)})

    async def story() -> None:
        async with open_services(config) as services:
            store = services.store
            await happen(services, 3)
            await NdjsonSink(home / "out", kind="entries").deliver(await store.events(after=0, limit=2))  # fmt: skip
            await store.set_cursor(EVENT_FILES, 2)
        async with open_services(config) as services:  # nothing was rewound
            sinks = await file_sinks(services)
            assert await services.store.cursor(ENTRY_FILES) == 2
            for sink in sinks:
                await deliver_pending(services.store, sink)
            assert await services.store.last_seq() == 3

    asyncio.run(story())

    assert [line["seq"] for line in lines(home / "out", "events")] == [1, 2, 3]
    assert lines(home / "out") == []
