"""What an operator gets wrong on the way past one machine: what, where, how to go on, and no secret."""

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_line import Mill, Said, finish
from tests.support.servers.free_port import free_port
from tests.support.servers.nats import NatsServer
from tests.support.servers.postgres import PostgresServer

from feedmill.adapters.settings import load_config
from feedmill.app.services import make_bus
from feedmill.errors import ConfigError

SECRET = "s3same"
COMMANDS = [
    ("list",),
    ("workers",),
    ("migrate",),
    ("worker", "--for", "0"),
    ("relay", "--for", "0"),
]
SILENT = 3_600_000_000  # microseconds


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield int(other.getsockname()[1])


def refused(said: Said, *words: str, status: int = 1) -> None:
    """It left with this status, said all of the words, and neither a secret nor a traceback."""
    assert said.status == status, said
    for word in words:
        assert word in said.err, (word, said.err)
    assert SECRET not in said.err + said.text
    assert "Traceback" not in said.err


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_database_that_does_not_answer_is_named_with_what_to_check(
    mill: Mill, words: tuple[str, ...]
) -> None:
    place = f"127.0.0.1:{free_port()}/mill"
    mill.setenv(
        DATABASE_URL=f"postgresql://mill:{SECRET}@{place}", FEEDMILL_STORE_MIGRATE_WAIT_SEC="0"
    )

    said = mill(*words)

    refused(said, f"postgresql://mill@{place}", "check host and port")
    assert "tried again" not in said.err  # it is over


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://mill:{SECRET}/x@127.0.0.1/mill",
        f"postgresql://mill:a@{SECRET}/x@127.0.0.1/mill",
        f"postgresql://mill:{SECRET}?x@127.0.0.1/mill",
        f"postgresql://mill:{SECRET}#x@127.0.0.1/mill",
        f"postgresql://mill:{SECRET}@127.0.0.1:70000/mill",
        f"postgresql://mill:{SECRET}@h1:5432,h2:port/mill",
    ],
    ids=["slash", "at and slash", "question mark", "hash", "port too high", "port no number"],
)
def test_an_address_that_falls_apart_is_refused_with_how_it_is_written(
    mill: Mill, address: str
) -> None:
    mill.setenv(DATABASE_URL=address)

    refused(mill("list"), "postgresql://mill@", "%2F", "65535")
    refused(mill("store", "migrate", "sqlite:home", address, "--dry-run"))


def test_a_database_that_is_not_there_is_to_be_created(
    mill: Mill, postgres: PostgresServer
) -> None:
    mill.setenv(DATABASE_URL=postgres.dsn_of("nowhere"))

    for words in COMMANDS:
        refused(mill(*words), "/nowhere", "create it first")


def test_a_database_of_a_newer_feedmill_is_named(
    mill: Mill, postgres: PostgresServer, postgres_dsn: str
) -> None:
    mill.setenv(DATABASE_URL=postgres_dsn, FEEDMILL_STORE_MIGRATE_WAIT_SEC="0")
    refused(mill("workers"), postgres_dsn, "run `feedmill migrate`")
    mill.ok("migrate")
    postgres.run_sql("INSERT INTO schema_versions VALUES (999, 'later', 'x')", dsn=postgres_dsn)

    for words in COMMANDS:
        refused(mill(*words), postgres_dsn, "install the feedmill that wrote it")


def test_an_empty_file_for_a_secret_is_a_mistake_and_not_a_store_on_this_machine(
    mill: Mill,
) -> None:
    (mill.folder / "secret").write_text("\n")
    mill.setenv(DATABASE_URL_FILE="secret")

    refused(mill("list"), "DATABASE_URL_FILE: secret is empty", status=2)
    assert not mill.home.exists()


@pytest.mark.parametrize("part", ["HEALTH", "SERVE"])
def test_a_port_that_no_machine_has_is_refused(mill: Mill, part: str) -> None:
    mill.setenv(**{f"FEEDMILL_{part}_PORT": "70000"})

    refused(
        mill("worker", "--for", "0"),
        f"FEEDMILL_{part}_PORT: invalid value 70000",
        "65,535",
        status=2,
    )


@pytest.mark.parametrize("role", ["worker", "relay", "run"])
def test_a_health_port_that_is_taken_is_told_with_the_setting(
    mill: Mill, role: str, taken: int
) -> None:
    mill.setenv(FEEDMILL_HEALTH_PORT=str(taken))

    said = mill(role, "--for", "0")

    refused(said, f"port {taken}", "in use)", "FEEDMILL_HEALTH_PORT", status=2)
    assert "('127" not in said.err


def test_a_role_that_is_not_there_is_told_in_plain_words(mill: Mill) -> None:
    mill.setenv(FEEDMILL_HEALTH_PORT=str(free_port()))

    said = mill("healthcheck")

    refused(said, "does not answer", "refused", "check that the role is running")
    assert "urlopen" not in said.err


def test_a_store_without_anybody_says_how_to_start_somebody(mill: Mill) -> None:
    assert "start one: feedmill worker" in mill.ok("workers").text


def test_whoever_is_silent_is_not_counted_as_working(
    mill: Mill, postgres: PostgresServer, postgres_dsn: str
) -> None:
    mill.setenv(DATABASE_URL=postgres_dsn)
    mill.ok("migrate")
    postgres.run_sql(
        "INSERT INTO workers (name, role, version, started_at, seen_at) SELECT 'lost/x:1',"
        f" 'worker', '0.1.0', at, at FROM (SELECT feedmill_now() - {SILENT} AS at) AS long_ago",
        dsn=postgres_dsn,
    )

    said = mill.ok("workers").text

    assert "silent" in said
    assert "0 working, 1 silent, " in said


def test_a_worker_says_under_which_name_it_polls(mill: Mill) -> None:
    assert re.match(r"polling as \S+:\d+;", mill.ok("worker", "--for", "0").text)
    assert mill.ok("worker", "--for", "0", "--json").out == b""


def test_a_relay_without_a_bus_says_so(mill: Mill) -> None:
    assert (
        "webhooks; no bus is configured (FEEDMILL_BUS_URL)" in mill.ok("relay", "--for", "0").text
    )


def test_a_bus_of_an_unknown_kind_is_a_mistake_in_the_settings(mill: Mill) -> None:
    mill.setenv(FEEDMILL_BUS_URL=f"ftp://who:{SECRET}@host")

    refused(mill("relay", "--for", "0"), "[bus] url must begin with", status=2)


def test_nats_that_is_away_is_told_at_once_and_why(mill: Mill) -> None:
    mill.setenv(
        FEEDMILL_BUS_URL=f"nats://who:{SECRET}@127.0.0.1:{free_port()}",
        FEEDMILL_BUS_TIMEOUT_SEC="3600",  # whoever waited for it would outlast the test
    )

    said = mill("relay", "--from", "0")

    refused(said, "NATS at 127.0.0.1", "refused")


def test_a_bus_is_not_filled_from_beyond_the_end_of_the_log(
    mill: Mill, nats_server: NatsServer
) -> None:
    mill.setenv(FEEDMILL_BUS_URL=nats_server.url, FEEDMILL_BUS_STREAM="beyond")

    refused(mill("relay", "--from", "9", "--for", "0"), "the log ends at event 0", status=2)
    told = mill.ok("relay", "--from", "0", "--for", "0").text
    assert told.startswith("0 events published to bus:nats:beyond again\n")


@pytest.mark.parametrize("field", ["creds_file", "ca_file"])
def test_a_file_of_the_bus_that_cannot_be_read_is_named(tmp_path: Path, field: str) -> None:
    missing = str(tmp_path / "nowhere")
    config = load_config(
        None,
        {"FEEDMILL_BUS_URL": "nats://127.0.0.1:1", f"FEEDMILL_BUS_{field.upper()}": missing},
    )

    with pytest.raises(ConfigError, match=rf"\[bus\] {field}: .*nowhere cannot be read"):
        make_bus(config)


def test_a_signal_that_comes_to_the_process_and_to_its_group_is_one_wish(mill: Mill) -> None:
    process = mill.start("relay")
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"relaying")

    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)

    said = finish(process)
    assert (said.status, said.err) == (0, "")
