"""Other clients of the buses, for tests: with the hang guard for their own limits of two and five seconds."""

from typing import Any

import nats
from nats.aio.client import Client
from nats.js import JetStreamContext
from redis.asyncio import Redis
from tests.support.waiting import HANG_GUARD_SEC


async def nats_client(url: str, **settings: Any) -> Client:
    """A client that has connected."""
    return await nats.connect(url, connect_timeout=int(HANG_GUARD_SEC), **settings)


def jetstream(client: Client) -> JetStreamContext:
    """The streams that its server keeps."""
    return client.jetstream(timeout=HANG_GUARD_SEC)


def redis_client(url: str) -> Redis:
    """A client that connects when it is first used."""
    return Redis.from_url(url, socket_timeout=HANG_GUARD_SEC, socket_connect_timeout=HANG_GUARD_SEC)
