"""The servers that other tests use: each starts, answers, and keeps its data over a restart."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import obstore
import pytest
import redis
from obstore.exceptions import BaseError
from obstore.store import S3Store
from tests.support.bus_clients import jetstream, nats_client
from tests.support.servers.nats import NatsServer
from tests.support.servers.postgres import PostgresServer, StopMode
from tests.support.servers.seaweedfs import S3Server
from tests.support.servers.server_process import Server, ServerFailedError
from tests.support.servers.valkey import ValkeyServer
from tests.support.waiting import HANG_GUARD_SEC, block_until


@pytest.fixture(scope="module")
def durable() -> Iterator[PostgresServer]:
    """A server that these tests may stop and kill."""
    with PostgresServer() as server:
        yield server


async def _ask(dsn: str, sql: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


def test_postgres_answers_in_a_database_of_this_test_alone(postgres_dsn: str) -> None:
    tables = asyncio.run(
        _ask(postgres_dsn, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
    )

    assert tables == 0


def test_a_database_is_a_copy_of_its_template_which_is_built_once(postgres: PostgresServer) -> None:
    built: list[str] = []

    def build(dsn: str) -> None:
        built.append(dsn)
        postgres.run_sql("CREATE TABLE mill AS SELECT 7 AS stones", dsn=dsn)

    copies = [
        postgres.create_database(template=postgres.template("a_template", build)) for _ in range(2)
    ]

    assert [postgres.run_sql("SELECT stones FROM mill", dsn=dsn) for dsn in copies] == ["7", "7"]
    assert len(built) == 1
    for dsn in copies:
        postgres.drop_database(dsn)


async def test_a_database_is_dropped_although_a_client_is_connected(
    postgres: PostgresServer,
) -> None:
    dsn = postgres.create_database()
    connection = await asyncpg.connect(dsn)

    postgres.drop_database(dsn)

    with pytest.raises(asyncpg.PostgresConnectionError):
        await connection.fetchval("SELECT 1")


@pytest.mark.parametrize("how", ["fast", "immediate", "kill"])
def test_postgres_keeps_what_it_acknowledged_through(how: str, durable: PostgresServer) -> None:
    durable.run_sql(f"CREATE TABLE kept_{how} AS SELECT 7 AS n")
    before = durable.dsn

    _end(durable, how)
    durable.start()

    assert durable.dsn == before
    assert asyncio.run(_ask(durable.dsn, f"SELECT n FROM kept_{how}")) == 7


def test_a_standby_follows_and_is_promoted_after_its_primary_was_killed() -> None:
    with PostgresServer() as primary, primary.standby("second") as second:
        primary.run_sql("ALTER SYSTEM SET synchronous_standby_names = 'second'")
        primary.reload()
        primary.run_sql("CREATE TABLE kept AS SELECT 7 AS n")
        primary.kill()

        second.promote()

        assert second.run_sql("SELECT n, pg_is_in_recovery() FROM kept") == "7|f"


def test_nats_keeps_a_stream_through_a_restart_and_a_kill() -> None:
    async def publish(url: str) -> None:
        client = await nats_client(url)
        stream = jetstream(client)
        await stream.add_stream(name="mill", subjects=["mill.>"])
        await stream.publish("mill.flour", b"white")
        await client.close()

    async def count(url: str) -> int:
        client = await nats_client(url)
        info = await jetstream(client).stream_info("mill")
        await client.close()
        return info.state.messages

    with NatsServer(sync_interval="always") as server:
        asyncio.run(publish(server.url))

        server.restart()
        after_restart = asyncio.run(count(server.url))
        server.kill()
        server.start()

        assert (after_restart, asyncio.run(count(server.url))) == (1, 1)


def test_nats_answers(nats_server: NatsServer) -> None:
    async def story() -> bytes:
        client = await nats_client(nats_server.url)
        subscription = await client.subscribe("servers.flour")
        await client.publish("servers.flour", b"white")
        message = await subscription.next_msg(timeout=HANG_GUARD_SEC)
        await client.close()
        return message.data

    assert asyncio.run(story()) == b"white"


def test_valkey_answers(valkey_server: ValkeyServer) -> None:
    with redis.Redis.from_url(valkey_server.url, socket_timeout=HANG_GUARD_SEC) as client:
        client.set("servers:flour", "white")

        assert client.get("servers:flour") == b"white"


def test_valkey_keeps_a_stream_through_a_restart_and_a_kill() -> None:
    with (
        ValkeyServer(fsync="always") as server,
        redis.Redis.from_url(server.url, socket_timeout=HANG_GUARD_SEC) as client,
    ):
        client.xadd("mill", {"flour": "white"})

        server.restart()
        after_restart = client.xlen("mill")
        server.kill()
        server.start()

        assert (after_restart, client.xlen("mill")) == (1, 1)


def _store(server: S3Server, secret: str | None = None) -> S3Store:
    return S3Store(
        server.bucket,
        access_key_id=server.access_key,
        secret_access_key=secret or server.secret_key,
        region=server.region,
        endpoint=server.url,
        client_options={"allow_http": True, "timeout": "10s"},
        retry_config={"max_retries": 0},
    )


def test_the_s3_server_honours_a_create_only_put(s3_server: S3Server) -> None:
    store = _store(s3_server)
    obstore.put(store, "servers/create", b"first", mode="create")

    with pytest.raises(obstore.exceptions.AlreadyExistsError):
        obstore.put(store, "servers/create", b"second", mode="create")

    assert bytes(obstore.get(store, "servers/create").bytes()) == b"first"


def test_the_s3_server_refuses_a_wrong_secret(s3_server: S3Server) -> None:
    with pytest.raises(BaseError):
        obstore.put(_store(s3_server, "another-secret"), "servers/stranger", b"x")


def test_the_s3_server_keeps_objects_through_a_restart() -> None:
    with S3Server() as server:
        obstore.put(_store(server), "servers/kept", b"flour")

        server.restart()

        assert bytes(obstore.get(_store(server), "servers/kept").bytes()) == b"flour"


def test_a_server_that_cannot_start_says_why() -> None:
    server = PostgresServer(settings={"max_connections": "plenty"})

    with pytest.raises(ServerFailedError, match="max_connections"):
        server.start()

    server.close()


def test_a_server_ends_with_the_tests_even_when_these_are_killed() -> None:
    # The program that starts the server has no time to tidy up: it is killed at once.
    program = (
        "import os, signal\n"
        "from tests.support.servers.valkey import ValkeyServer\n"
        "server = ValkeyServer().start()\n"
        "print(server.pid, server.folder, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    pid, folder = done.stdout.split()

    block_until(lambda: not Path(folder).exists(), "the end of the folder")

    assert done.returncode == -signal.SIGKILL
    assert not _runs(int(pid), "valkey-server")


def _end(server: Server, how: str) -> None:
    if how == "kill":
        server.kill()
    else:
        assert isinstance(server, PostgresServer)
        mode: StopMode = "fast" if how == "fast" else "immediate"
        server.stop(mode)


def _runs(pid: int, name: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    command = Path(f"/proc/{pid}/cmdline")
    return not command.exists() or name in command.read_text(encoding="utf-8")
