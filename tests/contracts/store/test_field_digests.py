"""A revision names the fields that changed, whichever form the digests of the row before have."""

from typing import Any

import msgspec
import pytest
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import HOUR, NOON, an_entry, new_feed, poll

from feedmill.adapters.store import statements as sql
from feedmill.model.identity import digests_of, digests_text
from feedmill.model.page import EntryFilter

BEFORE, AFTER = an_entry("a"), an_entry("a", "second")


@pytest.mark.parametrize("short", [False, True], ids=["pairs", "short"])
def test_changed_fields_are_named(tell: Tell, *, short: bool) -> None:
    async def story(store: Any) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        feed = await poll(store, feed, 1, [BEFORE], at=NOON)
        (text,) = await store._look(lambda: sql.column("SELECT field_digests FROM entries"))
        digests = digests_of(text)
        given = digests_text(digests) if short else msgspec.json.encode(digests).decode()
        await store._write(lambda: sql.write("UPDATE entries SET field_digests = $1", given))

        await poll(store, feed, 2, [AFTER], at=NOON + HOUR)

        (entry,) = (await store.entries(EntryFilter())).items
        (revision,) = await store.revisions(entry.entry_uid)
        assert revision.changed == ("summary", "content")

    tell(story)
