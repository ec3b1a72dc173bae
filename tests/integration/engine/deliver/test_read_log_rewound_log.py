"""A home folder whose database is an older copy, or another one: every reader is told, none skips an event."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.webhook_harness import happen, opened
from tests.support.webhook_receiver import receiving

from feedmill.app.services import DATABASE_NAME, file_sinks
from feedmill.engine.deliver.to_sinks import deliver_pending
from feedmill.engine.deliver.to_webhooks import deliver_once
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.service import queries
from feedmill.engine.service.webhooks import add_webhook
from feedmill.errors import ConflictError
from feedmill.publish.events import REWOUND_LEAP

MARK = 8 + REWOUND_LEAP


async def write_files(services: Services) -> list[dict[str, Any]]:
    """Deliver what waits; the lines of the files."""
    sink, *_ = await file_sinks(services)
    await deliver_pending(services.store, sink)
    folder = Path(services.config.store.home) / "out" / "events"
    text = b"".join(path.read_bytes() for path in sorted(folder.glob("*.ndjson")))
    return [json.loads(line) for line in text.splitlines()]


async def tell_eight_and_restore_five(home: Path) -> list[dict[str, Any]]:
    """Files have eight events; the database is a copy from when there were five."""
    copy = home.with_name("copy.db")
    async with opened(home) as services:
        await happen(services, 5)
        await write_files(services)
    shutil.copy(home / DATABASE_NAME, copy)
    async with opened(home) as services:
        await happen(services, 3)
        before = await write_files(services)
    shutil.copy(copy, home / DATABASE_NAME)
    return before


async def test_files_of_a_restored_store_go_on_with_log_rewound_and_new_numbers(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    before = await tell_eight_and_restore_five(home)

    async with opened(home) as services:
        await happen(services, 2)
        after = await write_files(services)
    async with opened(home) as services:  # it is said once
        assert await write_files(services) == after

    assert [one["seq"] for one in before] == list(range(1, 9))
    assert after[:8] == before
    assert [(one["seq"], one["type"]) for one in after[8:]] == [
        (MARK, "log.rewound"),
        (MARK + 1, "feed.state"),
        (MARK + 2, "feed.state"),
    ]


async def test_files_alone_show_that_the_log_went_back(tmp_path: Path) -> None:
    """The whole home folder was restored, and the files are where they were."""

    home = tmp_path / "home"
    await tell_eight_and_restore_five(home)
    (home / "log-position").unlink()

    async with opened(home) as services:
        after = await write_files(services)

    assert (after[-1]["seq"], after[-1]["type"]) == (MARK, "log.rewound")


async def test_files_get_the_events_of_a_log_that_went_back_unnoticed(tmp_path: Path) -> None:
    """Numbers that the files have belong to other events now: by their ids, none is left out."""

    home = tmp_path / "home"
    await tell_eight_and_restore_five(home)
    shutil.move(home / "out", tmp_path / "out")
    (home / "log-position").unlink()
    async with opened(home) as services:
        await happen(services, 1)  # event 6, which was another one
        assert await services.store.last_seq() == 6
    shutil.move(tmp_path / "out", home / "out")

    async with opened(home) as services:
        after = await write_files(services)
        log = await services.store.events(after=0)

    assert [one["seq"] for one in after[8:]] == [6, MARK]
    assert {one.id for one in log} <= {one["id"] for one in after}
    assert len({one["id"] for one in after}) == len(after)


async def test_fresh_database_in_an_old_home_folder_is_told_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await tell_eight_and_restore_five(home)
    (home / DATABASE_NAME).unlink()

    async with opened(home) as services:
        (rewound,) = await services.store.events(after=0)

    assert rewound.data == {"delivered_seq": 8, "log_ended_at": 0}


async def test_webhook_with_any_filter_and_every_cursor_learn_that_the_log_went_back(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with receiving() as receiver:
        async with opened(home) as services:
            feed_id = await happen(services, 5)
            await add_webhook(receiver.url(), services, types=("new_entry",), tag="none")
        await tell_eight_and_restore_five(home)

        async with opened(home) as services:
            await deliver_once(services, Lifecycle("the test"))
            filtered = await queries.events(
                services, after=12, types=("new_entry",), feed_ids=(feed_id,)
            )
            rewound = (await services.store.events(after=0))[-1]
            with pytest.raises(ConflictError) as beyond:
                await queries.events(services, after=rewound.seq + 1)
            with pytest.raises(ConflictError) as other:
                await queries.check_position(services, 3, "another id")

        assert [one.type for one in filtered.items] == ["log.rewound"]
        assert receiver.told() == [rewound.seq]
        assert beyond.value.reason == other.value.reason == "log-rewound"
