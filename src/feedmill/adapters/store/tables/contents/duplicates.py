"""Duplicates: entries of other feeds that carry the same article (D10).

An entry whose address another feed's entry has points to it (`same_as`); an article names the entry that
brought it. Both are followed, by index.
"""
# Tested in tests/contracts/store/test_duplicates.py

# names come from the list beside; values are parameters

from collections.abc import Sequence
from typing import Final

from feedmill.adapters.store.statements import Query, each_of, row, rows
from feedmill.adapters.store.tables.contents.entry_codec import (
    FROM_ENTRIES,
    STORED_COLUMNS,
    stored_of,
)
from feedmill.model.event import StoredEntry

_SELECT: Final = f"SELECT {STORED_COLUMNS} {FROM_ENTRIES} WHERE"
_MOST: Final = 200


def duplicates(entry_uid: str) -> Query[tuple[StoredEntry, ...]]:
    """The other entries of the same article, the first that came in first."""
    found = yield from row(
        "SELECT e.entry_id, e.same_as, a.entry_id FROM entries e"
        " LEFT JOIN articles a ON a.article_hash = e.article_hash WHERE e.entry_uid = $1",
        entry_uid,
    )
    if found is None:
        return ()
    own = found[0]
    roots = sorted({one for one in found if one is not None})
    pointing = yield from rows(
        "SELECT e.entry_id, e.same_as FROM entries e WHERE e.same_as @in($1) OR e.entry_id @in($1)"
        " ORDER BY e.entry_id LIMIT $2",
        roots,
        _MOST,
    )
    ids = {one for pair in pointing for one in pair if one is not None} | set(roots)
    return (
        yield from each_of(
            stored_of, f"{_SELECT} e.entry_id @in($1) ORDER BY e.entry_id", sorted(ids - {own})
        )
    )


def count_duplicates(article_hashes: Sequence[str]) -> Query[dict[str, int]]:
    """How many entries of other feeds carry each article; articles without any are left out."""
    found = yield from rows(
        "SELECT a.article_hash, count(*) FROM articles a JOIN entries e ON e.same_as = a.entry_id"
        " WHERE a.article_hash @in($1) GROUP BY a.article_hash",
        list(article_hashes),
    )
    return dict(found)
