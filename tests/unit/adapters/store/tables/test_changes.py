"""Documents of one transaction: together, unless two of them write about the same entry."""

from tests.support.sample_refreshes import IDENTIFY, READER, an_entry

from feedmill.adapters.store.postgres.parameters import to_columns, unnest_rows
from feedmill.adapters.store.tables.changes import (
    ChangeBatch,
    PendingDocument,
    document_batches,
    group_changes,
)
from feedmill.identify.diff import diff
from feedmill.identify.keys import identify
from feedmill.model.identity import (
    Changes,
    ChangeSummary,
    FeedIdentity,
    IdentityKey,
    KnownEntry,
    Rekeyed,
    Remap,
    Removed,
    UnchangedEntry,
)


def a_document(feed_no: int, changes: Changes, *removed: Removed) -> PendingDocument:
    return PendingDocument(
        feed_no=feed_no,
        fetch_id=f"fetch {feed_no}",
        seen_at=1_000,
        whole=True,
        before=3,
        before_at=900,
        changes=changes.changes,
        removed=removed,
    )


def touching(*entry_ids: int) -> Changes:
    changes = tuple(UnchangedEntry(known=a_row(one), matched_by="guid") for one in entry_ids)
    return Changes(changes=changes, summary=ChangeSummary())


def adding(feed_id: str, name: str) -> Changes:
    identity = FeedIdentity(feed_id=feed_id, feed_key=f"https://{feed_id}.example/")
    return diff(
        (), identify([an_entry(name)], identity, IDENTIFY, reader=READER), identity, IDENTIFY
    )


def a_row(entry_id: int) -> KnownEntry:
    return KnownEntry(entry_id=entry_id, entry_uid=f"uid {entry_id}", feed_id="f")


def test_documents_about_different_entries_are_one_batch() -> None:
    documents = [
        a_document(1, touching(1, 2)),
        a_document(2, touching(3)),
        a_document(3, adding("three", "a")),
        a_document(4, adding("four", "a")),
    ]

    assert list(document_batches(documents)) == [documents]
    assert list(document_batches([])) == []


def test_a_document_about_an_entry_of_another_begins_a_batch() -> None:
    gone = Removed(known=a_row(2), reason="absent")
    documents = [
        a_document(1, touching(1, 2)),
        a_document(2, touching(2)),
        a_document(3, touching(4), gone),
        a_document(4, touching(1)),
        a_document(5, adding("five", "a")),
        a_document(6, adding("five", "a")),
    ]

    sizes = [[one.feed_no for one in batch] for batch in document_batches(documents)]

    assert sizes == [[1], [2], [3, 4, 5], [6]]


def test_a_touched_entry_costs_no_row_at_all() -> None:
    pile, document = ChangeBatch(), a_document(1, touching(1, 2))

    group_changes(pile, document)

    assert pile == ChangeBatch()
    assert document.known == {1, 2}


def test_a_rekeyed_feed_costs_its_new_keys() -> None:
    new = IdentityKey(type="guid", value="new")
    rekeyed = Rekeyed(feed_id="f", remaps=(Remap(entry_id=7, new=new),))
    pile = ChangeBatch()

    group_changes(pile, a_document(1, Changes(changes=(rekeyed,), summary=ChangeSummary())))

    assert pile == ChangeBatch(keys=[("guid", "new", 7)])


def test_a_new_entry_goes_by_its_public_id_until_it_has_a_number() -> None:
    pile, changes = ChangeBatch(), adding("one", "a")
    document = a_document(1, changes)

    group_changes(pile, document)

    (uid,) = pile.added
    assert {owner for _, _, owner in pile.keys} == {uid}
    assert [(owner, seen_at) for _, owner, seen_at in pile.articles] == [(uid, 1_000)]
    assert document.known == set()


def test_rows_become_columns_of_their_types() -> None:
    assert to_columns([(1, "a"), (2, "b")]) == [(1, 2), ("a", "b")]
    assert unnest_rows(("feed_no", "offset", "title"), first=3) == (
        'unnest($3::bigint[], $4::bigint[], $5::text[]) AS n (feed_no, "offset", title)'
    )


def test_confirmations_go_on_with_whole_documents_only() -> None:
    whole = a_document(1, touching(1))
    part = a_document(1, touching(1))
    part.whole = False

    assert (whole.confirmation, part.confirmation) == (4, 3)
