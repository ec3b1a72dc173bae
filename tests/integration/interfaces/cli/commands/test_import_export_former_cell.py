"""The subscriptions of a database that was one of several cells move by export and import."""

import asyncio
from pathlib import Path

from tests.support.populated_home import config_of
from tests.support.sample_refreshes import new_feed
from tests.support.servers.postgres import PostgresServer
from tests.support.store_transfer import command

from feedmill.app.services import open_services


def test_subscriptions_of_a_former_cell_can_be_exported(
    tmp_path: Path, postgres: PostgresServer, migrated_dsn: str
) -> None:
    home = tmp_path / "home"
    feed = new_feed(1)

    async def subscribe() -> None:
        async with open_services(config_of(home, migrated_dsn)) as services:
            await services.store.add_feed(feed)

    asyncio.run(subscribe())
    postgres.run_sql("INSERT INTO cell VALUES (1, 'one', 0, 512, 1023)", dsn=migrated_dsn)

    status, listed, said = command("export", home=home, FEEDMILL_STORE_URL=migrated_dsn)

    assert (status, said) == (0, "")
    assert f'xmlUrl="{feed.url}"' in listed
