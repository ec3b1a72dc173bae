"""Which entries of two feeds are the same, and by what the others are found afterwards."""

import pytest

from feedmill.identify.keys import MAX_KEY_BYTES, identity_keys, rescoped_key, spare_keys
from feedmill.identify.merge_feeds import adopted_keys, pair_twins
from feedmill.model.entry import Entry
from feedmill.model.identity import IdentityKey, KnownEntry

OLD, NEW = "https://old.example/rss", "https://new.example/rss"


def row(
    number: int, guid: str | None = None, link: str | None = None, text: str = ""
) -> KnownEntry:
    return KnownEntry(
        entry_id=number,
        entry_uid=f"uid-{number}",
        feed_id="feed",
        guid=guid,
        canonical_link=link,
        content_hash=text or None,
    )


@pytest.mark.parametrize(
    ("kept", "given", "same"),
    [
        pytest.param([row(1, "g", "l")], [row(9, "g", "l")], True, id="guid and link"),
        pytest.param([row(1, "g", "l")], [row(9, "g", "m")], True, id="guid"),
        pytest.param([row(1, "g", "l")], [row(9, "h", "l")], True, id="link, both guids new"),
        pytest.param([row(1, None, "l")], [row(9, "g", "l")], True, id="link without a guid"),
        pytest.param([row(1, text="t")], [row(9, text="t")], True, id="word for word"),
        pytest.param([row(1, "g", "l")], [row(9, "h", "m")], False, id="nothing in common"),
        pytest.param([row(1)], [row(9)], False, id="nothing known"),
        pytest.param(
            [row(1, "g", "l"), row(2, "h", "m")], [row(9, "h", "l")], True, id="the guid wins"
        ),
        pytest.param(
            [row(1, "g", "l"), row(2, "g", "m")], [row(9, "g", "n")], False, id="a guid of several"
        ),
        pytest.param(
            [row(1, "g", "l")], [row(8, "h", "l"), row(9, "i", "l")], False, id="a shared link"
        ),
    ],
)
def test_rows_are_paired_as_a_document_would_be_matched(
    kept: list[KnownEntry], given: list[KnownEntry], *, same: bool
) -> None:
    assert bool(pair_twins(kept, given)) is same


def test_a_link_does_not_pair_what_the_publisher_tells_apart() -> None:
    kept = [row(1, "g", "l"), row(2, "h", "m"), row(3, "h", "n")]
    given = [row(8, "h", "l")]

    assert pair_twins(kept, given) == {}


def test_a_row_is_given_away_once() -> None:
    kept = [row(1, "g", "l")]
    given = [row(8, "g", "m"), row(9, "h", "l")]

    assert pair_twins(kept, given) == {8: 1}


def test_what_means_nothing_in_either_feed_pairs_nobody() -> None:
    kept, given = [row(1, "0", "l")], [row(9, "0", "l")]

    assert pair_twins(kept, given, ignored_guids=["0"], ignored_links=["l"]) == {}


@pytest.mark.parametrize(
    ("kind", "value", "after"),
    [
        pytest.param("guid", f"{OLD}:g", f"{NEW}:g", id="guid"),
        pytest.param("alias", f"address:{OLD}://h/p", f"address:{NEW}://h/p", id="address"),
        pytest.param("alias", f"path:{OLD}:/p", f"path:{NEW}:/p", id="path"),
        pytest.param("alias", f"url:{OLD}:https://l/", f"url:{NEW}:https://l/", id="scoped link"),
        pytest.param("alias", "uid:0123", None, id="a hash"),
        pytest.param("guid", f"{NEW}:g", None, id="of another feed"),
        pytest.param("canonical_url", f"{OLD}:g", None, id="of no feed"),
    ],
)
def test_a_key_is_the_same_within_another_feed(kind: str, value: str, after: str | None) -> None:
    key = IdentityKey(type=kind, value=value)  # type: ignore[arg-type]  # spelt by the table

    found = rescoped_key(key, OLD, NEW)

    assert (found and found.value) == after


def test_a_key_that_grows_too_long_is_hashed_like_any_other() -> None:
    guid = "g" * (MAX_KEY_BYTES - len(OLD) - 1)
    key = IdentityKey(type="guid", value=f"{OLD}:{guid}")

    found = rescoped_key(key, OLD, f"{NEW}/longer")

    assert found == identity_keys(Entry(guid=guid), f"{NEW}/longer")[0]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(Entry(guid="g", canonical_link="https://e.example/1"), id="guid and link"),
        pytest.param(Entry(guid="https://e.example/1"), id="a guid that is an address"),
        pytest.param(Entry(canonical_link="https://e.example/1", title="t"), id="link"),
        pytest.param(Entry(title="t", summary="s"), id="neither"),
    ],
)
def test_every_key_that_the_next_document_asks_for_within_its_feed_is_there(entry: Entry) -> None:
    known = KnownEntry(
        entry_id=1,
        entry_uid="u",
        feed_id="old",
        guid=entry.guid,
        canonical_link=entry.canonical_link,
        keys=identity_keys(entry, OLD),
    )

    found = adopted_keys(known, entry, old_key=OLD, feed_key=NEW, feed_id="new")

    unscoped = ("canonical_url", "legacy_guid")
    asked = {key for key in identity_keys(entry, NEW) if key.type not in unscoped}
    assert asked | {spare_keys(entry, NEW, "new")[0]} <= set(found)
    assert not any(key.type in unscoped for key in found)


def test_an_expired_entry_is_found_by_what_is_left_of_it() -> None:
    known = KnownEntry(
        entry_id=1,
        entry_uid="u",
        feed_id="old",
        guid="g",
        keys=identity_keys(Entry(guid="g", canonical_link="https://e.example/1"), OLD),
    )

    found = adopted_keys(known, None, old_key=OLD, feed_key=NEW, feed_id="new")

    assert [(key.type, key.value) for key in found] == [("guid", f"{NEW}:g")]
