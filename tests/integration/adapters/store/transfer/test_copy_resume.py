"""A move that is killed goes on where it was; one that cannot go on says why."""

import asyncio
import json
import signal
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.populated_home import by_hand, config_of, database
from tests.support.sample_refreshes import new_feed
from tests.support.servers.postgres import PostgresServer
from tests.support.store_transfer import carried, command, compared

from feedmill.adapters.failpoints import JOB_POINTS
from feedmill.adapters.store.check_rows import TABLES
from feedmill.app.services import open_services
from feedmill.errors import ConflictError
from feedmill.model.event import NewEvent

DEATHS = (
    "transfer-begun@1",
    "transfer-copy@1",
    "transfer-copied@9",
    "transfer-kept@11",
    "transfer-copied@2",
    "transfer-compared@1",
    "transfer-switched@1",
)


async def test_a_move_that_dies_anywhere_goes_on_without_copying_twice(
    home: Path, postgres: PostgresServer, postgres_dsn: str
) -> None:
    words = ("store", "migrate", database(home), postgres_dsn, "--batch-rows", "5", "--json")

    seen = [0]
    for death in DEATHS:
        status, _, err = command(*words, home=home, FEEDMILL_FAILPOINT=death)
        assert status == -signal.SIGKILL, (death, err)
        assert noted(postgres, postgres_dsn) == there(postgres, postgres_dsn)
        seen.append(sum(noted(postgres, postgres_dsn).values()))
    status, out, err = command(*words, home=home)
    done = json.loads(out)

    assert {death.partition("@")[0] for death in DEATHS} == set(JOB_POINTS)
    assert seen == sorted(seen)
    assert (status, done["ended"], done["resumed"]) == (0, True, True), err
    assert sum(table["copied"] for table in done["tables"]) == 0  # all had come over before
    assert {table["name"]: table["rows"] for table in done["tables"]} == there(
        postgres, postgres_dsn
    )
    assert all(table["differing"] == 0 for table in done["compared"])

    async with open_services(config_of(home, postgres_dsn)) as services:
        assert await services.store.problems() == ()


def test_nothing_can_be_polled_from_a_store_that_is_half_full(
    home: Path, postgres_dsn: str
) -> None:
    """A worker that is started too early must not poll feeds whose entries have not come yet."""
    words = ("store", "migrate", database(home), postgres_dsn, "--batch-rows", "5")

    status, _, _ = command(*words, home=home, FEEDMILL_FAILPOINT=f"transfer-kept@{len(TABLES)}")

    async def story() -> None:
        async with open_services(config_of(home, postgres_dsn)) as services:
            assert (await services.store.feeds()).items == ()
            claims = await services.store.claim(
                "worker",
                now=services.clock.now() + timedelta(days=36_500),
                lease_sec=60,
                max_lanes=100,
                max_feeds=100,
            )
            assert [claim.feeds for claim in claims if claim.feeds] == []

    assert status == -signal.SIGKILL
    asyncio.run(story())


async def test_a_source_that_was_written_to_meanwhile_is_refused_until_it_begins_again(
    home: Path, postgres_dsn: str
) -> None:
    words = ("store", "migrate", database(home), postgres_dsn, "--batch-rows", "5")
    command(*words, home=home, FEEDMILL_FAILPOINT="transfer-kept@9")
    with by_hand(home) as old:
        old.execute("UPDATE tokens SET last_used_at = last_used_at + 1")

    with pytest.raises(ConflictError) as refused:
        await carried(home, postgres_dsn)
    assert refused.value.reason == "source-changed"
    assert "--restart" in refused.value.hint

    done = await carried(home, postgres_dsn, restart=True)

    assert (done.ended, done.resumed) == (True, False)
    assert (await compared(home, postgres_dsn)).is_same


async def test_a_store_that_a_mill_has_worked_on_is_never_emptied(
    home: Path, postgres_dsn: str
) -> None:
    """Somebody did not wait for the end of the move, and has events of his own there."""
    words = ("store", "migrate", database(home), postgres_dsn, "--batch-rows", "5")
    command(*words, home=home, FEEDMILL_FAILPOINT="transfer-compared")

    async with open_services(config_of(home, postgres_dsn)) as services:
        new = new_feed(5, at=services.clock.now() + timedelta(seconds=1))
        told = NewEvent(type="feed.state", feed_id=new.id, occurred_at=new.created_at)
        await services.store.add_feed(new, [told])
        assert await services.store.last_seq() > 0

    with pytest.raises(ConflictError) as refused:
        await carried(home, postgres_dsn, restart=True)

    assert refused.value.reason == "not-empty"
    async with open_services(config_of(home, postgres_dsn)) as services:
        assert await services.store.feed(new.id) is not None


def noted(server: PostgresServer, dsn: str) -> dict[str, int]:
    """How many rows of each table the new store believes to have."""
    said = server.run_sql("SELECT part || ' ' || copied FROM transfer_parts", dsn=dsn)
    found = {line.split()[0]: int(line.split()[1]) for line in said.splitlines()}
    return {table.name: found.get(table.name, 0) for table in TABLES}


def there(server: PostgresServer, dsn: str) -> dict[str, int]:
    """How many rows of each table it has."""
    counts = ", ".join(f"(SELECT count(*) FROM {table.name})" for table in TABLES)
    said = server.run_sql(f"SELECT {counts}", dsn=dsn)
    return dict(zip((table.name for table in TABLES), map(int, said.split("|")), strict=True))
