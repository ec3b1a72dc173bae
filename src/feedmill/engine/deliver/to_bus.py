"""From the log to a bus (D29): the log stays the truth, the bus carries copies of it.

One cursor per bus lies in the store. A window of events is handed over, every one is acknowledged,
then the cursor moves: whoever dies in between hands some over again, and nobody leaves any out.
Several relays on one bus are harmless for the same reason.

A bus may lose what it acknowledged, and a stream may belong to somebody else. So a relay looks what
the bus holds before it begins and after every trouble, compares it with the log, and goes back when
the bus is behind its cursor.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from feedmill.engine.ports.events import Bus
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.retry import Backoff
from feedmill.engine.run.services import Services
from feedmill.errors import ConflictError, FeedmillError, UsageError
from feedmill.model.event import Relayed

_GRACE_SEC: Final = 1.0  # for a window under way when the run should end


RelayListener = Callable[[Relayed], None]


async def run_relay(
    services: Services, bus: Bus, watch: Lifecycle, *, listeners: tuple[RelayListener, ...] = ()
) -> None:
    """Relay until the run ends, and once more at its end; the bus is closed then.

    A bus or a store that fails is waited for; the events stay in the log meanwhile.
    """
    trouble = Backoff(f"relay {bus.name}", watch)
    relay = _Relay(services, bus, listeners)
    try:
        while not watch.is_stopping():
            with suppress(TimeoutError):
                await watch.unless_stopping(relay.turn(trouble), _GRACE_SEC)
            await trouble.wait()
            if not trouble.active:
                watch.on_poll_loop("bus")
            await watch.sleep_unless_stopping(services.config.bus.look_sec)
        if not trouble.active:
            with suppress(TimeoutError):
                async with asyncio.timeout(services.config.run.drain_sec):
                    await relay.turn(trouble)
    finally:
        await bus.close()


async def relay_pending(
    services: Services, bus: Bus, *, listeners: tuple[RelayListener, ...] = ()
) -> int:
    """Hand over everything that the bus has not got, once; the number of events."""
    relay = _Relay(services, bus, listeners)
    await relay.compare()
    return await relay.advance(await services.store.cursor(bus.name))


async def relay_after(
    services: Services, bus: Bus, after: int, *, listeners: tuple[RelayListener, ...] = ()
) -> int:
    """Hand over all events after this number that the bus does not hold; how many they were.

    A bus that cannot tell what it holds gets all of them, and its readers know repetitions by id.
    The cursor goes back first, so that another relay finishes what this one may not.
    """
    last = await services.store.last_seq()
    if after > last:
        message = f"the log ends at event {last}; there is nothing after {after} to fill a bus with"
        raise UsageError(message)
    relay = _Relay(services, bus, listeners)
    held = await relay.compare()
    start = max(after, held)
    await services.store.set_cursor(bus.name, start)
    return await relay.advance(start)


class _Relay:
    """One bus and what is known of it."""

    def __init__(self, services: Services, bus: Bus, listeners: tuple[RelayListener, ...]) -> None:
        self._world, self._bus, self._listeners = services, bus, listeners
        self._is_compared = False

    async def turn(self, trouble: Backoff) -> None:
        """Everything that is there now; a failure is noted, and what the bus holds is in doubt."""
        try:
            if not self._is_compared:
                await self.compare()
            await self.advance(await self._world.store.cursor(self._bus.name))
        except FeedmillError as problem:
            self._is_compared = False
            trouble.failed(problem)
        except asyncio.CancelledError:
            self._is_compared = False
            raise
        else:
            trouble.succeeded()
            trouble.watch.on_poll_loop("bus")

    async def compare(self) -> int:
        """Move the cursor to what the bus holds, when it can tell; the number up to which it does."""
        store, name = self._world.store, self._bus.name
        newest = await self._bus.newest()
        cursor = await store.cursor(name)
        self._is_compared = True
        if newest is None:
            return 0
        if newest.seq > await store.last_seq():
            raise _stranger(name, f"event {newest.seq}, which the log has not reached")
        same = await store.events(after=newest.seq - 1, limit=1) if newest.seq else ()
        is_kept = bool(same) and same[0].seq == newest.seq and newest.id is not None
        if is_kept and same[0].id != newest.id:
            raise _stranger(name, f"another event {newest.seq} than the log")
        if newest.seq < cursor or (is_kept and newest.seq > cursor):
            await store.set_cursor(name, newest.seq)
            self._tell(0, newest.seq, lost=max(cursor - newest.seq, 0))
        return newest.seq

    async def advance(self, after: int) -> int:
        """Hand over what comes after this number, window by window."""
        store, window = self._world.store, self._world.config.bus.window
        done = 0
        while events := await store.events(after=after, limit=window):
            await self._bus.deliver(events)
            after = events[-1].seq
            await store.set_cursor(self._bus.name, after)
            done += len(events)
            self._tell(len(events), after)
        return done

    def _tell(self, events: int, seq: int, *, lost: int = 0) -> None:
        for listener in self._listeners:
            listener(Relayed(bus=self._bus.name, events=events, seq=seq, lost=lost))


def _stranger(name: str, what: str) -> ConflictError:
    message = (
        f"{name} holds {what}: it is the stream of another mill, or the store is an older copy"
    )
    hint = "give this mill a stream of its own ([bus] stream), or delete that one and start again"
    return ConflictError(message, reason="another-log", hint=hint)
