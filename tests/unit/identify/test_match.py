"""What counts as a new name for a known entry."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from feedmill.config import IdentifyConfig
from feedmill.identify.diff import diff
from feedmill.identify.hashes import GUID, learn_volatile, title_hash, volatile_levels
from feedmill.identify.keys import identify
from feedmill.identify.match import is_mass_rekey, is_renamed, pair_by_likeness
from feedmill.model.entry import Entry
from feedmill.model.identity import FeedIdentity, Identified, KnownEntry, Revised

FEED = FeedIdentity(feed_id="f1", feed_key="https://feed.example/")


def item(guid: str | None, link: str | None, title: str | None = "Title") -> Identified:
    entry = Entry(guid=guid, canonical_link=link, title=title)
    return identify([entry], FEED, IdentifyConfig())[0]


def row(
    guid: str | None, link: str | None, title: str | None = "Title", number: int = 1
) -> KnownEntry:
    return KnownEntry(
        entry_id=number,
        entry_uid=f"guid:{number}",
        feed_id="f1",
        guid=guid,
        canonical_link=link,
        title_hash=title_hash(Entry(title=title)),
    )


@pytest.mark.parametrize(
    ("seen", "known", "renamed"),
    [
        pytest.param(item("b", "https://e.example/1"), row("a", "https://e.example/1"), True, id="same link"),
        pytest.param(item("b", "https://n.example/1"), row("a", "https://e.example/1"), True, id="another host"),
        pytest.param(item("b", None), row("a", None), True, id="no links"),
        pytest.param(item("b", "https://n.example/"), row("a", "https://e.example/"), False, id="home pages"),
        pytest.param(item("b", "https://e.example/2"), row("a", "https://e.example/1"), False, id="another path"),
        pytest.param(item("b", None), row("a", "https://e.example/1"), False, id="link lost"),
        pytest.param(item("a", "https://e.example/1"), row("a", "https://e.example/1"), False, id="same guid"),
        pytest.param(item(None, "https://e.example/1"), row("a", "https://e.example/1"), False, id="guid lost"),
        pytest.param(item("b", "https://e.example/1"), row(None, "https://e.example/1"), False, id="guid gained"),
        pytest.param(item("b", "https://e.example/1", "X"), row("a", "https://e.example/1"), False, id="another title"),
        pytest.param(item("b", "https://e.example/1", None), row("a", "https://e.example/1", None), False, id="no titles"),
    ],
)  # fmt: skip
def test_a_renamed_entry_has_a_new_guid_under_its_old_title_and_address(
    seen: Identified, known: KnownEntry, renamed: bool
) -> None:
    assert is_renamed(seen, known) is renamed


@pytest.mark.parametrize(
    ("renamed", "guids", "mass"),
    [
        pytest.param(2, 2, False, id="too few to tell"),
        pytest.param(3, 3, True, id="all of three"),
        pytest.param(5, 10, True, id="half"),
        pytest.param(4, 10, False, id="less than half"),
        pytest.param(0, 0, False, id="no guids at all"),
    ],
)
def test_a_rekey_takes_at_least_half_of_the_guids(renamed: int, guids: int, mass: bool) -> None:
    assert is_mass_rekey(renamed, guids, IdentifyConfig()) is mass


@pytest.mark.parametrize(
    ("moved", "renumbered"),
    [
        pytest.param(0, False, id="none went"),
        pytest.param(1, False, id="two were exchanged"),
        pytest.param(4, True, id="most of them"),
    ],
)
def test_guids_that_went_to_other_entries_are_numbers_of_the_document(
    moved: int, renumbered: bool
) -> None:
    # The entry that the guid n stands on now is numbers[n].
    numbers = [*range(1, moved + 1), 0, *range(moved + 1, 6)]
    entries = [
        Entry(
            guid=f"{place}", canonical_link=f"https://e.example/{number}", title=f"Entry {number}"
        )
        for place, number in enumerate(numbers)
    ]
    seen = identify(entries, FEED, IdentifyConfig())
    known = [
        replace(
            row(f"{n}", f"https://e.example/{n}", f"Entry {n}", number=n + 1),
            keys=item(f"{n}", f"https://e.example/{n}").keys,
        )
        for n in range(6)
    ]

    found = diff(known, seen, FEED, IdentifyConfig())

    matched = [change.known.entry_id - 1 for change in found.changes if isinstance(change, Revised)]
    assert matched == (numbers if renumbered else [*range(6)])
    fields = learn_volatile((), found, datetime(2026, 1, 1, tzinfo=UTC))
    assert (GUID in volatile_levels(fields)) is renumbered


def test_items_are_paired_by_the_whole_link_before_the_path() -> None:
    seen = {
        0: item("b1", "https://one.example/p"),
        1: item("b2", "https://two.example/p"),
        2: item("b3", "https://new.example/q"),
    }
    rows = [
        row("a1", "https://one.example/p", number=1),
        row("a2", "https://two.example/p", number=2),
        row("a3", "https://old.example/q", number=3),
    ]

    pairs = pair_by_likeness(seen, rows)

    assert {position: known.entry_id for position, known in pairs.items()} == {0: 1, 1: 2, 2: 3}


def test_a_likeness_that_is_not_unique_pairs_nobody() -> None:
    twins = {0: item("b1", "https://e.example/p"), 1: item("b2", "https://e.example/p")}
    one = [row("a", "https://e.example/p", number=1)]
    two = [*one, row("c", "https://e.example/p", number=2)]

    assert pair_by_likeness(twins, one) == {}
    assert pair_by_likeness({0: twins[0]}, two) == {}
    assert pair_by_likeness({0: item("b", None)}, [row("a", None)]) == {}
