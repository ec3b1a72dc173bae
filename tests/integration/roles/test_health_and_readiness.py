"""Health and readiness of a worker, for probes and systemd, while its database goes and comes back."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.health_probe import Systemd, ask, until_answer
from tests.support.run_process import Mill
from tests.support.servers.databases import migrated_database
from tests.support.servers.free_port import free_port
from tests.support.servers.postgres import PostgresServer

from feedmill.app.doctor import readiness_checks_for
from feedmill.app.services import open_services
from feedmill.config import Config, StoreConfig
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.readiness import Liveness, check_readiness

WORKER = ("worker",)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A database server that these tests may stop."""
    with PostgresServer(durable=False) as server:
        yield server


def test_worker_is_ready_while_its_database_answers_and_says_why_when_not(
    tmp_path: Path, own_server: PostgresServer
) -> None:
    dsn = migrated_database(own_server)

    async def story() -> None:
        port = free_port()
        mill = Mill(tmp_path / "home", dsn, FEEDMILL_HEALTH_PORT=str(port))
        async with await mill.start(role=WORKER) as worker:
            await until_answer(port, "/readyz", lambda told: told.status == 200, "ready")
            assert (await mill.command("healthcheck"))[0] == 0

            own_server.stop()
            gone = await until_answer(port, "/readyz", lambda told: told.status == 503, "not ready")
            assert ("store", "cannot-open") in gone.reasons
            assert (await mill.command("healthcheck"))[0] == 1
            # It waits, and starting anew is no help.
            assert (await ask(port, "/livez")).status == 200

            own_server.start()
            await until_answer(port, "/readyz", lambda told: told.status == 200, "ready again")
            assert await worker.stop() == 0
        assert not mill.said("unexpected error")

    asyncio.run(story())


def test_worker_waits_for_a_database_that_is_down_and_for_its_migration(
    tmp_path: Path, own_server: PostgresServer
) -> None:
    async def story() -> None:
        port = free_port()
        dsn = own_server.create_database()
        own_server.stop()
        mill = Mill(tmp_path / "home", dsn, FEEDMILL_HEALTH_PORT=str(port))
        async with await mill.start(role=WORKER) as worker:
            code, _ = await mill.command("migrate", "--check")
            assert code == 1  # nobody there
            own_server.start()
            assert (await mill.command("migrate", "--check"))[0] == 1  # and nothing in it
            assert worker.is_alive

            assert (await mill.command("migrate"))[0] == 0

            await until_answer(port, "/readyz", lambda told: told.status == 200, "ready")
            assert await worker.stop() == 0

    asyncio.run(story())


def test_worker_waiting_for_its_database_stops_on_sigterm(
    tmp_path: Path, postgres_dsn: str
) -> None:
    async def story() -> None:
        mill = Mill(tmp_path / "home", postgres_dsn)
        with Systemd(tmp_path) as systemd:
            mill.settings["NOTIFY_SOCKET"] = systemd.address
            async with await mill.start(role=WORKER) as waiting:
                await systemd.until("STATUS=opening the store")
                assert await waiting.stop() == 130

    asyncio.run(story())


def test_systemd_is_notified_of_ready_watchdog_and_stopping(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story() -> None:
        mill = Mill(tmp_path / "home", store_url, WATCHDOG_USEC="300000")
        with Systemd(tmp_path) as systemd:
            mill.settings["NOTIFY_SOCKET"] = systemd.address
            async with await mill.start(role=WORKER) as worker:
                await systemd.until("READY=1", "WATCHDOG=1")
                assert "STATUS=worker: working, 0 hosts at the moment" in systemd.heard
                worker.signal(signal.SIGTERM)
                await systemd.until("STOPPING=1")
                assert await worker.ended() == 0

    asyncio.run(story())


def test_metrics_for_scaling_are_served(tmp_path: Path, store_url: str | None) -> None:
    async def story() -> None:
        port = free_port()
        mill = Mill(tmp_path / "home", store_url)
        async with await mill.start(role=("run", "--quiet", "--metrics-port", str(port))) as run:
            page = await until_answer(
                port, "/metrics", lambda told: b'relay_lag{consumer="w' in told.body, "gauges"
            )
            for line in (b"feedmill_due_lanes 0.0", b"feedmill_lanes_held 0.0"):
                assert line in page.body
            await until_answer(port, "/readyz", lambda told: told.status == 200, "ready")
            assert await run.stop() == 0

    asyncio.run(story())


def test_worker_without_its_raw_folder_is_not_ready(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_services(Config(store=StoreConfig(home=str(tmp_path)))) as services:
            (tmp_path / "raw").rename(tmp_path / "elsewhere")
            watch, pulse = Lifecycle("me"), Liveness(services.clock, (), stall_sec=60)
            probes = readiness_checks_for(services, "worker")

            gone = await check_readiness(
                services.store, services.clock, watch, pulse, "worker", probes
            )
            (tmp_path / "elsewhere").rename(tmp_path / "raw")
            back = await check_readiness(
                services.store, services.clock, watch, pulse, "worker", probes
            )

            assert [(one.part, one.reason) for one in gone.reasons] == [("raw", "cannot-open")]
            assert back.ready
            assert readiness_checks_for(services, "api") == {}

    asyncio.run(story())


def test_readiness_is_json_with_the_role_and_the_name_of_the_process(tmp_path: Path) -> None:
    async def story() -> None:
        port = free_port()
        mill = Mill(tmp_path / "home", FEEDMILL_HEALTH_PORT=str(port))
        async with await mill.start(role=WORKER) as worker:
            told = await until_answer(port, "/readyz", lambda told: told.status == 200, "ready")
            shape = json.loads(told.body)
            assert shape["name"].endswith(f":{worker.process.pid}")
            assert (shape["ready"], shape["role"], shape["reasons"]) == (True, "worker", [])
            code, printed = await mill.command("healthcheck", "--json")
            assert (code, json.loads(printed)["role"]) == (0, "worker")
            assert await worker.stop() == 0
        assert (await mill.command("healthcheck"))[0] == 1
        assert b"does not answer" in mill.log

    asyncio.run(story())
