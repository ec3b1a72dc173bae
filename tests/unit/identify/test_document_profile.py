"""Tombstones and complete feeds: marked, not erased, and never a stranger's."""

from datetime import UTC, datetime

import msgspec
import pytest

from feedmill.config import IdentifyConfig
from feedmill.identify.diff import diff
from feedmill.identify.document_profile import apply_tombstones, remove_absent, without_withdrawn
from feedmill.identify.keys import identify
from feedmill.model.entry import Entry
from feedmill.model.identity import Changes, FeedIdentity, IdentityKey, KnownEntry, UnchangedEntry
from feedmill.model.parsed import Tombstone

FEED = FeedIdentity(feed_id="f1", feed_key="https://feed.example/")
NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
ROW = KnownEntry(entry_id=1, entry_uid="guid:1", feed_id="f1", guid="tag:1", updated=NOON)


def row(**fields: object) -> KnownEntry:
    return msgspec.structs.replace(ROW, **fields)


def test_a_tombstone_removes_the_entry_and_says_when_and_why() -> None:
    tombstone = Tombstone(ref="tag:1", when="2024-05-06T14:00:00+02:00", comment="spam")

    (removed,) = apply_tombstones([ROW], [tombstone], FEED)

    assert removed.known == ROW
    assert (removed.reason, removed.when, removed.comment) == ("tombstone", NOON, "spam")


@pytest.mark.parametrize(
    ("known", "ref", "when"),
    [
        pytest.param(row(), "tag:1", "2024-05-06T11:59:59Z", id="older than the entry"),
        pytest.param(row(), "tag:2", "2024-05-07T00:00:00Z", id="another entry"),
        pytest.param(row(), "TAG:1", "2024-05-07T00:00:00Z", id="another spelling"),
        pytest.param(row(), " ", "2024-05-07T00:00:00Z", id="no ref"),
        pytest.param(row(guid=None), "", "2024-05-07T00:00:00Z", id="no ref and no guid"),
        pytest.param(row(), "tag:1", None, id="no date"),
        pytest.param(row(), "tag:1", "yesterday", id="unreadable date"),
        pytest.param(row(), "tag:1", "2024-05-07T00:00:00", id="date without zone"),
        pytest.param(row(feed_id="f2"), "tag:1", "2024-05-07T00:00:00Z", id="another feed"),
        pytest.param(row(removed=True), "tag:1", "2024-05-07T00:00:00Z", id="removed already"),
    ],
)
def test_a_tombstone_is_ignored(known: KnownEntry, ref: str, when: str | None) -> None:
    assert apply_tombstones([known], [Tombstone(ref=ref, when=when)], FEED) == ()


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(row(updated=None), id="undated"),
        pytest.param(row(updated=None, published=NOON), id="published before"),
    ],
)
def test_a_tombstone_removes_an_entry_that_was_never_updated(known: KnownEntry) -> None:
    tombstone = Tombstone(ref="tag:1", when="2024-05-06t12:00:00z")

    assert len(apply_tombstones([known], [tombstone], FEED)) == 1


def test_a_document_without_tombstones_removes_nothing_by_them() -> None:
    assert apply_tombstones([ROW], (), FEED) == ()


def test_the_youngest_of_several_tombstones_counts() -> None:
    old = Tombstone(ref="tag:1", when="2024-05-06T11:00:00Z")
    new = Tombstone(ref="tag:1", when="2024-05-06T13:00:00Z")

    for tombstones in ([old, new], [new, old]):
        (removed,) = apply_tombstones([ROW], tombstones, FEED)

        assert removed.when == datetime(2024, 5, 6, 13, tzinfo=UTC)


def test_an_entry_that_its_own_document_withdraws_is_not_read() -> None:
    tombstone = Tombstone(ref="tag:1", when="2024-05-06T12:00:00Z")
    dead = Entry(guid=" tag:1 ", updated=NOON)
    reborn = Entry(guid="tag:1", updated=NOON.replace(hour=13))
    other = Entry(title="no guid")

    assert without_withdrawn([dead, other], [tombstone]) == (other,)
    assert without_withdrawn([reborn], [tombstone]) == (reborn,)


def test_an_entry_that_came_back_after_its_tombstone_is_not_removed() -> None:
    tombstone = Tombstone(ref="tag:1", when="2024-05-06T12:30:00Z")
    reborn = Entry(guid="tag:1", updated=NOON.replace(hour=13))

    assert apply_tombstones([ROW], [tombstone], FEED, [reborn]) == ()


def test_a_complete_document_removes_what_it_no_longer_lists() -> None:
    keys = (IdentityKey(type="guid", value="https://feed.example/:tag:1"),)
    present = row(keys=keys)
    by_slice = row(entry_id=2, guid="tag:2")
    absent = row(entry_id=3, guid="tag:3")
    gone = row(entry_id=4, guid="tag:4", removed=True)
    foreign = row(entry_id=5, guid="tag:5", feed_id="f2")
    known = [present, by_slice, absent, gone, foreign]
    config = IdentifyConfig()
    touched = [UnchangedEntry(known=by_slice, matched_by="slice")]
    seen = identify([Entry(guid="tag:1")], FEED, config, touched=touched)

    changes = diff(known, seen, FEED, config, touched=touched)
    removed = remove_absent(known, changes, FEED)

    assert [(r.known.entry_id, r.reason) for r in removed] == [(3, "absent")]


def test_a_complete_document_without_entries_removes_nothing() -> None:
    changes = diff([ROW], (), FEED, IdentifyConfig())

    assert isinstance(changes, Changes)
    assert remove_absent([ROW], changes, FEED) == ()
