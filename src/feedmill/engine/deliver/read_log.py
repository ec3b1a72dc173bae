"""What all readers of the event log share: waiting for it, a log that went back, whole entries for its events.

Polls the last sequence number every 100 ms while anything waits, and wakes all waiters.

The log is in the store, and another process may write to it; so one task reads its last number for
all long polls and streams of this process. A waiter is woken once, when there is something to read.

Recognises a log that went back: a restored backup, a promoted standby, another database (D37).

What was delivered is compared with the log by number and id. When the log does not have it, one event
`log.rewound` is appended to it, whose number leaps over every number that readers may have seen. So no number is
used twice, and every reader's next event says what happened, wherever its cursor stands.

Whole entries for events that announce them: on lines of files, and in payloads of webhooks and the bus (D33).

An entry is as it stands when it is read: a later change may be in it already, and is announced by an event of its own.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from feedmill.engine.ports.entries import EntryStore, EventLog, NewestEvent
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError
from feedmill.model.event import Event, StoredEntry
from feedmill.publish.ndjson import ENTRY_CHANGES, entry_line

ENTRIES_AT_ONCE: Final = 50  # whole ones, in memory
_ADDED: Final = ("entry", "entry_omitted")


class LogNotifier:
    """Wakes waiters when the log has grown; `run` is a task of the server that they belong to."""

    def __init__(self, log: EventLog, lifecycle: Lifecycle, *, every_sec: float = 0.1) -> None:
        self._log, self._lifecycle, self._every_sec = log, lifecycle, every_sec
        self._last_seq = 0
        self._waiting = 0
        self._grown = asyncio.Event()
        self._has_waiters = asyncio.Event()

    async def wait_past(self, seq: int, *, timeout_sec: float) -> bool:
        """True as soon as there are events after `seq`; False when time is up or the run ends."""
        if self._last_seq > seq:
            return True
        self._waiting += 1
        self._has_waiters.set()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_sec):
                    while self._last_seq <= seq and not self._lifecycle.is_stopping():
                        await self._grown.wait()
        finally:
            self._waiting -= 1
        return self._last_seq > seq

    async def run(self) -> None:
        """Poll while anything waits, until the run ends; then wake all waiters."""
        try:
            while not self._lifecycle.is_stopping():
                if not self._waiting:
                    self._has_waiters.clear()
                    waiting = asyncio.ensure_future(self._has_waiters.wait())
                    await self._lifecycle.wait_for(waiting)
                    waiting.cancel()
                await self._poll()
                await self._lifecycle.sleep_unless_stopping(self._every_sec)
        finally:
            self._wake()

    async def _poll(self) -> None:
        with suppress(FeedmillError):  # the reader of the log meets the same error and reports it
            last = await self._log.last_seq()
            if last > self._last_seq:
                self._last_seq = last
                self._wake()

    def _wake(self) -> None:
        grown, self._grown = self._grown, asyncio.Event()
        grown.set()


async def tell_if_rewound(log: EventLog, delivered: NewestEvent | None, now: datetime) -> bool:
    """Append `log.rewound` unless the log has this event, had it, or says so already."""
    if delivered is None or not delivered.seq:
        return False
    found = await log.events(after=delivered.seq - 1, limit=1)
    if found and (
        found[0].seq > delivered.seq or delivered.id is None or found[0].id == delivered.id
    ):
        return False  # it is there, or retention took it
    return await log.append_rewound(delivered, now)


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
