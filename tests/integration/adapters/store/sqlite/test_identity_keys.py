"""Identity keys that share a number of `key_hash` stay keys of their own: no entry takes another one for itself."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.sample_refreshes import DAY, HOUR, NOON, an_entry, new_feed, poll

from feedmill.adapters.store import migrate as migrating
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite import connection as connecting
from feedmill.adapters.store.sqlite import identities
from feedmill.adapters.store.sqlite.connection import ADD_KEY, connect, key_hash
from feedmill.adapters.store.sqlite.store import SqliteStore
from feedmill.model.identity import IdentityKey
from feedmill.model.page import EntryFilter

_BEFORE = 39  # the last migration that stored the text of a key twice
_KEYS = "SELECT key_type, key_value, entry_id FROM entry_identities ORDER BY 1, 2"


@pytest.fixture
def same_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key has the same number."""
    for module in (connecting, identities, migrating):
        monkeypatch.setattr(module, "key_hash", lambda _text: 7)


@pytest.fixture
def migrations_before(tmp_path: Path) -> Path:
    """The migrations of the version before."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    for path in sorted(migrating.MIGRATIONS.glob("*.sql"))[:_BEFORE]:
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


@pytest.mark.usefixtures("same_hash")
def test_entries_whose_keys_collide_are_not_merged(tmp_path: Path) -> None:
    async def story() -> None:
        store = await SqliteStore.open(tmp_path / "store.db")
        first, _ = await store.add_feed(new_feed(1))
        second, _ = await store.add_feed(new_feed(2))
        for hour, (feed, names) in enumerate(((first, "ab"), (second, "cd"), (first, "ab"))):
            await poll(store, feed, hour, [an_entry(one) for one in names], at=NOON + hour * HOUR)

        found = (await store.entries(EntryFilter())).items
        assert sorted(one.title or "" for one in found) == [f"About {one}" for one in "abcd"]
        for one in found:
            key = IdentityKey(type="guid", value=one.dedupe_key.removeprefix("guid:"))
            (known,) = await store.known(one.feed_id, [key], ())
            assert known.entry_uid == one.entry_uid
        strange = IdentityKey(type="guid", value="another")
        assert await store.known(first.id, [strange], ()) == ()

        assert await store.merge_feeds(second.id, first.id, at=NOON + DAY)
        assert await store.remove_feed(second.id) is False
        assert len((await store.entries(EntryFilter())).items) == 4
        assert await store.problems() == ()
        assert await store.remove_feed(first.id)
        await store.close()

    asyncio.run(story())

    with closing(sqlite3.connect(tmp_path / "store.db")) as after:
        assert after.execute(_KEYS).fetchall() == []


@pytest.mark.parametrize("collide", [False, True], ids=["usual", "all-keys-collide"])
def test_keys_of_the_version_before_are_kept_and_found(
    tmp_path: Path, migrations_before: Path, request: pytest.FixtureRequest, *, collide: bool
) -> None:
    if collide:
        request.getfixturevalue("same_hash")
    keys = [
        (kind, f"{kind}:https://host{at % 7}.example/{at * at}\x00é", at % 40)
        for kind in ("alias", "canonical_url", "guid")
        for at in range(200)
    ]
    with closing(connect(str(tmp_path / "store.db"))) as old:
        migrate(old, migrations_before)
        old.executemany("INSERT INTO entry_identities VALUES (?, ?, ?)", keys)
        damaged = "INSERT INTO entry_identities VALUES ('guid', CAST(x'ff' AS TEXT), 41)"
        old.execute(damaged)
        migrate(old)

        whole = "SELECT entry_id FROM entry_identities WHERE CAST(key_value AS BLOB) = x'ff'"
        assert old.execute(whole).fetchall() == [(41,)]
        old.execute("DELETE FROM entry_identities WHERE entry_id = 41")
        assert old.execute(_KEYS).fetchall() == sorted(keys)
        asked = [IdentityKey(type=kind, value=value) for kind, value, _ in keys]  # type: ignore[arg-type]
        assert identities._ids_by_key(old, asked[:100]) == {one for *_, one in keys[:100]}
        distinct = "SELECT count(DISTINCT lookup_no) FROM entry_identities"
        assert old.execute(distinct).fetchone() == (len(keys) if collide else 1,)


def test_a_key_is_registered_once_and_belongs_to_its_first_entry(tmp_path: Path) -> None:
    with closing(connect(str(tmp_path / "store.db"))) as store:
        migrate(store)
        for entry_id in (1, 2):
            store.execute(ADD_KEY, ("guid", "a", entry_id))

        assert store.execute(_KEYS).fetchall() == [("guid", "a", 1)]


def test_verify_names_keys_that_cannot_be_found_or_stand_twice(tmp_path: Path) -> None:
    async def story() -> tuple[str, ...]:
        store = await SqliteStore.open(tmp_path / "store.db")
        feed, _ = await store.add_feed(new_feed(1))
        await poll(store, feed, 1, [an_entry("a"), an_entry("b")], at=NOON)
        with closing(sqlite3.connect(tmp_path / "store.db")) as hand:
            hand.execute(
                "INSERT INTO entry_identities SELECT 3 - entry_id, lookup_hash, 1, key_type, key_value"
                " FROM entry_identities WHERE key_type = 'guid' AND entry_id = 1"
            )
            hand.execute(
                "UPDATE entry_identities SET lookup_hash = lookup_hash + 1 WHERE key_type = 'canonical_url'"
            )
            hand.commit()
        try:
            return await store.problems()
        finally:
            await store.close()

    assert asyncio.run(story()) == (
        "2 identity keys are not found by their hash",
        "1 identity keys are registered twice",
    )


@pytest.mark.parametrize(
    ("key", "number"),
    [
        (b"guid:https://blog.example/feed:tag:1", 7124708597680149171),
        (b"canonical_url:https://www.blog.example/2026/03/a", 7124912280809977788),
        (b"legacy_guid:guid:12345", -4641860998019826585),
        (b"a:", -9223371830939044567),
        (b"alias:uid:\xff\x00", 615976063651537300),
    ],
    ids=["guid", "link", "number", "short", "no-utf-8"],
)
def test_the_number_of_a_key_never_changes(key: bytes, number: int) -> None:
    """It is stored: another one would need a migration."""
    assert key_hash(key) == number


def test_keys_of_one_feed_stand_side_by_side() -> None:
    ours = [
        key_hash(f"{kind}:{prefix}https://{www}blog.example/{at}".encode())
        for at in range(50)
        for kind, prefix, www in (
            ("guid", "https://blog.example/feed:", ""),
            ("canonical_url", "", "www."),
            ("alias", "address:https://blog.example/feed://", ""),
        )
    ]
    others = [key_hash(f"guid:https://blog{at}.example/feed:1".encode()) for at in range(200)]

    assert not any(min(ours) < other < max(ours) for other in others)


def test_ids_that_differ_at_their_end_stand_side_by_side() -> None:
    numbers = {key_hash(f"legacy_guid:guid:{at}".encode()) for at in range(20_000, 30_000)}

    assert len({number >> 38 for number in numbers}) == 1
    assert len(numbers) == 10_000
