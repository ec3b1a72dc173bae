"""A full or failing disk, and a database that another program has locked: `run` waits and goes on."""

import asyncio
import signal
import sqlite3
from pathlib import Path

import pytest
from tests.support.living_feeds_publisher import Press, pressing
from tests.support.run_process import Mill, Running
from tests.support.store_ledger import Ledger
from tests.support.waiting import wait_until

FEEDS, HOSTS = 8, 8


async def test_run_waits_for_a_full_disk_and_loses_nothing(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press)
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")

            running.signal(signal.SIGUSR1)
            await wait_until(lambda: bool(troubles(mill)), "a word about the full disk")
            stored = ledger.entries()  # reading goes on
            running.signal(signal.SIGUSR2)

            assert stored.keys() == press.published.keys()
            await catch_up(mill, ledger, press, running)
        assert troubles(mill) <= {"disk-full", "io-error"}
        assert mill.said("recovered")


async def test_run_stops_on_a_full_disk(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press, FEEDMILL_RUN_DRAIN_SEC="1")
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")
            running.signal(signal.SIGUSR1)
            await wait_until(lambda: bool(troubles(mill)), "a word about the full disk")

            assert await running.stop() == 0

        ledger.check(press)
        ledger.expire_leases(running.process.pid)  # giving them back would have needed the disk
        async with await mill.start() as running:
            await catch_up(mill, ledger, press, running)


async def test_run_ends_although_no_sync_of_the_disk_ever_ends(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press, FEEDMILL_RUN_DRAIN_SEC="0.1")
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")
            running.signal(signal.SIGRTMIN)
            await wait_until(lambda: bool(mill.said("a sync hangs")), "polls that hang")

            assert await running.stop() == 1

        (said,) = [line for line in mill.lines() if "without waiting" in str(line["event"])]
        assert "lanes" in said
        ledger.check(press)


async def test_second_signal_ends_run_although_no_sync_of_the_disk_ever_ends(
    tmp_path: Path,
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press, FEEDMILL_RUN_DRAIN_SEC="3600")
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")
            running.signal(signal.SIGRTMIN)
            await wait_until(lambda: bool(mill.said("a sync hangs")), "polls that hang")

            assert await interrupted_again_and_again(running) == 130

        assert [line for line in mill.lines() if "without waiting" in str(line["event"])]
        ledger.check(press)


async def test_sync_that_is_stopped_ends_although_no_sync_of_the_disk_ever_ends(
    tmp_path: Path,
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press, FEEDMILL_RUN_DRAIN_SEC="0.1")
        async with await mill.start(role=("sync", "--force")) as running:
            press.on_request = lambda: running.signal(signal.SIGRTMIN)
            await wait_until(lambda: bool(mill.said("a sync hangs")), "polls that hang")

            assert await running.stop() == 1

        (said,) = [line for line in mill.lines() if "without waiting" in str(line["event"])]
        assert "lanes" in said
        ledger.check(press)


async def test_import_that_is_interrupted_ends_although_no_sync_of_the_disk_ever_ends(
    tmp_path: Path,
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, addresses = Mill(tmp_path / "home"), tmp_path / "addresses.txt"

        def words() -> list[str]:
            return [str(line["event"]) for line in mill.lines()]

        addresses.write_text("\n".join(press.addresses))
        async with await mill.start(role=("import", str(addresses))) as running:
            press.on_request = lambda: running.signal(signal.SIGRTMIN)
            await wait_until(lambda: bool(mill.said("a sync hangs")), "a document to be kept")
            running.signal(signal.SIGINT)
            await wait_until(lambda: any("still" in word for word in words()), "a warning")
            running.signal(signal.SIGINT)

            assert await running.ended() == 130

        assert any("without waiting" in word for word in words())


async def test_run_whose_terminal_is_closed_gives_its_leases_back(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press)
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")
            running.signal(signal.SIGHUP)

            assert await running.ended() == 0

        assert ledger.leases(running.process.pid) == 0
        ledger.check(press)


@pytest.mark.parametrize(
    ("failpoint", "reason"),
    [
        ("blob-write=eio@2-4", "io-error"),
        ("blob-written=eio@2-4", "io-error"),  # the sync
        ("segment-created=enospc@2-3", "disk-full"),
        ("store-begin=eio@4-6", "io-error"),
        ("store-commit=eio@4-6", "io-error"),
        ("store-commit=enospc@4-6", "disk-full"),
        ("tap-append=eio@2-3", "io-error"),
        ("tap-appended=enospc@1-2", "disk-full"),
    ],
)
async def test_disk_errors_are_logged_and_retried_without_loss(
    tmp_path: Path, failpoint: str, reason: str
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press)

        async with await mill.start(failpoint) as running:
            await wait_until(lambda: bool(troubles(mill)), "a word about the disk")
            await catch_up(mill, ledger, press, running)

        assert troubles(mill) == {reason}


async def test_short_lock_by_another_program_is_waited_for_without_a_warning(
    tmp_path: Path,
) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press)
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")

            with locked(mill):
                await asyncio.sleep(2)  # the fault itself: every feed becomes due meanwhile

            await catch_up(mill, ledger, press, running)
        assert not troubles(mill)
        assert b"locked" not in mill.log


async def test_lock_longer_than_the_busy_timeout_is_logged_and_waited_for(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        mill, ledger = await a_mill(tmp_path, press, FEEDMILL_STORE_PATIENCE_SEC="0.5")
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")

            with locked(mill):
                await wait_until(lambda: bool(troubles(mill)), "a word about the other program")

            await catch_up(mill, ledger, press, running)
        assert troubles(mill) == {"busy"}


async def test_run_stops_while_another_program_holds_the_database(tmp_path: Path) -> None:
    async with pressing(FEEDS, HOSTS) as press:
        # The stop is given up after twice these and two seconds: a busy machine needs some of them.
        mill, ledger = await a_mill(tmp_path, press, FEEDMILL_RUN_DRAIN_SEC="6")
        async with await mill.start() as running:
            await wait_until(lambda: ledger.size() >= 2 * FEEDS, "the first items")
            with locked(mill):
                await asyncio.sleep(1.5)  # every feed is due, and the claim has to wait

                assert await running.stop() == 0, mill.lines()[-5:]

        # A lane that was under way cannot be handed back while the database is locked; its
        # lease ends by itself.
        ledger.check(press)


async def interrupted_again_and_again(running: Running) -> int:
    """Ctrl-C until the process has ended; its exit code."""

    def ask_again() -> bool:
        running.signal(signal.SIGINT)
        return not running.is_alive

    await wait_until(ask_again, "the end after Ctrl-C")
    return await running.ended()


async def a_mill(tmp_path: Path, press: Press, **settings: str) -> tuple[Mill, Ledger]:
    """A home folder that knows every feed of the press."""
    mill = Mill(tmp_path / "home", **settings)
    await mill.subscribe(press.addresses)
    return mill, Ledger(mill.home)


async def catch_up(mill: Mill, ledger: Ledger, press: Press, running: Running) -> None:
    """The same process gets everything that was published, and leaves in good order."""
    press.resting = True
    await wait_until(
        lambda: not running.is_alive or (ledger.has(press) and ledger.is_delivered()), "catching up"
    )
    assert running.is_alive, mill.lines()[-3:]
    assert await running.stop() == 0
    ledger.check(press)
    assert ledger.has(press)
    ledger.check_delivered()
    assert ledger.leases(running.process.pid) == 0
    assert not mill.said("unexpected error")


def troubles(mill: Mill) -> set[str]:
    """The reasons for which the mill has waited."""
    return {str(line["reason"]) for line in mill.said("troubled")}


class locked:  # noqa: N801  # used like a function
    """Another program with a transaction that it does not end."""

    def __init__(self, mill: Mill) -> None:
        self._connection = sqlite3.connect(mill.home / "feedmill.db", isolation_level=None)

    def __enter__(self) -> None:
        self._connection.execute("PRAGMA busy_timeout = 10000")
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()
