"""Publishes events to a Kafka topic: keyed by feed, so that each feed's are in order.

The producer is idempotent, waits for all replicas in sync and never gives a message up on its own
(`message.timeout.ms` 0): when our time is over, everything that is left is thrown away together,
and what has arrived is a beginning of each partition. Kafka drops repetitions of one producer only;
those of a relay that died are for the reader to know by their id.
"""
# Tested in tests/contracts/bus/

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from feedmill.adapters.bus.address import BusAddress
from feedmill.adapters.failpoints import reach
from feedmill.config import BusConfig
from feedmill.engine.ports.entries import NewestEvent
from feedmill.errors import ConfigError, SinkError
from feedmill.model.event import Event
from feedmill.publish.cloudevents import bus_message

_OPTIONS: Final = ("security.", "sasl.", "ssl.")
_CLOSE_SEC: Final = 1.0
_REFUSED: Final = frozenset(
    {
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError._AUTHENTICATION,  # noqa: SLF001  # what librdkafka itself notices
    }
)
_SILENT: Final = logging.getLogger("feedmill.librdkafka")
_SILENT.setLevel(logging.CRITICAL + 1)  # its errors show in its answers, and the relay reports them


class KafkaBus:
    """A topic that is there already; its partitions and copies are its owner's choice."""

    def __init__(self, address: BusAddress, config: BusConfig, source: str) -> None:
        self.name = f"bus:kafka:{config.stream}"
        self._address, self._config, self._source = address, config, source
        self._settings = _settings(address, config)
        self._producer: Producer | None = None
        # One thread does all the waiting for librdkafka, and ends with the bus.
        self._thread = ThreadPoolExecutor(1, "kafka")

    async def deliver(self, events: Sequence[Event]) -> None:
        """Produce the events; acknowledged by all replicas in sync when this returns."""
        if events:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._thread, self._deliver, events)

    async def newest(self) -> NewestEvent | None:
        """None, unknown: a topic has as many ends as partitions, and repetitions in them."""
        return None

    async def close(self) -> None:
        """Leave the cluster."""
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._thread, self._drop)
        except RuntimeError:
            return  # it was closed before
        self._thread.shutdown(wait=False)

    def _deliver(self, events: Sequence[Event]) -> None:
        faults: list[KafkaError] = []

        def note(fault: KafkaError | None, _: Message) -> None:
            if fault is not None:
                faults.append(fault)

        reach("bus-send")
        try:
            producer = self._opened()
            for event in events:
                self._produce(producer, event, note)
            reach("bus-sent")
            left = producer.flush(self._config.timeout_sec)
        except (KafkaException, BufferError) as problem:
            self._drop()
            fault = problem.args[0] if isinstance(problem, KafkaException) else None
            raise self._sink_error(fault) from problem
        if left or faults:
            self._drop()
            raise self._sink_error(faults[0] if faults else None)
        reach("bus-taken")

    def _produce(self, producer: Producer, event: Event, note: Any) -> None:  # noqa: ANN401  # a callback
        config = self._config
        message = bus_message(
            event,
            self._source,
            mode=config.content_mode,
            prefix="ce_",
            max_bytes=config.max_event_bytes,
        )
        producer.produce(
            config.stream,
            key=event.feed_id.encode(),
            value=message.body,
            headers=[(name, value.encode()) for name, value in message.headers],
            on_delivery=note,
        )

    def _opened(self) -> Producer:
        """The producer, once its topic was seen; a topic that is missing is said at once."""
        if self._producer is None:
            producer = Producer(self._settings, logger=_SILENT)
            topic = self._config.stream
            found = producer.list_topics(topic, timeout=self._config.timeout_sec).topics[topic]
            if found.error is not None:
                raise KafkaException(found.error)
            self._producer = producer
        return self._producer

    def _drop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(_CLOSE_SEC)

    def _sink_error(self, fault: KafkaError | None) -> SinkError:
        where = f"the topic {self._config.stream} of Kafka at {self._address.shown}"
        if fault is None:
            return SinkError("too-slow", f"{where} did not acknowledge all events in time")
        words = f"{fault.str()} ({fault.name()})"
        if fault.code() in _REFUSED:
            return SinkError("refused", f"{where} denied access: {words}")
        if fault.code() in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}:  # noqa: SLF001
            return SinkError("refused", f"{where} does not exist; create it first: {words}")
        return SinkError("unreachable", f"{where} does not take events: {words}")


def _settings(address: BusAddress, config: BusConfig) -> dict[str, Any]:
    """The settings of librdkafka; options of the address cannot weaken what is promised."""
    foreign = [name for name, _ in address.options if not name.startswith(_OPTIONS)]
    if foreign:
        mistake = f"[bus] url: Kafka takes options that begin with {', '.join(_OPTIONS)} only"
        raise ConfigError([mistake])
    settings: dict[str, Any] = dict(address.options)
    if address.username is not None:
        settings |= {"sasl.username": address.username, "sasl.password": address.password or ""}
    if config.ca_file is not None:
        settings["ssl.ca.location"] = config.ca_file
    return settings | {
        "bootstrap.servers": address.shown,
        "client.id": "feedmill",
        "enable.idempotence": True,
        "enable.gapless.guarantee": True,
        "acks": "all",
        "message.timeout.ms": 0,
        "message.max.bytes": config.max_event_bytes + 65_536,
        "linger.ms": 2,
        "socket.timeout.ms": max(1_000, int(config.timeout_sec * 1_000)),
        "reconnect.backoff.max.ms": 1_000,
    }
