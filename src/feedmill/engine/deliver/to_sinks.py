"""From the one gapless log to whoever wants to know (D29).

Each consumer has a cursor in the store. Events are handed over in order and the cursor moves
behind them, so a crash between the two delivers some again: at least once, never a gap.
"""

import asyncio
from contextlib import suppress

from feedmill.engine.ports.sink import Sink
from feedmill.engine.run.lifecycle import Watch
from feedmill.engine.run.retry import Trouble
from feedmill.engine.run.services import World
from feedmill.errors import FeedmillError

_BATCH = 500
_GRACE_SEC = 1.0  # for a delivery under way when the run should end


async def deliver_pending(world: World, sink: Sink) -> int:
    """Hand over everything that the sink has not seen; the number of events."""
    delivered = 0
    after = await world.store.cursor(sink.name)
    while events := await world.store.events(after=after, limit=_BATCH):
        await sink.deliver(events)
        after = events[-1].seq
        await world.store.set_cursor(sink.name, after)
        delivered += len(events)
    return delivered


async def keep_delivering(world: World, sink: Sink, watch: Watch, *, every_sec: float) -> None:
    """Deliver until the run ends, and once more at its end so that little waits for the next.

    A sink or a store that fails is waited for; the events stay in the log meanwhile.
    """
    trouble = Trouble(f"deliver {sink.name}", watch)
    while not watch.is_stopping():
        with suppress(TimeoutError):
            await watch.unless_stopping(_deliver(world, sink, trouble), _GRACE_SEC)
        await trouble.rest()
        await watch.pause(every_sec)
    with suppress(TimeoutError):
        async with asyncio.timeout(world.config.run.drain_sec):
            await _deliver(world, sink, trouble)


async def _deliver(world: World, sink: Sink, trouble: Trouble) -> None:
    try:
        await deliver_pending(world, sink)
    except FeedmillError as problem:
        trouble.met(problem)
    else:
        trouble.over()
