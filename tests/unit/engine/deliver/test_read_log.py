"""Whole entries in payloads: bounded, and gone again where an event is kept."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from feedmill.engine.deliver.read_log import with_entries, without_entry
from feedmill.model.event import Event, EventType, StoredEntry

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def event(kind: EventType, uid: str | None) -> Event:
    return Event(
        seq=1, id="e", type=kind, feed_id="f", occurred_at=NOON, entry_uid=uid, data={"title": "t"}
    )


class Entries:
    async def entries_by_uid(self, entry_uids: Sequence[str]) -> Mapping[str, StoredEntry]:
        return {uid: _entry(uid) for uid in entry_uids if uid != "deleted"}


def _entry(uid: str) -> StoredEntry:
    return StoredEntry(
        entry_uid=uid,
        feed_id="f",
        first_seen=NOON,
        last_seen=NOON,
        seen_count=1,
        content_hash="h",
        dedupe_key="k",
        match_confidence="high",
        content="x" * (2_000 if uid == "large" else 10),
    )


def filled(*events: Event) -> list[Any]:
    store: Any = Entries()
    found = asyncio.run(with_entries(events, store, 1_500))
    return [msgspec.json.decode(msgspec.json.encode(one))["data"] for one in found]


def test_events_that_announce_an_entry_carry_it_whole() -> None:
    new, updated, other = filled(
        event("new_entry", "a"), event("entry.updated", "b"), event("feed.added", None)
    )

    assert new["entry"]["entry_uid"] == "a"
    assert new["entry"]["content"] == "x" * 10
    assert updated["entry"]["entry_uid"] == "b"
    assert other == {"title": "t"}


def test_an_entry_that_is_too_large_or_deleted_is_left_out_with_the_reason() -> None:
    large, deleted, nameless = filled(
        event("new_entry", "large"), event("new_entry", "deleted"), event("new_entry", None)
    )

    assert (large["entry"], large["entry_omitted"]) == (None, "too-large")
    assert (deleted["entry"], deleted["entry_omitted"]) == (None, "deleted")
    assert nameless == {"title": "t"}


def test_an_event_that_is_kept_loses_the_entry_again() -> None:
    store: Any = Entries()
    plain = event("new_entry", "a")

    (whole,) = asyncio.run(with_entries([plain], store, 1_500))

    assert without_entry(whole) == plain
    assert without_entry(plain) is plain
