"""What lies on each bus, read by other clients' plain means: none of the relay's code is used."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from confluent_kafka import Consumer, Producer, TopicPartition
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError
from tests.support.bus_clients import jetstream, nats_client, redis_client
from tests.support.servers.nats import NatsServer
from tests.support.servers.valkey import ValkeyServer
from tests.support.waiting import HANG_GUARD_SEC

BATCH = 1_000


class Read(NamedTuple):
    """One message as its reader found it; header names as they stand on the bus."""

    where: str  # subject, id of the entry, or partition
    headers: Mapping[str, str]
    body: bytes | None


class Reader(Protocol):
    """Everything that a stream or topic of this name holds, the oldest first."""

    async def read(self, stream: str) -> list[Read]: ...


class NatsReader:
    """A pull consumer that takes everything."""

    def __init__(self, server: NatsServer) -> None:
        self.url = server.url

    async def read(self, stream: str) -> list[Read]:
        client = await nats_client(self.url, allow_reconnect=False)
        try:
            context = jetstream(client)
            try:
                wanted = (await context.stream_info(stream)).state.messages
            except NotFoundError:
                return []
            how = ConsumerConfig(deliver_policy=DeliverPolicy.ALL, ack_policy=AckPolicy.NONE)
            puller = await context.pull_subscribe("", stream=stream, config=how)
            found: list[Read] = []
            while len(found) < wanted:
                got = await puller.fetch(min(BATCH, wanted - len(found)), timeout=HANG_GUARD_SEC)
                found += [Read(one.subject, one.headers or {}, one.data) for one in got]
            return found
        finally:
            await client.close()


class RedisReader:
    """XRANGE over the whole stream."""

    def __init__(self, server: ValkeyServer) -> None:
        self.port = server.port

    async def read(self, stream: str) -> list[Read]:
        client = redis_client(f"redis://127.0.0.1:{self.port}")
        try:
            found = []
            entries: Any = await client.xrange(stream)
            for entry_id, fields in entries:
                texts = {name.decode(): value for name, value in fields.items()}
                body = texts.pop("data", None)
                headers = {name: value.decode() for name, value in texts.items()}
                found.append(Read(entry_id.decode(), headers, body))
            return found
        finally:
            await client.aclose()


class MockKafka:
    """A cluster inside this process: librdkafka's own mock, on real sockets of loopback."""

    def __init__(self) -> None:
        settings = {"bootstrap.servers": "mock", "test.mock.num.brokers": 3, "log_level": 0}
        self._owner = Producer(settings)
        brokers = self._owner.list_topics(timeout=HANG_GUARD_SEC).brokers.values()
        self.hosts = ",".join(f"{one.host}:{one.port}" for one in brokers)

    @property
    def url(self) -> str:
        return f"kafka://{self.hosts}"

    async def read(self, stream: str) -> list[Read]:
        settings = {"bootstrap.servers": self.hosts, "group.id": "reader", "log_level": 0}
        reader = Consumer(settings)
        try:
            partitions = (
                reader.list_topics(stream, timeout=HANG_GUARD_SEC).topics[stream].partitions
            )
            places = [TopicPartition(stream, number, 0) for number in partitions]
            wanted = sum(
                reader.get_watermark_offsets(one, timeout=HANG_GUARD_SEC)[1] for one in places
            )
            reader.assign(places)
            found: list[Read] = []
            while len(found) < wanted:
                for one in reader.consume(min(BATCH, wanted - len(found)), timeout=HANG_GUARD_SEC):
                    pairs: Any = one.headers() or []
                    headers = {name: value.decode() for name, value in pairs}
                    body: Any = one.value()
                    found.append(Read(f"{one.partition()}", headers, body))
            return found
        finally:
            reader.close()


@cache
def mock_kafka() -> MockKafka:
    """One cluster for all tests of this process: name your topics after your test."""
    return MockKafka()


def attributes(message: Read) -> dict[str, str]:
    """The attributes of CloudEvents in the headers, without their prefix and their encoding.

    By the binding for NATS headers begin with `ce-` and are percent-encoded as in HTTP; by the one
    for Kafka they begin with `ce_` and are plain UTF-8.
    """
    found = {}
    for name, value in message.headers.items():
        if name.startswith("ce-"):
            found[name.removeprefix("ce-")] = unquote(value)
        elif name.startswith("ce_"):
            found[name.removeprefix("ce_")] = value
    return found


def numbers(messages: list[Read]) -> list[int]:
    """The numbers of the events, in the order of the bus."""
    return [int(attributes(message)["sequence"]) for message in messages]


def feeds(messages: list[Read]) -> dict[str, list[int]]:
    """The numbers by feed, repetitions left out: what a reader that knows ids has seen."""
    found: dict[str, dict[int, None]] = {}
    for message in messages:
        told = attributes(message)
        found.setdefault(told["feedid"], {})[int(told["sequence"])] = None
    return {feed: list(seen) for feed, seen in found.items()}


def data(message: Read) -> object:
    """The data of an event in binary mode."""
    return json.loads(message.body or b"null")
