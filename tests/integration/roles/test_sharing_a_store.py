"""What processes on one store do in turn, and what they are told about each other."""

import asyncio
from pathlib import Path

import pytest

from feedmill.app.services import open_world, owner_name, warn_if_apart
from feedmill.config import Config, StoreConfig
from feedmill.engine.maintain import retention
from feedmill.engine.run.heartbeat import machine_of, present
from feedmill.engine.run.lifecycle import Watch
from feedmill.engine.run.services import World
from feedmill.model.worker import WorkerView
from feedmill.observe import log


def config_of(home: Path, store_url: str | None) -> Config:
    return Config(store=StoreConfig(home=str(home), url=store_url))


def test_one_of_many_tidies_up_and_another_when_its_turn_is_over(
    tmp_path: Path, store_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[World] = []

    async def story() -> None:
        async with open_world(config_of(tmp_path, store_url)) as world:
            watches = [Watch(f"worker {n}") for n in range(4)]

            async def purge(_: World) -> dict[str, int]:
                purged.append(world)
                if len(purged) == 3:
                    for watch in watches:
                        watch.stop()
                return {}

            monkeypatch.setattr(retention, "purge", purge)
            monkeypatch.setattr(retention, "_EVERY_SEC", 0.2)
            async with asyncio.timeout(30):
                await asyncio.gather(*(retention.keep_tidy(world, one) for one in watches))

    asyncio.run(story())

    assert len(purged) == 3  # of four who look all the time: three turns, one purge each


def test_a_purge_that_had_to_be_left_is_another_ones_turn_at_once(
    tmp_path: Path, store_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with open_world(config_of(tmp_path, store_url)) as world:
            watch = Watch("leaving")

            async def endless(_: World) -> dict[str, int]:
                watch.stop()
                await asyncio.sleep(3600)
                return {}

            monkeypatch.setattr(retention, "purge", endless)
            monkeypatch.setattr(retention, "_EVERY_SEC", 0.0)
            monkeypatch.setattr(retention, "_GRACE_SEC", 0.05)
            await retention.keep_tidy(world, watch)
            now = world.clock.now()

            assert await world.store.hold_lease(retention.LEASE, "another", now=now, until=now)

    asyncio.run(story())


def test_whoever_is_there_is_listed_and_whoever_left_is_not(
    tmp_path: Path, store_url: str | None
) -> None:
    async def story() -> None:
        async with open_world(config_of(tmp_path, store_url)) as world:
            watch = Watch("somebody")
            async with present(world, watch, "relay"):
                (one,) = await until_seen(world, [False])
                assert one.worker is not None
                assert (one.name, one.worker.role) == ("somebody", "relay")
                watch.stop()
                await until_seen(world, [True])

            assert await world.store.workers() == ()

    asyncio.run(story())


def test_a_store_that_fails_takes_no_sign_of_life_and_harms_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with open_world(config_of(tmp_path, None)) as world:
            await world.store.close()
            async with asyncio.timeout(10), present(world, Watch("somebody"), "run"):
                pass

    asyncio.run(story())


def test_machines_that_share_a_database_and_no_raw_bytes_are_warned_once(
    tmp_path: Path, migrated_dsn: str, capfd: pytest.CaptureFixture[str]
) -> None:
    log.set_up("warning")

    async def story() -> None:
        async with open_world(config_of(tmp_path, migrated_dsn)) as world:
            here, there = Watch("here/a:1"), Watch("there/b:1")
            async with present(world, here, "worker"), present(world, there, "worker"):
                async with asyncio.timeout(20):
                    await until_seen(world, [False, False])
                    await warn_if_apart(world, here)

    asyncio.run(story())

    said = "".join(capfd.readouterr())
    assert said.count("raw bytes are not shared") == 1
    assert "machines=there" in said


def test_two_processes_of_one_number_on_one_machine_have_two_names() -> None:
    names = {owner_name() for _ in range(20)}

    assert len(names) > 1
    assert len({machine_of(name) for name in names}) == 1


async def until_seen(world: World, draining: list[bool]) -> tuple[WorkerView, ...]:
    """Wait until those who are there are seen, each draining or not."""
    async with asyncio.timeout(20):
        while True:
            found = await world.store.workers()
            if [one.worker is not None and one.worker.draining for one in found] == draining:
                return found
