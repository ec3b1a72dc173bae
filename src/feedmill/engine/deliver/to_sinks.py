"""From the one gapless log to whoever wants to know (D29).

Each consumer has a cursor in the store. Events are handed over in order and the cursor moves
behind them, so a crash between the two delivers some again: at least once, never a gap.
"""

import asyncio
from contextlib import suppress

from feedmill.engine.ports.events import Sink
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.retry import Backoff
from feedmill.engine.run.services import Services
from feedmill.errors import FeedmillError

_BATCH = 500
_GRACE_SEC = 1.0  # for a delivery under way when the run should end


async def deliver_pending(services: Services, sink: Sink) -> int:
    """Hand over everything that the sink has not seen; the number of events."""
    delivered = 0
    after = await services.store.cursor(sink.name)
    while events := await services.store.events(after=after, limit=_BATCH):
        await sink.deliver(events)
        after = events[-1].seq
        await services.store.set_cursor(sink.name, after)
        delivered += len(events)
    return delivered


async def run_delivery(
    services: Services, sink: Sink, watch: Lifecycle, *, every_sec: float
) -> None:
    """Deliver until the run ends, and once more at its end so that little waits for the next.

    A sink or a store that fails is waited for; the events stay in the log meanwhile.
    """
    trouble = Backoff(f"deliver {sink.name}", watch)
    while not watch.is_stopping():
        with suppress(TimeoutError):
            await watch.unless_stopping(_deliver(services, sink, trouble), _GRACE_SEC)
        await trouble.wait()
        await watch.sleep_unless_stopping(every_sec)
    with suppress(TimeoutError):
        async with asyncio.timeout(services.config.run.drain_sec):
            await _deliver(services, sink, trouble)


async def _deliver(services: Services, sink: Sink, trouble: Backoff) -> None:
    try:
        await deliver_pending(services, sink)
    except FeedmillError as problem:
        trouble.failed(problem)
    else:
        trouble.succeeded()
