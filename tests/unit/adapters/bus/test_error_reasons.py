"""What a bus says becomes a stable reason: one that is worth waiting for, or one that is not."""

import pytest
from confluent_kafka import KafkaError
from nats.errors import AuthorizationError, Error, NoRespondersError, NoServersError
from nats.js.errors import BadRequestError, ServerError
from redis.exceptions import (
    AuthenticationError,
    ConnectionError,  # noqa: A004  # its own
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)

from feedmill.adapters.bus.address import parse_bus_address
from feedmill.adapters.bus.kafka import KafkaBus
from feedmill.adapters.bus.nats import MessageRefusedError, _sink_error
from feedmill.adapters.bus.redis import RedisBus
from feedmill.config import BusConfig
from feedmill.engine.run.lifecycle import is_transient


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (AuthorizationError(), "refused"),
        (Error("nats: 'Authorization Violation'"), "refused"),
        (BadRequestError(code=400, err_code=10052, description="bad replicas"), "refused"),
        (MessageRefusedError(10060, "expected stream does not match"), "refused"),
        (MessageRefusedError(10070, "wrong last msg ID"), "busy"),
        (MessageRefusedError(10077, "maximum bytes exceeded"), "disk-full"),
        (BadRequestError(code=400, err_code=10047, description="no resources"), "disk-full"),
        (ServerError(code=503, err_code=10008, description="not available"), "unreachable"),
        (NoServersError(), "unreachable"),
        (NoRespondersError(), "unreachable"),
        (TimeoutError(), "unreachable"),
        (ConnectionRefusedError(111, "refused"), "unreachable"),
        (EOFError(), "unreachable"),
    ],
)
def test_what_nats_says_has_a_reason(problem: Exception, reason: str) -> None:
    told = _sink_error(problem, parse_bus_address("nats://who:secret@bus"))

    assert told.reason == reason
    assert is_transient(told) is (reason != "refused")
    assert "bus:4222" in str(told)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (AuthenticationError("WRONGPASS"), "refused"),
        (NoPermissionError("NOPERM"), "refused"),
        (ResponseError("WRONGTYPE another kind"), "refused"),
        (OutOfMemoryError("command not allowed"), "disk-full"),
        (ResponseError("OOM command not allowed, script: 1"), "disk-full"),
        (ResponseError("MISCONF errors writing to the AOF file"), "io-error"),
        (ReadOnlyError("READONLY You can't write against a read only replica"), "read-only"),
        (ResponseError("BUSY running a script"), "busy"),
        (ConnectionError("closed"), "unreachable"),
        (TimeoutError(), "unreachable"),
    ],
)
def test_what_redis_says_has_a_reason(problem: Exception, reason: str) -> None:
    bus = RedisBus(parse_bus_address("redis://who:secret@bus"), BusConfig(), "urn:mill")

    told = bus._sink_error(problem)

    assert told.reason == reason
    assert is_transient(told) is (reason != "refused")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, "too-slow"),  # it said nothing
        (KafkaError.SASL_AUTHENTICATION_FAILED, "refused"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "refused"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "refused"),
        (KafkaError._ALL_BROKERS_DOWN, "unreachable"),
        (KafkaError.NOT_ENOUGH_REPLICAS, "unreachable"),
        (KafkaError._GAPLESS_GUARANTEE, "unreachable"),
    ],
)
def test_what_kafka_says_has_a_reason(code: int | None, reason: str) -> None:
    bus = KafkaBus(parse_bus_address("kafka://who:secret@bus"), BusConfig(), "urn:mill")

    told = bus._sink_error(None if code is None else KafkaError(code))

    assert told.reason == reason
    assert is_transient(told) is (reason != "refused")
