"""Which entries are kept as JSON, and for how long."""

from feedmill.adapters.store.tables.codec import Row
from feedmill.adapters.store.tables.contents.entry_text_cache import EntryTextCache


def version(number: int, *, revisions: int = 0, fetch_id: str | None = "f1") -> Row:
    return (number, revisions, fetch_id)


def show(cache: EntryTextCache, *versions: Row) -> list[int]:
    """Show these entries; which of them were kept."""
    found = cache.get(versions)
    cache.put((one, b"x" * 1_000) for one in versions if one[0] not in found)
    return sorted(found)


def test_an_entry_is_kept_when_it_is_shown_for_the_second_time() -> None:
    cache = EntryTextCache()

    shown = [show(cache, version(1), version(2)) for _ in range(3)]

    assert shown == [[], [], [1, 2]]


def test_an_entry_in_another_version_is_read_again() -> None:
    cache = EntryTextCache()
    for _ in range(3):
        show(cache, version(1))

    assert show(cache, version(1, fetch_id="f2")) == []
    assert show(cache, version(1, fetch_id="f2")) == [1]


def test_an_entry_with_revisions_or_without_a_fetch_is_not_kept() -> None:
    cache = EntryTextCache()

    shown = [show(cache, version(1, revisions=1), version(2, fetch_id=None)) for _ in range(3)]

    assert shown == [[], [], []]


def test_what_was_shown_longest_ago_makes_room() -> None:
    cache = EntryTextCache(max_bytes=4_000)  # two of them
    for number in (1, 1, 2, 2, 1, 3, 3):
        show(cache, version(number))

    assert show(cache, version(1), version(2), version(3)) == [1, 3]
