"""Exports from PostgreSQL: subscriptions of a former cell as OPML, and a snapshot as a SQLite file."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.populated_home import config_of
from tests.support.sample_refreshes import NOON, an_entry, new_feed, poll
from tests.support.servers.postgres import PostgresServer
from tests.support.store_transfer import command

from feedmill.app.services import open_services
from feedmill.model.running.export import EXPORTS


def test_subscriptions_of_a_former_cell_can_be_exported(
    tmp_path: Path, postgres: PostgresServer, emptied_dsn: str
) -> None:
    home = tmp_path / "home"
    feed = new_feed(1)

    async def subscribe() -> None:
        async with open_services(config_of(home, emptied_dsn)) as services:
            await services.store.add_feed(feed)

    asyncio.run(subscribe())
    postgres.run_sql("INSERT INTO cell VALUES (1, 'one', 0, 512, 1023)", dsn=emptied_dsn)

    status, listed, said = command("export", home=home, FEEDMILL_STORE_URL=emptied_dsn)

    assert (status, said) == (0, "")
    assert f'xmlUrl="{feed.url}"' in listed


def test_snapshot_of_postgresql_is_a_sqlite_file_with_the_views_of_the_store(
    tmp_path: Path, postgres: PostgresServer, emptied_dsn: str
) -> None:
    home, path = tmp_path / "home", tmp_path / "snapshot.db"

    async def subscribe() -> None:
        async with open_services(config_of(home, emptied_dsn)) as services:
            feed, _ = await services.store.add_feed(new_feed(1))
            await poll(services.store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)

    asyncio.run(subscribe())

    status, listed, said = command(
        "export", "snapshot", "--out", str(path), home=home, FEEDMILL_STORE_URL=emptied_dsn
    )

    assert (status, said) == (0, "")
    assert "snapshot written" in listed
    with closing(sqlite3.connect(path)) as connection:
        for name in EXPORTS:
            assert connection.execute(f"SELECT count(*) FROM {name}_view").fetchone()[0] > 0, name
        question = "SELECT count(*), count(DISTINCT category) FROM entry_categories_view"
        found = connection.execute(question).fetchone()
        titles = connection.execute("SELECT title FROM entries_view ORDER BY title").fetchall()
    assert postgres.run_sql(question, dsn=emptied_dsn) == "|".join(map(str, found))
    assert titles == [("About a",), ("About b",)]
