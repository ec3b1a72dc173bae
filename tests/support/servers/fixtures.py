"""The servers as fixtures: started by the first test that asks, once per test process."""

from collections.abc import Iterator

import pytest
from tests.support.servers.known_types import remember_types
from tests.support.servers.nats import NatsServer
from tests.support.servers.postgres import PostgresServer
from tests.support.servers.seaweedfs import S3Server
from tests.support.servers.valkey import ValkeyServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The shared PostgreSQL; it forgets on a power cut. Do not stop it: start your own for that."""
    with pytest.MonkeyPatch.context() as patch, PostgresServer(durable=False) as server:
        remember_types(patch)
        yield server


@pytest.fixture
def postgres_dsn(postgres: PostgresServer) -> Iterator[str]:
    """An empty database for this test alone."""
    dsn = postgres.create_database()
    yield dsn
    postgres.drop_database(dsn)


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    """The shared NATS with JetStream: name your streams after your test."""
    with NatsServer() as server:
        yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """The shared S3 server with its bucket: use a prefix per test."""
    with S3Server() as server:
        yield server


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[ValkeyServer]:
    """The shared Valkey: use keys named after your test."""
    with ValkeyServer() as server:
        yield server
