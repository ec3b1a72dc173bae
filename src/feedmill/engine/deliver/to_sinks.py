"""Delivers the event log to sinks and relays it to a bus (D29).

Events are handed over to a sink in order and its cursor moves behind them, so a crash between the two
delivers some again: at least once, never a gap.

The log is the source of truth, a bus carries copies. One cursor per bus is in the store. A batch of events is published, every one is acknowledged, then
the cursor moves: a crash in between publishes some again and leaves none out. Several relays on
one bus are harmless for the same reason.

A bus may lose what it acknowledged, and a stream may belong to another installation. So a relay
asks what the bus holds before it begins and after every error, compares it with the log, and goes
back when the bus is behind its cursor.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from feedmill.config import BusConfig
from feedmill.engine.deliver.read_log import ENTRIES_AT_ONCE, with_entries
from feedmill.engine.ports.entries import Bus, EntryStore, EventLog, Sink
from feedmill.engine.run.lifecycle import Backoff, Lifecycle
from feedmill.errors import ConflictError, FeedmillError, UsageError
from feedmill.model.event import Relayed

_BATCH = 500
_GRACE_SEC = 1.0  # for a delivery under way when the run should end
_BUS_GRACE_SEC: Final = 1.0  # for a batch under way when the run should end
_COMPACT_BYTES: Final = 8_192  # what an event has beside its entry


async def deliver_pending(log: EventLog, sink: Sink) -> int:
    """Deliver everything that the sink has not seen; the number of events."""
    delivered = 0
    after = await log.cursor(sink.name)
    while events := await log.events(after=after, limit=_BATCH):
        await sink.deliver(events)
        after = events[-1].seq
        await log.set_cursor(sink.name, after)
        delivered += len(events)
    return delivered


async def run_delivery(
    log: EventLog,
    sink: Sink,
    lifecycle: Lifecycle,
    *,
    every_sec: float,
    drain_sec: float,
    written: asyncio.Event,
) -> None:
    """Deliver until the run ends, and once more when polls and jobs have `written` their last events.

    After a failure of the sink or the store it is retried with backoff; the events stay in the log.
    """
    backoff = Backoff(f"deliver {sink.name}", lifecycle)
    while not lifecycle.is_stopping():
        with suppress(TimeoutError):
            await lifecycle.unless_stopping(_deliver(log, sink, backoff), _GRACE_SEC)
        await backoff.wait()
        await lifecycle.sleep_unless_stopping(every_sec)
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + drain_sec
    await written.wait()
    with suppress(TimeoutError):
        async with asyncio.timeout(max(ends_at - loop.time(), _GRACE_SEC)):
            await _deliver(log, sink, backoff)


async def _deliver(log: EventLog, sink: Sink, backoff: Backoff) -> None:
    try:
        await deliver_pending(log, sink)
    except FeedmillError as problem:
        backoff.failed(problem)
    else:
        backoff.succeeded()


class RelayStore(EventLog, EntryStore, Protocol):
    """The log, and the entries that a full payload carries."""


RelayListener = Callable[[Relayed], None]


async def run_relay(
    log: RelayStore,
    bus: Bus,
    config: BusConfig,
    lifecycle: Lifecycle,
    *,
    drain_sec: float,
    listeners: tuple[RelayListener, ...] = (),
) -> None:
    """Relay until the run ends, and once more at its end; the bus is closed then.

    After an error of the bus or the store it is retried with backoff; the events stay in the log.
    """
    backoff = Backoff(f"relay {bus.name}", lifecycle)
    relay = _Relay(log, bus, config, listeners)
    try:
        while not lifecycle.is_stopping():
            with suppress(TimeoutError):
                await lifecycle.unless_stopping(relay.publish_pending(backoff), _BUS_GRACE_SEC)
            await backoff.wait()
            if not backoff.active:
                lifecycle.on_poll_loop("bus")
            await lifecycle.sleep_unless_stopping(config.look_sec)
        if not backoff.active:
            with suppress(TimeoutError):
                async with asyncio.timeout(drain_sec):
                    await relay.publish_pending(backoff)
    finally:
        await bus.close()


async def relay_pending(
    log: RelayStore, bus: Bus, config: BusConfig, *, listeners: tuple[RelayListener, ...] = ()
) -> int:
    """Publish everything that the bus does not have, once; the number of events."""
    relay = _Relay(log, bus, config, listeners)
    await relay.compare()
    return await relay.advance(await log.cursor(bus.name))


async def relay_after(
    log: RelayStore,
    bus: Bus,
    after: int,
    config: BusConfig,
    *,
    listeners: tuple[RelayListener, ...] = (),
) -> int:
    """Publish all events after this number that the bus does not hold; how many they were.

    A bus that cannot say what it holds gets all of them, and its readers know repetitions by id.
    The cursor goes back first, so that another relay finishes what this one may not.
    """
    last = await log.last_seq()
    if after > last:
        message = f"the log ends at event {last}; there is nothing after {after} to fill a bus with"
        raise UsageError(message)
    relay = _Relay(log, bus, config, listeners)
    held = await relay.compare()
    start = max(after, held)
    await log.set_cursor(bus.name, start)
    return await relay.advance(start)


class _Relay:
    """One bus, and whether it was compared with the log."""

    def __init__(
        self, log: RelayStore, bus: Bus, config: BusConfig, listeners: tuple[RelayListener, ...]
    ) -> None:
        self._log, self._bus, self._batch_events = log, bus, config.window
        self._entry_bytes = 0  # of a whole entry; 0: payloads are compact
        if config.payload == "full":
            self._batch_events = min(config.window, ENTRIES_AT_ONCE)
            self._entry_bytes = max(1, config.max_event_bytes - _COMPACT_BYTES)
        self._listeners = listeners
        self._is_compared = False

    async def publish_pending(self, backoff: Backoff) -> None:
        """Publish everything pending; after a failure the bus is compared with the log again."""
        try:
            if not self._is_compared:
                await self.compare()
            await self.advance(await self._log.cursor(self._bus.name))
        except FeedmillError as problem:
            self._is_compared = False
            backoff.failed(problem)
        except asyncio.CancelledError:
            self._is_compared = False
            raise
        else:
            backoff.succeeded()
            backoff.lifecycle.on_poll_loop("bus")

    async def compare(self) -> int:
        """Move the cursor to what the bus holds, when the bus can say; the number up to which it does."""
        log, name = self._log, self._bus.name
        newest = await self._bus.newest()
        cursor = await log.cursor(name)
        self._is_compared = True
        if newest is None:
            return 0
        if newest.seq > await log.last_seq():
            raise _other_log(name, f"event {newest.seq}, which the log has not reached")
        same = await log.events(after=newest.seq - 1, limit=1) if newest.seq else ()
        is_kept = bool(same) and same[0].seq == newest.seq and newest.id is not None
        if is_kept and same[0].id != newest.id:
            raise _other_log(name, f"another event {newest.seq} than the log")
        if newest.seq < cursor or (is_kept and newest.seq > cursor):
            await log.set_cursor(name, newest.seq)
            self._report(0, newest.seq, lost=max(cursor - newest.seq, 0))
        return newest.seq

    async def advance(self, after: int) -> int:
        """Publish what comes after this number, batch by batch."""
        log, done = self._log, 0
        while events := await log.events(after=after, limit=self._batch_events):
            if self._entry_bytes:
                events = await with_entries(events, log, self._entry_bytes)
            await self._bus.deliver(events)
            after = events[-1].seq
            await log.set_cursor(self._bus.name, after)
            done += len(events)
            self._report(len(events), after)
        return done

    def _report(self, events: int, seq: int, *, lost: int = 0) -> None:
        for listener in self._listeners:
            listener(Relayed(bus=self._bus.name, events=events, seq=seq, lost=lost))


def _other_log(name: str, what: str) -> ConflictError:
    message = f"{name} holds {what}: it is the stream of another installation, or the store is an older copy"
    hint = (
        "if the store was restored from a backup: `feedmill store mark-restored`, and the relay goes on;"
        " else set a stream of its own ([bus] stream), or delete that stream and start again"
    )
    return ConflictError(message, reason="another-log", hint=hint)
