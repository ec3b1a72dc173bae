"""`feedmill migrate`, `worker`, `relay` and `api`: each does its own part and no other."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.bus_clients import jetstream, nats_client
from tests.support.health_probe import ask, until_answer
from tests.support.living_feeds_publisher import pressing
from tests.support.run_process import Mill
from tests.support.servers.free_port import free_port
from tests.support.servers.nats import NatsServer
from tests.support.store_ledger import ledger_of
from tests.support.waiting import HANG_GUARD_SEC, wait_until

FEEDS, HOSTS = 6, 6
# The command line in a process that gets a signal when it begins to import a module.
SIGNAL_ON_IMPORT = """
import os, sys
from feedmill.interfaces.cli.main import main

class Finder:
    def find_spec(self, name, *_):
        if name == "{module}":
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Finder())
main()
"""


async def test_migrations_are_applied_once_by_concurrent_migrate_commands(
    tmp_path: Path, postgres_dsn: str
) -> None:
    mill = Mill(tmp_path / "home", postgres_dsn)
    assert (await mill.command("list"))[0] == 1  # no other command migrates
    code, printed = await mill.command("migrate", "--check", "--json")
    missing = json.loads(printed)["missing"]
    assert (code, missing[0]) == (1, "0001_first")

    jobs = await asyncio.gather(*(mill.command("migrate", "--json") for _ in range(2)))

    assert [code for code, _ in jobs] == [0, 0]
    applied = [name for _, said in jobs for name in json.loads(said)["applied"]]
    assert sorted(applied) == missing
    assert await mill.command("migrate") == (0, b"the store is up to date\n")
    assert (await mill.command("migrate", "--check"))[0] == 0
    assert (await mill.command("list"))[0] == 0
    made = ledger_of(mill.home, postgres_dsn).number(
        "SELECT count(*) FROM pg_inherits WHERE inhparent = 'fetches'::regclass"
    )
    assert made > 2  # partitions for the days to come


async def test_migrate_creates_and_migrates_a_sqlite_file(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "home")
    assert (await mill.command("migrate", "--check"))[0] == 1
    assert not mill.home.exists()

    code, printed = await mill.command("migrate")

    assert code == 0
    assert printed.startswith(b"applied  0001_first_store\n")
    assert await mill.command("migrate", "--check") == (0, b"the store is up to date\n")


async def test_run_migrates_an_empty_database(tmp_path: Path, postgres_dsn: str) -> None:
    mill = Mill(tmp_path / "home", postgres_dsn)
    code, _ = await mill.command("run", "--quiet", "--for", "0.1")
    assert code == 0
    assert (await mill.command("migrate", "--check"))[0] == 0


async def test_worker_polls_and_relay_publishes_every_event_to_the_bus(
    tmp_path: Path, migrated_dsn: str, nats_server: NatsServer
) -> None:
    port = free_port()
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(
            tmp_path / "home",
            migrated_dsn,
            FEEDMILL_BUS_URL=nats_server.url,
            FEEDMILL_BUS_STREAM="roles",
        )
        ledger = ledger_of(mill.home, migrated_dsn)
        await mill.subscribe(press.addresses)
        press.resting = True
        async with await mill.start(role=("worker",)) as worker:
            await wait_until(lambda: ledger.has(press), "every item")
            assert await worker.stop() == 0
        assert not (mill.home / "out").exists()  # a worker writes no files for others
        mill.settings["FEEDMILL_HEALTH_PORT"] = str(port)
        async with await mill.start(role=("relay",)) as relay:
            await until_answer(port, "/readyz", lambda told: told.status == 200, "ready")
            lag = b'relay_lag{consumer="bus:nats:roles"} 0.0'
            await until_answer(port, "/metrics", lambda told: lag in told.body, "no lag")
            assert await relay.stop() == 0

        total = ledger.number("SELECT max(seq) FROM events")
        assert await messages(nats_server.url) == total
        code, _ = await mill.command("relay", "--from", "0", "--no-webhooks", "--for", "0.1")
        assert (code, await messages(nats_server.url)) == (0, total)  # known again by their ids
        assert not mill.said("unexpected error")


@pytest.mark.parametrize("words", [("relay", "--from", "0"), ("relay", "--no-webhooks")])
async def test_relay_options_for_a_bus_are_refused_without_a_bus(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    mill = Mill(tmp_path / "home")
    assert (await mill.command(*words))[0] == 2
    assert b"FEEDMILL_BUS_URL" in mill.log


async def test_api_answers_requests_and_never_polls(tmp_path: Path, store_url: str | None) -> None:
    port, health = free_port(), free_port()
    async with pressing(FEEDS, HOSTS) as press:
        mill = Mill(tmp_path / "home", store_url, FEEDMILL_SERVE_PORT=str(port))
        await mill.subscribe(press.addresses)
        assert (await mill.command("healthcheck"))[0] == 1
        mill.settings["FEEDMILL_HEALTH_PORT"] = str(health)
        async with await mill.start(role=("api",)) as api:
            await until_answer(health, "/readyz", lambda told: told.status == 200, "ready")
            await until_answer(port, "/readyz", lambda told: told.status == 200, "the door")
            feeds = json.loads((await ask(port, "/feeds")).body)["items"]
            assert len(feeds) == FEEDS
            assert (await ask(health, "/metrics")).status == 200
            assert (await mill.command("healthcheck"))[0] == 0
            url = f"http://127.0.0.1:{port}/readyz"
            assert (await mill.command("healthcheck", "--url", url))[0] == 0
            _, printed = await mill.command("workers", "--json")
            assert [one["role"] for one in json.loads(printed)["items"]] == ["api"]
            assert await api.stop() == 0
        assert press.asked == {}


@pytest.mark.parametrize(
    ("role", "number", "status"),
    [
        ("run", signal.SIGINT, 130),
        *((role, signal.SIGTERM, 0) for role in ("run", "worker", "relay", "api", "serve")),
    ],
)
def test_signal_during_the_imports_of_a_role_stops_it_before_it_opens_the_store(
    tmp_path: Path, role: str, number: signal.Signals, status: int
) -> None:
    module = f"feedmill.interfaces.cli.commands.servers.{'serve' if role == 'api' else role}"
    code = SIGNAL_ON_IMPORT.format(module=module, number=int(number))
    home = tmp_path / "home"

    ended = subprocess.run(
        [sys.executable, "-c", code, role],
        env={**os.environ, "FEEDMILL_HOME": str(home)},
        capture_output=True,
        timeout=HANG_GUARD_SEC,
    )

    assert (ended.returncode, home.exists()) == (status, False), ended.stderr


async def test_no_command_prints_a_password(tmp_path: Path) -> None:
    secret = "s3cret"
    mill = Mill(
        tmp_path / "home",
        f"postgresql://mill:{secret}@127.0.0.1:1/feeds",
        FEEDMILL_BUS_URL=f"nats://mill:{secret}@127.0.0.1:1",
        FEEDMILL_STORE_MIGRATE_WAIT_SEC="0",
    )
    printed = b""
    for words in (("config", "show"), ("doctor",), ("migrate",), ("relay", "--for", "0.1")):
        _, said = await mill.command(*words)
        printed += said

    assert b"postgresql://mill:***@127.0.0.1:1/feeds" in printed
    assert secret.encode() not in printed + mill.log


async def messages(url: str) -> int:
    """How many events are in the stream of these tests."""
    client = await nats_client(url)
    try:
        return (await jetstream(client).stream_info("roles")).state.messages
    finally:
        await client.close()
