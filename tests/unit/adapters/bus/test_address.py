"""Addresses of buses: what is understood, what is refused, and that no secret is ever repeated."""

import builtins
from types import ModuleType
from typing import Any

import pytest

from feedmill.adapters.bus.address import BusAddress, parse_bus_address
from feedmill.adapters.bus.kafka import KafkaBus
from feedmill.adapters.settings import load_config
from feedmill.app.services import make_bus
from feedmill.config import BusConfig, Config
from feedmill.errors import ConfigError, MissingExtraError


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("nats://bus", BusAddress(kind="nats", hosts=(("bus", 4222),))),
        (
            "tls://a:1,b:2",
            BusAddress(kind="nats", hosts=(("a", 1), ("b", 2)), encrypted=True),
        ),
        (
            "nats://t%40ken@bus",
            BusAddress(kind="nats", hosts=(("bus", 4222),), username="t@ken"),
        ),
        (
            "rediss://who:p%3Aw%2F@bus:7000/3",
            BusAddress(
                kind="redis",
                hosts=(("bus", 7000),),
                encrypted=True,
                username="who",
                password="p:w/",
                path="3",
            ),
        ),
        (
            "redis://:only@bus",
            BusAddress(kind="redis", hosts=(("bus", 6379),), password="only"),
        ),
        ("valkey://[::1]", BusAddress(kind="redis", hosts=(("[::1]", 6379),))),
        ("VALKEYS://[::1]:9", BusAddress(kind="redis", hosts=(("[::1]", 9),), encrypted=True)),
        (
            "kafka://a,b:9093?security.protocol=SASL_SSL&sasl.mechanism=PLAIN",
            BusAddress(
                kind="kafka",
                hosts=(("a", 9092), ("b", 9093)),
                options=(("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN")),
            ),
        ),
    ],
)
def test_an_address_is_read_into_its_parts(url: str, expected: BusAddress) -> None:
    assert parse_bus_address(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "bus:4222",
        "amqp://who:secret@bus",
        "nats://who:secret@",
        "nats://who:secret@a,,b",
        "nats://who:secret@bus:port",
        "nats://who:secret@bus:70000",
        "nats://who:secret@bus:0",
    ],
)
def test_an_address_that_leads_nowhere_is_refused_without_repeating_it(url: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        make_bus(Config(bus=BusConfig(url=url)))

    assert "secret" not in str(caught.value)


def test_hosts_are_shown_without_who_asks() -> None:
    assert parse_bus_address("kafka://who:secret@a,b:1").shown == "a:9092,b:1"


def test_an_option_cannot_weaken_what_kafka_promises() -> None:
    with pytest.raises(ConfigError, match="options that begin with"):
        make_bus(Config(bus=BusConfig(url="kafka://a?acks=0")))


def test_kafka_is_told_who_asks_and_by_which_certificates() -> None:
    url = "kafka://who:secret@a?security.protocol=SASL_SSL"

    bus = make_bus(Config(bus=BusConfig(url=url, ca_file=__file__)))

    assert isinstance(bus, KafkaBus)
    told = {name: bus._settings[name] for name in bus._settings if name.startswith(("s", "acks"))}
    assert told == {
        "security.protocol": "SASL_SSL",
        "sasl.username": "who",
        "sasl.password": "secret",
        "ssl.ca.location": __file__,
        "acks": "all",
        "socket.timeout.ms": 10_000,
    }


@pytest.mark.parametrize("kind", ["nats", "redis", "kafka"])
def test_a_client_that_is_not_installed_is_named_with_its_extra(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> ModuleType:
        if name == f"feedmill.adapters.bus.{kind}":
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(MissingExtraError) as caught:
        make_bus(Config(bus=BusConfig(url=f"{kind}://a")))

    assert f"feedmill[{kind}]" in caught.value.hint


def test_the_address_may_lie_in_a_file(tmp_path: Any) -> None:
    (tmp_path / "url").write_text("nats://who:secret@bus\n")

    config = load_config(None, {"FEEDMILL_BUS_URL_FILE": str(tmp_path / "url")})

    assert parse_bus_address(config.bus.url).password == "secret"


@pytest.mark.parametrize("stream", ["a.b", "a b", "*", "", "ü"])
def test_a_name_that_nats_cannot_have_is_refused(stream: str) -> None:
    with pytest.raises(ConfigError, match="letters, digits"):
        make_bus(Config(bus=BusConfig(url="nats://a", stream=stream)))


def test_a_window_of_nothing_would_never_relay() -> None:
    with pytest.raises(ConfigError, match="FEEDMILL_BUS_WINDOW: invalid value 0"):
        load_config(None, {"FEEDMILL_BUS_WINDOW": "0"})


def test_a_cursor_is_named_after_the_bus_and_its_stream() -> None:
    names = [
        make_bus(Config(bus=BusConfig(url=url, stream="mill"))).name
        for url in ("nats://a", "redis://a", "valkey://a", "kafka://a")
    ]

    assert names == ["bus:nats:mill", "bus:redis:mill", "bus:redis:mill", "bus:kafka:mill"]
