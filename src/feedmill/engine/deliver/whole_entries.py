"""Whole entries for events that announce them: on lines of files, and in payloads of webhooks and the bus (D33).

An entry is as it stands when it is read: a later change may be in it already, and is announced by an event of its own.
"""
# Tested in tests/unit/engine/deliver/test_whole_entries.py

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from feedmill.engine.ports.entries import EntryStore
from feedmill.model.event import Event, StoredEntry
from feedmill.publish.ndjson import ENTRY_CHANGES, entry_line

ENTRIES_AT_ONCE: Final = 50  # whole ones, in memory
_ADDED: Final = ("entry", "entry_omitted")


async def entry_lines(events: Sequence[Event], store: EntryStore) -> Mapping[str, bytes]:
    """The line of each event that announces an entry, by event id; none for an entry that is deleted."""
    found = await _entries_of(events, store)
    return {
        event.id: entry_line(event, found[event.entry_uid or ""])
        for event in events
        if event.type in ENTRY_CHANGES and event.entry_uid in found
    }


async def with_entries(
    events: Sequence[Event], store: EntryStore, max_bytes: int
) -> tuple[Event, ...]:
    """The events with whole entries in `data.entry`; one that is larger than the limit is left out.

    `data.entry` is null then, as it is for an entry that was deleted, and `data.entry_omitted` says why.
    """
    found = await _entries_of(events, store)
    return tuple(_with_entry(event, found, max_bytes) for event in events)


def without_entry(event: Event) -> Event:
    """The event as the log has it."""
    kept = {name: one for name, one in event.data.items() if name not in _ADDED}
    return replace(event, data=kept) if len(kept) < len(event.data) else event


def _with_entry(event: Event, found: Mapping[str, StoredEntry], max_bytes: int) -> Event:
    if event.type not in ENTRY_CHANGES or event.entry_uid is None:
        return event
    entry = found.get(event.entry_uid)
    if entry is None:
        return replace(event, data=event.data | {"entry": None, "entry_omitted": "deleted"})
    text = msgspec.json.encode(entry)
    if len(text) > max_bytes:
        return replace(event, data=event.data | {"entry": None, "entry_omitted": "too-large"})
    return replace(event, data=event.data | {"entry": msgspec.Raw(text)})


async def _entries_of(events: Sequence[Event], store: EntryStore) -> Mapping[str, StoredEntry]:
    wanted = {event.entry_uid for event in events if event.type in ENTRY_CHANGES}
    return await store.entries_by_uid(sorted(uid for uid in wanted if uid is not None))
