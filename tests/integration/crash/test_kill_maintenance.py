"""Commands killed with -9 inside their transactions: migrate, purge, lanes, moves and merges.

Killed before and after each commit, then run again: the store is sound, and has what an undisturbed run leaves.
Raw documents and whole stores on the move are killed in test_raw_store.py and test_copy_resume.py.
"""

import asyncio
import signal
import tarfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from tests.support.feed_documents import numbered
from tests.support.run_process import Mill
from tests.support.sample_refreshes import an_entry, new_feed, poll
from tests.support.subscribe_harness import feed_document

from feedmill.adapters.clock import SystemClock
from feedmill.adapters.settings import load_config
from feedmill.app.services import open_services
from feedmill.engine.ports.store import Store
from feedmill_demo.server.script import document
from feedmill_demo.server.server import Publisher

HOMES = Path(__file__).parents[2] / "fixtures" / "homes"
LONG_AGO = SystemClock().now() - timedelta(days=60)
BEFORE_AND_AFTER = {None: ("store-commit", "store-committed"), "pg": ("pg-write", "pg-written")}


def deaths(store_url: str | None, most: int) -> Iterator[str]:
    """Failpoints around the first commits of a command."""
    for point in BEFORE_AND_AFTER[None if store_url is None else "pg"]:
        yield from (f"{point}@{passage}" for passage in range(1, most + 1))


async def killed(mill: Mill, *words: str, at: str) -> int:
    """How a command ends that is killed there, unless it passes there less often."""
    async with await mill.start(at, role=words) as running:
        return await running.ended()


async def facts(mill: Mill) -> tuple[int, int, tuple[str, ...]]:
    """Feeds, rows of entries and what is wrong."""
    async with open_services(load_config(None, mill.settings)) as services:
        counts = await services.store.counts()
        return counts["feeds"], counts["entries"], await services.store.problems()


async def fill(store: Store, feeds: int = 3) -> None:
    """Feeds whose first entries were last seen long ago, on one host."""
    for number in range(1, feeds + 1):
        feed, _ = await store.add_feed(new_feed(number, host="paper.example", at=LONG_AGO))
        old = [an_entry(f"old-{number}-{at}") for at in range(5)]
        feed = await poll(store, feed, 1, old, at=LONG_AGO)
        await poll(store, feed, 2, [an_entry(f"new-{number}")], at=LONG_AGO + timedelta(days=1))


def test_migration_of_an_old_file_is_killed_at_every_step(tmp_path: Path) -> None:
    with tarfile.open(HOMES / "version_0_1_sqlite.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (database,) = tmp_path.rglob("feedmill.db")
    mill = Mill(database.parent)

    async def story() -> None:
        ends: list[int] = []
        while not ends or ends[-1] == -signal.SIGKILL:
            ends.append(await killed(mill, "migrate", at="migrate-step"))
            ends.append(await killed(mill, "migrate", at="migrate-stepped"))

        assert ends.count(-signal.SIGKILL) > 10
        assert (await mill.command("verify"))[0] == 0

    asyncio.run(story())


def test_migration_of_postgresql_is_killed_around_every_commit(
    tmp_path: Path, postgres_dsn: str
) -> None:
    mill = Mill(tmp_path / "home", postgres_dsn)

    async def story() -> None:
        ends = [await killed(mill, "migrate", at="pg-write")]
        while ends[-1] == -signal.SIGKILL:
            ends.append(await killed(mill, "migrate", at="pg-written@2"))

        assert ends.count(-signal.SIGKILL) > 5
        assert await facts(mill) == (0, 0, ())

    asyncio.run(story())


def test_purge_is_killed_around_its_commits(tmp_path: Path, store_url: str | None) -> None:
    mill = Mill(tmp_path / "home", store_url)

    async def story() -> None:
        async with open_services(load_config(None, mill.settings)) as services:
            await fill(services.store)
        ends = [await killed(mill, "purge", at=death) for death in deaths(store_url, 4)]

        status, _ = await mill.command("purge")

        assert -signal.SIGKILL in ends
        assert status == 0
        assert await facts(mill) == (3, 3, ())

    asyncio.run(story())


def test_lanes_of_a_big_host_are_killed_while_they_are_made(
    tmp_path: Path, migrated_dsn: str
) -> None:
    one, many = (
        Mill(tmp_path / "home", migrated_dsn, FEEDMILL_HOST_LANES=lanes)
        for lanes in ("", "paper.example=3")
    )

    async def story() -> None:
        async with open_services(load_config(None, one.settings)) as services:
            await fill(services.store, 6)
        for turn, mill in enumerate((many, one, many)):
            for point in ("pg-write", "pg-written"):
                death = f"{point}@{turn % 2 + 1}"
                assert await killed(mill, "worker", at=death) == -signal.SIGKILL
            feeds, _, problems = await facts(mill)
            assert (feeds, problems) == (6, ())

    asyncio.run(story())


def test_move_is_killed_around_its_commits(tmp_path: Path, store_url: str | None) -> None:
    mill = Mill(tmp_path / "home", store_url)

    async def story() -> None:
        async with open_services(load_config(None, mill.settings)) as services:
            await fill(services.store, 2)
            feed = await services.store.find_feed([new_feed(1, host="paper.example").url])
            assert feed is not None
        words = ("move", feed.id, "https://new.example/", "--force")

        assert -signal.SIGKILL in await killed_often(mill, store_url, *words)
        assert await facts(mill) == (2, 12, ())

    asyncio.run(story())


def test_merge_is_killed_around_its_commits(tmp_path: Path, store_url: str | None) -> None:
    mill = Mill(tmp_path / "home", store_url)

    async def story() -> None:
        async with Publisher() as publisher:
            for path in ("/a", "/b"):
                publisher.script(path, document(numbered(1, 2, 3)), host="127.0.0.1")
            one, other = publisher.url("/a"), publisher.url("/b")
            await mill.subscribe([one, other])
            await mill.command("sync")
            assert (await facts(mill))[0] == 2

            assert -signal.SIGKILL in await killed_often(mill, store_url, "move", one, other)
            assert await facts(mill) == (1, 3, ())

    asyncio.run(story())


def test_undoing_a_merge_is_killed_around_its_commits(
    tmp_path: Path, store_url: str | None
) -> None:
    mill = Mill(tmp_path / "home", store_url)

    async def story() -> None:
        async with Publisher() as publisher:
            for path, numbers in (("/old.rss", (1, 2, 3, 4)), ("/new.rss", (2, 3, 4, 5))):
                publisher.script(path, feed_document(*numbers), host="127.0.0.1")
                await mill.subscribe([publisher.url(path)])
            await mill.command("sync")
            before = await facts(mill)
            await mill.command("duplicates", "--merge", "--yes")
            async with open_services(load_config(None, mill.settings)) as services:
                (merged,) = await services.store.merged_feeds()

            words = ("duplicates", "--undo", merged.url)
            assert -signal.SIGKILL in await killed_often(mill, store_url, *words)

            assert await facts(mill) == before
            async with open_services(load_config(None, mill.settings)) as services:
                events = await services.store.events(after=0, limit=1_000)
            assert [event.type for event in events].count("feed.unmerged") == 1

    asyncio.run(story())


async def killed_often(mill: Mill, store_url: str | None, *words: str) -> list[int]:
    """How a command ended that was killed around its commits; then it is run to its end."""
    ends = []
    for death in deaths(store_url, 2):
        ends.append(await killed(mill, *words, at=death))
        assert (await facts(mill))[2] == ()
    await mill.command(*words)
    return ends
