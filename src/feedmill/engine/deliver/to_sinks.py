"""Event delivery to sinks: in order and at least once, from a cursor per sink (D29).

Events are handed over in order and the cursor moves behind them, so a crash between the two
delivers some again: at least once, never a gap.
"""

import asyncio
from contextlib import suppress

from feedmill.engine.ports.events import EventLog, Sink
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.retry import Backoff
from feedmill.errors import FeedmillError

_BATCH = 500
_GRACE_SEC = 1.0  # for a delivery under way when the run should end


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
