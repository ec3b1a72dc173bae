"""What processes on one store do in turn, and what they are told about each other."""

import asyncio
from pathlib import Path

import pytest
from tests.support.waiting import hang_guard, wait_for_answer

from feedmill.app.doctor import warn_if_raw_not_shared
from feedmill.app.services import open_services
from feedmill.app.settings import owner_name
from feedmill.config import Config, StoreConfig
from feedmill.engine.maintain import retention
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.readiness import heartbeat, machine_of
from feedmill.engine.run.services import Services
from feedmill.model.running.worker import WorkerView
from feedmill.observe import log


def config_of(home: Path, store_url: str | None) -> Config:
    return Config(store=StoreConfig(home=str(home), url=store_url))


def test_one_of_many_tidies_up_and_another_when_its_turn_is_over(
    tmp_path: Path, store_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[Services] = []

    async def story() -> None:
        async with open_services(config_of(tmp_path, store_url)) as services:
            watches = [Lifecycle(f"worker {n}") for n in range(4)]

            async def purge(_: Services) -> dict[str, int]:
                purged.append(services)
                if len(purged) == 3:
                    for watch in watches:
                        watch.stop()
                return {}

            monkeypatch.setattr(retention, "purge", purge)
            monkeypatch.setattr(retention, "_EVERY_SEC", 0.2)
            async with hang_guard():
                await asyncio.gather(*(retention.run_maintenance(services, one) for one in watches))

    asyncio.run(story())

    assert len(purged) == 3  # of four who look all the time: three turns, one purge each


async def test_a_purge_that_had_to_be_left_is_another_ones_turn_at_once(
    tmp_path: Path, store_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_services(config_of(tmp_path, store_url)) as services:
        watch = Lifecycle("leaving")

        async def endless(_: Services) -> dict[str, int]:
            watch.stop()
            await asyncio.sleep(3600)
            return {}

        monkeypatch.setattr(retention, "purge", endless)
        monkeypatch.setattr(retention, "_EVERY_SEC", 0.0)
        monkeypatch.setattr(retention, "_GRACE_SEC", 0.05)
        await retention.run_maintenance(services, watch)
        now = services.clock.now()

        assert await services.store.take_lease(
            retention.MAINTENANCE_LEASE, "another", now=now, until=now
        )


async def test_whoever_is_there_is_listed_and_whoever_left_is_not(
    tmp_path: Path, store_url: str | None
) -> None:
    async with open_services(config_of(tmp_path, store_url)) as services:
        watch = Lifecycle("somebody")
        async with heartbeat(services.store, services.clock, watch, "relay"):
            (one,) = await until_seen(services, [False])
            assert one.worker is not None
            assert (one.name, one.worker.role) == ("somebody", "relay")
            watch.stop()
            await until_seen(services, [True])

        assert await services.store.workers() == ()


async def test_a_store_that_fails_takes_no_sign_of_life_and_harms_nobody(tmp_path: Path) -> None:
    async with open_services(config_of(tmp_path, None)) as services:
        await services.store.close()
        async with (
            hang_guard(),
            heartbeat(services.store, services.clock, Lifecycle("somebody"), "run"),
        ):
            pass


def test_machines_that_share_a_database_and_no_raw_bytes_are_warned_once(
    tmp_path: Path, emptied_dsn: str, capfd: pytest.CaptureFixture[str]
) -> None:
    log.set_up("warning")

    async def story() -> None:
        async with open_services(config_of(tmp_path, emptied_dsn)) as services:
            here, there = Lifecycle("here/a:1"), Lifecycle("there/b:1")
            async with (
                heartbeat(services.store, services.clock, here, "worker"),
                heartbeat(services.store, services.clock, there, "worker"),
                hang_guard(),
            ):
                await until_seen(services, [False, False])
                await warn_if_raw_not_shared(services, here)

    asyncio.run(story())

    said = "".join(capfd.readouterr())
    assert said.count("raw documents are not shared") == 1
    assert "machines=there" in said


def test_two_processes_of_one_number_on_one_machine_have_two_names() -> None:
    names = {owner_name() for _ in range(20)}

    assert len(names) > 1
    assert len({machine_of(name) for name in names}) == 1


async def until_seen(services: Services, draining: list[bool]) -> tuple[WorkerView, ...]:
    """Wait until those who are there are seen, each draining or not."""

    def are_seen(found: tuple[WorkerView, ...]) -> bool:
        return [one.worker is not None and one.worker.draining for one in found] == draining

    return await wait_for_answer(services.store.workers, are_seen, f"workers, draining: {draining}")
