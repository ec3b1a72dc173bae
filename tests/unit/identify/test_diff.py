"""Keys that a document registers, and what of its changes is written."""

from tests.support.sample_refreshes import an_entry

from feedmill.config import IdentifyConfig
from feedmill.identify.diff import diff
from feedmill.identify.keys import identify
from feedmill.model.identity import Changes, FeedIdentity, KnownEntry, UnchangedEntry

FEED = FeedIdentity(feed_id="f", feed_key="https://e.org/feed")
CONFIG = IdentifyConfig()


def compared(*known: KnownEntry) -> Changes:
    seen = identify([an_entry("a")], FEED, CONFIG, reader="r")
    return diff(known, seen, FEED, CONFIG, touched=(), articles=frozenset())


def row(*, legacy: bool) -> KnownEntry:
    (seen,) = identify([an_entry("a")], FEED, CONFIG, reader="r")
    return KnownEntry(
        entry_id=1, entry_uid="u", feed_id="f", keys=seen.keys[:1], content_hash="h", legacy=legacy
    )


def test_a_row_found_by_its_dedupe_key_gets_the_key_that_led_to_it() -> None:
    (legacy,) = compared(row(legacy=True)).changes
    (known,) = compared(row(legacy=False)).changes

    assert isinstance(legacy, UnchangedEntry)
    assert isinstance(known, UnchangedEntry)
    assert set(legacy.new_keys) - set(known.new_keys) == set(row(legacy=True).keys)


def test_written_entries_are_counted_with_those_that_cleaning_changed() -> None:
    changes = compared()

    assert [one.seen.entry.title for one in changes.written] == ["About a"]
    assert changes.modified_count == 0
