"""Keys: what they look like, and that hostile ones stay small."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.identify.hashes import fallback_hash
from feedmill.identify.keys import (
    MAX_KEY_BYTES,
    address_tail,
    dedupe_key,
    entry_uid,
    identity_keys,
    spare_keys,
)
from feedmill.model.entry import Entry

FEED = "https://feed.example/rss"


def spelled(entry: Entry, **use: bool) -> list[tuple[str, str]]:
    return [(key.type, key.value) for key in identity_keys(entry, FEED, **use)]


def aliases(guid: str, permalink: bool = False) -> list[str]:
    keys = identity_keys(Entry(guid=guid, guid_is_permalink=permalink), FEED)
    return [key.value.replace(FEED, "F") for key in keys if key.type == "alias"]


def test_an_entry_with_guid_and_link_has_a_key_of_each_kind_strongest_first() -> None:
    entry = Entry(guid=" tag:e.example,2024:1 ", canonical_link="https://e.example/p")

    keys = spelled(entry)

    assert keys == [
        ("guid", f"{FEED}:tag:e.example,2024:1"),
        ("canonical_url", "https://e.example/p"),
        ("legacy_guid", "guid:tag:e.example,2024:1"),
    ]


@pytest.mark.parametrize(
    ("entry", "snapshot"),
    [
        pytest.param(
            Entry(guid="g", canonical_link="https://e.example/"), f"guid:{FEED}:g", id="guid"
        ),
        pytest.param(
            Entry(canonical_link="https://e.example/"), "url:https://e.example/", id="link"
        ),
        pytest.param(Entry(link="magnet:?xt=1"), "url:magnet:?xt=1", id="link without canonical"),
        pytest.param(Entry(guid=" ", link=" "), f"hash:{fallback_hash(Entry(), FEED)}", id="blank"),
        pytest.param(
            Entry(title="t"), f"hash:{fallback_hash(Entry(title='t'), FEED)}", id="neither"
        ),
    ],
)
def test_the_snapshot_shows_the_strongest_key(entry: Entry, snapshot: str) -> None:
    assert dedupe_key(entry, FEED) == snapshot


def test_the_fallback_is_used_only_without_guid_and_link() -> None:
    assert [kind for kind, _ in spelled(Entry(title="t"))] == ["fallback_hash"]
    assert [kind for kind, _ in spelled(Entry(link="https://e.example/1"))] == ["canonical_url"]


def test_what_identifies_nobody_is_left_out() -> None:
    entry = Entry(guid="0", canonical_link="https://e.example/")

    assert spelled(entry, use_guid=False) == [("canonical_url", "https://e.example/")]
    assert [kind for kind, _ in spelled(entry, use_link=False)] == ["guid", "legacy_guid"]
    assert [kind for kind, _ in spelled(entry, use_guid=False, use_link=False)] == ["fallback_hash"]
    assert dedupe_key(entry, FEED, use_guid=False, use_link=False).startswith("hash:")


@pytest.mark.parametrize(
    ("guid", "permalink", "expected"),
    [
        pytest.param("http://www.e.example/a?b#c", False, ["address:F://e.example/a?b#c", "path:F:/a?b#c"], id="www"),
        pytest.param("https://e.example?p=1", False, ["address:F://e.example?p=1", "path:F:?p=1"], id="no path"),
        pytest.param("https://e.example/", False, ["address:F://e.example/"], id="root has no path"),
        pytest.param("https://e.example", False, ["address:F://e.example"], id="host only"),
        pytest.param("HTTPS://E.example:443/%7ea", True, ["address:F://e.example/~a", "path:F:/~a"], id="permalink"),
        pytest.param("http://e.example/%2f%c3", True, ["address:F://e.example/%2F%C3", "path:F:/%2F%C3"], id="kept escapes"),
        pytest.param("HTTPS://e.example/a", False, [], id="an id is compared as it stands"),
        pytest.param("tag:e.example,2024:1", True, [], id="no address"),
        pytest.param("https://", False, [], id="no host"),
        pytest.param("https://[/a", True, ["address:F://[/a", "path:F:/a"], id="unreadable permalink"),
        pytest.param("42", True, [], id="number"),
    ],
)  # fmt: skip
def test_a_guid_that_is_an_address_has_aliases(
    guid: str, permalink: bool, expected: list[str]
) -> None:
    assert aliases(guid, permalink) == expected


def test_spare_keys_hold_the_link_twice_the_tuple_and_the_item() -> None:
    with_link = spare_keys(Entry(guid="g", canonical_link="https://e.example/1"), FEED, "f1")
    without = spare_keys(Entry(guid="g"), FEED, "f1")

    assert [(key.type, key.value[:4]) for key in with_link] == [
        ("fallback_hash", "item"),
        ("alias", "uid:"),
        ("canonical_url", "http"),
        ("alias", "url:"),
    ]
    assert len(without) == 2


def test_an_item_is_another_item_when_its_guid_counts_for_nothing() -> None:
    entry = Entry(guid="0", title="t")

    assert spare_keys(entry, FEED, "f1")[0] != spare_keys(entry, FEED, "f1", use_guid=False)[0]


def test_public_ids_are_scoped_to_their_feed() -> None:
    entry = Entry(guid="1")

    assert entry_uid(entry, FEED, "f1") == entry_uid(Entry(guid=" 1 ", title="x"), FEED, "f1")
    assert entry_uid(entry, FEED, "f1") != entry_uid(entry, "https://other.example/", "f1")
    assert entry_uid(entry, FEED, "f1", use_guid=False).startswith("hash:")


@given(guid=st.text(max_size=50), link=st.text(max_size=50), permalink=st.booleans())
def test_public_ids_are_safe_in_a_url_whatever_the_publisher_wrote(
    guid: str, link: str, permalink: bool
) -> None:
    entry = Entry(guid=guid, link=link, guid_is_permalink=permalink)

    assert re.fullmatch(r"(guid|hash):[0-9a-f]{64}", entry_uid(entry, FEED, "f1"))
    assert identity_keys(entry, FEED)


def test_a_monstrous_guid_or_link_becomes_a_small_key() -> None:
    entry = Entry(
        guid="https://e.example/" + "é" * 500_000, link="https://e.example/" + "x" * 500_000
    )

    keys = (*identity_keys(entry, FEED), *spare_keys(entry, FEED, "f1"))

    assert max(len(key.value.encode()) for key in keys) <= MAX_KEY_BYTES
    assert len(dedupe_key(entry, FEED)) <= MAX_KEY_BYTES
    assert len({(key.type, key.value) for key in keys}) == len(keys) - 1  # the link stands twice


def test_long_keys_that_differ_at_the_end_stay_different() -> None:
    long = "g" * 5_000

    assert spelled(Entry(guid=long + "1"))[0] != spelled(Entry(guid=long + "2"))[0]


def test_lone_surrogates_in_a_permalink_do_no_harm() -> None:
    assert aliases("https://e.example/\ud800", permalink=True) == [
        "address:F://e.example/\ud800",
        "path:F:/\ud800",
    ]


@pytest.mark.parametrize(
    ("url", "tail"),
    [
        ("https://e.example/a?b", "/a?b"),
        ("http://www.e.example?b", "?b"),
        ("https://e.example/", None),
        ("https://e.example", None),
        ("mailto:a@e.example", None),
        ("", None),
    ],
)
def test_the_tail_of_an_address_is_what_follows_its_host(url: str, tail: str | None) -> None:
    assert address_tail(url) == tail
