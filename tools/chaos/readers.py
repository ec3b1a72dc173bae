"""Readers that need more than HTTP, each a program of its own: `python -m tools.chaos.readers KIND FOLDER`.

`nats` follows the stream as a durable reader; `store` asks the store itself; `tap` writes NDJSON files
as `feedmill run` does. What they read is in their journals, and they go on after any trouble. Where
everything is comes in the environment, as for feedmill.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.consumer_journal import Journal

if TYPE_CHECKING:
    from nats.aio.msg import Msg

_PAGE: Final = 500
_REST_SEC: Final = 0.1
_STREAM: Final = "feedmill"
_READER: Final = "chaos"


async def by_nats(folder: Path) -> None:
    """The server keeps the place; what was not acknowledged comes again."""
    import nats
    from nats.errors import Error
    from nats.js.api import ConsumerConfig

    journal = Journal(folder, "nats")
    while True:
        # Not mended by the client: a new one begins in a state that is known.
        with suppress(Error, OSError, TimeoutError):
            client = await nats.connect(
                os.environ["FEEDMILL_BUS_URL"],
                allow_reconnect=False,
                connect_timeout=2,
                error_cb=_no_word,
            )
            try:
                place = await client.jetstream(timeout=2).pull_subscribe(
                    f"{_STREAM}.events.>",
                    durable=_READER,
                    stream=_STREAM,
                    config=ConsumerConfig(max_ack_pending=1_000, ack_wait=5),
                )
                while client.is_connected:
                    with suppress(TimeoutError):
                        await _take(journal, await place.fetch(_PAGE, timeout=0.5))
            finally:
                with suppress(Error, OSError, TimeoutError):
                    await client.close()
        await asyncio.sleep(_REST_SEC)


async def by_store(folder: Path) -> None:
    """The cursor of the port itself."""
    from feedmill.adapters.settings import load_config
    from feedmill.app.services import open_services
    from feedmill.errors import FeedmillError

    journal = Journal(folder, "store")
    while True:
        with suppress(FeedmillError):
            async with open_services(load_config(None, os.environ), schema="await") as services:
                while True:
                    events = await services.store.events(after=journal.cursor, limit=_PAGE)
                    journal.take({"seq": one.seq, "id": one.id} for one in events)
                    if len(events) < _PAGE:
                        await asyncio.sleep(_REST_SEC)
        await asyncio.sleep(_REST_SEC)


async def by_tap(_: Path) -> None:
    """NDJSON files in the home folder; the cursor is in the store."""
    from feedmill.adapters.settings import load_config
    from feedmill.app.services import file_sinks, open_services
    from feedmill.engine.deliver.to_sinks import run_delivery
    from feedmill.engine.run.lifecycle import Lifecycle
    from feedmill.errors import FeedmillError

    while True:
        with suppress(FeedmillError):
            async with open_services(load_config(None, os.environ), schema="await") as services:
                sink = (await file_sinks(services))[0]
                await run_delivery(
                    services.store,
                    sink,
                    Lifecycle("tap"),
                    every_sec=_REST_SEC,
                    drain_sec=services.config.run.drain_sec,
                    written=asyncio.Event(),
                )
        await asyncio.sleep(_REST_SEC)


async def _take(journal: Journal, messages: "Sequence[Msg]") -> None:
    """Numbers have no gaps, so what comes too early is known: it is asked for again, in its turn.

    The server sends what a dead reader had and did not acknowledge when it likes, not in order.
    """
    for message in messages:
        told = message.headers or {}
        seq = int(told["ce-sequence"])
        if seq > journal.cursor + 1:
            await message.nak()
            continue
        journal.take([{"seq": seq, "id": told["ce-id"]}])
        await message.ack()


async def _no_word(_: Exception) -> None:
    """The loop above sees the same."""


KINDS: Final = {"nats": by_nats, "store": by_store, "tap": by_tap}

if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(KINDS[sys.argv[1]](Path(sys.argv[2])))
