"""`feedmill cursors`: readers are listed with how far they are behind, and dropped by name."""

import asyncio

from tests.support.command_line import Mill

from feedmill.app.services import open_services
from feedmill.app.settings import load_config


def test_abandoned_reader_is_listed_and_dropped(mill: Mill) -> None:
    mill.ok("add", "--as-is", "https://example.com/feed")

    async def read_nothing() -> None:
        async with open_services(load_config(None, str(mill.home))) as services:
            await services.store.set_cursor("bus:old", 0)

    asyncio.run(read_nothing())

    (listed,) = [
        one for one in mill.json("cursors", "list")["items"] if one["consumer"] == "bus:old"
    ]
    assert (listed["seq"], listed["behind"]) == (0, 1)
    assert listed["unread_since"] is not None
    assert "bus:old" in mill.ok("cursors", "list").text
    assert mill.json("cursors", "drop", "bus:old") == {"dropped": "bus:old"}
    assert mill("cursors", "drop", "bus:old").status == 1
    assert "webhook remove" in mill("cursors", "drop", "webhook:1").err
