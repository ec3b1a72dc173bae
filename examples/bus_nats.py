"""Print every event from a stream of NATS JetStream, and go on where the last run ended.

python examples/bus_nats.py nats://127.0.0.1:4222 feedmill my-reader
"""

import asyncio
import json
import sys

import nats
from nats.js.api import ConsumerConfig


async def follow(url: str, stream: str, reader: str) -> None:
    """The server keeps the place of a durable reader; what is not acknowledged comes again."""
    client = await nats.connect(url)
    # Of one kind only: f"{stream}.events.new_entry.*"; of one feed: f"{stream}.events.*.<feed id>"
    subject = f"{stream}.events.>"
    place = await client.jetstream().pull_subscribe(
        subject, durable=reader, stream=stream, config=ConsumerConfig(max_ack_pending=1_000)
    )
    while True:
        try:
            messages = await place.fetch(100, timeout=5)
        except TimeoutError:
            continue
        for message in messages:
            about = message.headers
            title = json.loads(message.data or b"{}").get("title")
            print(int(about["ce-sequence"]), about["ce-type"], about["ce-id"], title, flush=True)
            await message.ack()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    asyncio.run(follow(*sys.argv[1:]))
