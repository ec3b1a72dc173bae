"""Every bus behind the face that all sinks have in their contract suite."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.bus_readers import (
    NatsReader,
    Read,
    Reader,
    RedisReader,
    mock_kafka,
)
from tests.support.cloudevents_checker import event_of

from feedmill.app.services import make_bus
from feedmill.config import BusConfig, Config
from feedmill.engine.ports.entries import Bus
from feedmill.model.event import Event
from feedmill.publish.ndjson import event_line


class BusBench:
    """A stream of its own on a shared server; what it holds, as lines of events."""

    def __init__(self, url: str, reader: Reader, stream: str) -> None:
        self.url, self.reader, self.stream = url, reader, stream

    def config(self, **chosen: Any) -> Config:
        """Settings that lead here."""
        return Config(bus=BusConfig(url=self.url, stream=self.stream, **chosen))

    def open(self, **chosen: Any) -> Bus:
        return make_bus(self.config(**chosen))

    def messages(self) -> list[Read]:
        """Everything that is there."""
        return asyncio.run(self.reader.read(self.stream))

    def lines(self) -> list[bytes]:
        return [event_line(_event(message)) for message in self.messages()]


def nats_bench(folder: Path, request: pytest.FixtureRequest) -> BusBench:
    """A stream of the shared NATS."""
    server = request.getfixturevalue("nats_server")
    return BusBench(server.url, NatsReader(server), folder.name)


def redis_bench(folder: Path, request: pytest.FixtureRequest) -> BusBench:
    """A stream of the shared Valkey."""
    server = request.getfixturevalue("valkey_server")
    return BusBench(server.url, RedisReader(server), folder.name)


def kafka_bench(folder: Path, _: pytest.FixtureRequest) -> BusBench:
    """A topic of the cluster in this process."""
    return BusBench(mock_kafka().url, mock_kafka(), folder.name)


BUSES: dict[str, Callable[[Path, pytest.FixtureRequest], BusBench]] = {
    "nats": nats_bench,
    "redis": redis_bench,
    "kafka": kafka_bench,
}


def _event(message: Read) -> Event:
    """The event again, out of its envelope."""
    told = event_of(message)
    subject, feed_id = told["subject"], told["feedid"]
    plain = {
        "seq": int(told["sequence"]),
        "id": told["id"],
        "type": told["type"].removeprefix("feedmill."),
        "feed_id": feed_id,
        "occurred_at": told["time"],
        "entry_uid": None if subject == feed_id else subject,
        "data": told.get("data", {}),
    }
    return msgspec.convert(plain, Event)
