"""Entries recognised by their slice."""

import pytest

from feedmill.identify.keys import known_slice_digests, match_unchanged
from feedmill.model.identity import KnownEntry
from feedmill.model.parsed import Slice


def row(
    entry_id: int,
    digest: str | None = "d",
    *,
    length: int | None = 10,
    content_hash: str | None = "c",
    version: str | None = "content-v1",
    removed: bool = False,
) -> KnownEntry:
    return KnownEntry(
        entry_id=entry_id,
        entry_uid=f"guid:{entry_id}",
        feed_id="f1",
        slice_digest=digest,
        slice_length=length,
        content_hash=content_hash,
        content_version=version,
        removed=removed,
    )


def piece(offset: int, digest: str) -> Slice:
    return Slice(offset=offset, length=10, digest=digest)


def test_a_slice_that_is_known_may_be_passed_over() -> None:
    assert known_slice_digests([row(1, "a"), row(2, "b", length=None)]) == {"a": 10, "b": 0}


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(row(1, None), id="no slice was kept"),
        pytest.param(row(1, removed=True), id="removed: it must be read to come back"),
        pytest.param(row(1, content_hash=None), id="expired: its content is gone"),
        pytest.param(row(1, version="content-v1+old"), id="read by an older parser"),
        pytest.param(row(1, version=None), id="read by an unknown one"),
    ],
)
def test_a_slice_must_be_read_again(known: KnownEntry) -> None:
    assert known_slice_digests([known]) == {}


def test_a_slice_read_by_the_same_reader_may_be_passed_over() -> None:
    assert known_slice_digests([row(1, version="content-v1+r2")], reader="r2") == {"d": 10}


def test_touched_rows_come_in_document_order_each_once() -> None:
    known = [row(1, "a"), row(2, "b"), row(3, "c"), row(4, None)]

    touched = match_unchanged(
        known, [piece(0, "c"), piece(10, "a"), piece(20, "c"), piece(30, "new")]
    )

    assert [(t.known.entry_id, t.matched_by) for t in touched] == [(3, "slice"), (1, "slice")]
    assert [t.slice.offset for t in touched if t.slice] == [0, 10]


def test_of_two_rows_with_one_slice_the_older_is_touched() -> None:
    touched = match_unchanged([row(2), row(1)], [piece(0, "d")])

    assert [t.known.entry_id for t in touched] == [1]
