"""Several processes write to one PostgreSQL, some of them die: nothing is lost or done twice."""

import asyncio
import os
from collections import Counter
from subprocess import Popen

import asyncpg
import pytest
from tests.support.children.commit_entries_postgres import ENTRIES, RUNS
from tests.support.sample_refreshes import new_feed
from tests.support.waiting import HANG_GUARD_SEC
from tests.support.warm_process import start_child

from feedmill.adapters.failpoints import VARIABLE
from feedmill.adapters.store.postgres.store import PostgresStore
from feedmill.model.page import EntryFilter

FEEDS = 14  # the first of the second half is odd: it begins with the other end

# What nobody may ever find: a key or an article of nobody, an entry that is not named by its keys.
STRAYS = """
SELECT (SELECT count(*) FROM entry_identities i WHERE NOT EXISTS
          (SELECT FROM entries e WHERE e.entry_id = i.entry_id))
     + (SELECT count(*) FROM articles a WHERE NOT EXISTS
          (SELECT FROM entries e WHERE e.entry_id = a.entry_id))
     + (SELECT count(*) FROM entries e WHERE NOT EXISTS
          (SELECT FROM entry_identities i WHERE i.entry_id = e.entry_id))
     + (SELECT count(*) FROM fetches x WHERE x.body_sha256 IS NOT NULL AND NOT EXISTS
          (SELECT FROM blobs b WHERE b.sha256 = x.body_sha256))"""


def start(dsn: str, first: int, last: int, kind: str, failpoint: str = "") -> Popen[str]:
    environment = {**os.environ, **({VARIABLE: failpoint} if failpoint else {})}
    words = (dsn, str(first), str(last), kind)
    return start_child("commit_entries_postgres", *words, env=environment)


def finish(process: Popen[str]) -> list[str]:
    """The commits that it was told of."""
    said, _ = process.communicate(timeout=HANG_GUARD_SEC)
    return said.split()


async def prepare(dsn: str) -> None:
    store = await PostgresStore.open(dsn)
    for number in range(FEEDS):
        await store.add_feed(new_feed(number))
    await store.close()


async def check_whole(dsn: str) -> Counter[str]:
    """Every run that is there is there with all that belongs to it; its entries per fetch."""
    store = await PostgresStore.open(dsn)
    connection = await asyncpg.connect(dsn)
    assert await store.problems() == ()
    assert await connection.fetchval(STRAYS) == 0
    entries = (await store.entries(EntryFilter(), limit=10_000)).items
    events = await store.events(after=0, limit=10_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert Counter(event.entry_uid for event in events) == Counter(e.entry_uid for e in entries)
    assert len({event.id for event in events}) == len(events)
    brought = Counter(entry.raw_refs[0].fetch_id for entry in entries)
    runs = {row[0] for row in await connection.fetch("SELECT fetch_id FROM fetches")}
    assert brought == Counter(dict.fromkeys(runs, ENTRIES))
    await connection.close()
    await store.close()
    return brought


def test_processes_that_want_the_same_keys_and_articles_wait_and_the_first_has_them(
    migrated_dsn: str,
) -> None:
    asyncio.run(prepare(migrated_dsn))
    half = FEEDS // 2

    writers = [
        start(migrated_dsn, 0, half - 1, "shared"),
        start(migrated_dsn, half, FEEDS - 1, "shared"),
    ]
    acknowledged = [line for writer in writers for line in finish(writer)]

    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(acknowledged) == len(set(acknowledged)) == FEEDS * RUNS
    assert set(asyncio.run(check_whole(migrated_dsn))) == set(acknowledged)

    async def check() -> None:
        connection = await asyncpg.connect(migrated_dsn)
        articles = await connection.fetchval("SELECT count(*) FROM articles")
        links = "SELECT count(*) FROM entry_identities WHERE key_type = 'canonical_url'"
        assert (articles, await connection.fetchval(links)) == (RUNS * ENTRIES, RUNS * ENTRIES)
        # The owner of an article is an entry of that very article.
        strangers = await connection.fetchval(
            "SELECT count(*) FROM articles a JOIN entries e USING (entry_id)"
            " WHERE e.article_hash <> a.article_hash"
        )
        assert strangers == 0
        await connection.close()

    asyncio.run(check())


@pytest.mark.parametrize("point", ["store-begun", "store-commit", "store-committed"])
def test_a_process_that_is_killed_in_a_commit_leaves_all_of_it_or_nothing(
    migrated_dsn: str, point: str
) -> None:
    asyncio.run(prepare(migrated_dsn))

    killed = start(migrated_dsn, 0, FEEDS - 1, "own", f"{point}@3")
    acknowledged = finish(killed)
    there = set(asyncio.run(check_whole(migrated_dsn)))
    survivor = start(migrated_dsn, 0, FEEDS - 1, "own")
    acknowledged_later = finish(survivor)

    assert (killed.returncode, survivor.returncode) == (-9, 0)
    assert set(acknowledged) <= there
    assert (set(acknowledged) < there) == (point == "store-committed")  # done, and nobody told
    assert there.isdisjoint(acknowledged_later)
    everything = set(asyncio.run(check_whole(migrated_dsn)))
    assert everything == there | set(acknowledged_later)
    assert len(everything) == FEEDS * RUNS
