"""000 step 4: an entry without any key is found by its dedupe_key, behind the keys, and gets its keys."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.contracts.store.conftest import Tell
from tests.support.sample_refreshes import HOUR, NOON, an_entry, new_feed, poll

from feedmill.adapters.store import statements as sql
from feedmill.engine.ports.store import Store
from feedmill.model.entry import Entry
from feedmill.model.identity import IdentityKey
from feedmill.model.page import EntryFilter

FULL = an_entry("a")
LINK_ONLY = replace(FULL, guid=None)
NOTHING = replace(FULL, guid=None, link=None, canonical_link=None, article_link=None)


_FORGET = (
    "DELETE FROM entry_identities WHERE entry_id ="
    " (SELECT entry_id FROM entries WHERE entry_uid = $1)"
)
_CALL = "UPDATE entries SET dedupe_key = $1 WHERE entry_uid = $2"


async def write(store: Any, statement: str, *values: str) -> None:
    """Make the store what a version before the keys left."""
    await store._write(lambda: sql.write(statement, *values))


@pytest.mark.parametrize("entry", [FULL, LINK_ONLY, NOTHING], ids=["guid", "url", "hash"])
def test_entry_without_keys_is_found_by_its_dedupe_key(tell: Tell, entry: Entry) -> None:
    async def story(store: Store) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        await poll(store, feed, 1, [entry, an_entry("b")], at=NOON)
        await poll(store, feed, 2, [an_entry("b")], at=NOON + HOUR)  # it left the document
        before = (await store.entries(EntryFilter())).items
        (gone,) = (one for one in before if one.title == entry.title)
        await write(store, _FORGET, gone.entry_uid)

        again = replace(entry, content="<p>changed</p>", slice=None)
        await poll(store, feed, 3, [again, an_entry("b")], at=NOON + HOUR * 2)

        after = (await store.entries(EntryFilter())).items
        assert {one.entry_uid for one in after} == {one.entry_uid for one in before}
        changed = next(one for one in after if one.content == "<p>changed</p>")
        assert changed.revisions == 1
        kinds = {"guid:": "guid", "url:h": "canonical_url", "hash:": "fallback_hash"}
        key: Any = IdentityKey(
            type=kinds[changed.dedupe_key[:5]],  # type: ignore[arg-type]
            value=changed.dedupe_key.partition(":")[2],
        )
        (known,) = await store.known(feed.id, [key], ())
        assert (known.entry_uid, known.legacy) == (changed.entry_uid, False)

    tell(story)


def test_a_registered_key_comes_before_a_dedupe_key(tell: Tell) -> None:
    async def story(store: Any) -> None:
        feed, _ = await store.add_feed(new_feed(1))
        await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
        owner, other = (await store.entries(EntryFilter(ascending=True))).items
        await write(store, _FORGET, other.entry_uid)
        await write(store, _CALL, owner.dedupe_key, other.entry_uid)

        key = IdentityKey(type="guid", value=owner.dedupe_key.removeprefix("guid:"))
        found = await store.known(feed.id, [key], ())

        assert [(one.entry_uid, one.legacy) for one in found] == [(owner.entry_uid, False)]
        await write(store, _CALL, other.dedupe_key, other.entry_uid)
        await poll(store, feed, 2, [an_entry("a"), an_entry("b", "changed")], at=NOON + HOUR)

    tell(story)
