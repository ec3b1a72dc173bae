"""Merging rows of two feeds that are the same entry: history, lineage, keys and former ids.

The number of statements does not depend on how many there are.
"""
# Tested in tests/contracts/store/

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from feedmill.adapters.store.statements import Query, rows, write, write_many
from feedmill.adapters.store.tables.codec import Row, json_text
from feedmill.adapters.store.tables.contents.entry_search import KEEP_FULL_TERMS
from feedmill.model.identity import KnownEntry, digests_of

_STATE_COLUMNS: Final = (
    "content_hash, title, summary, content, canonical_link, published, updated, fetch_id, slice_offset,"
    " slice_length"
)
_PAIRS: Final = "@rows($1, gone bigint, kept bigint) AS p"
_STATE_LAST: Final = 2_147_483_647  # the number of the state that goes, until all are numbered anew
_ADD_STATES: Final = f"""
INSERT INTO entry_revisions (entry_id, number, replaced_at, changed, {_STATE_COLUMNS})
SELECT e.entry_id, {_STATE_LAST}, $1, p.changed, {_STATE_COLUMNS}
  FROM @rows($2, gone bigint, changed text) AS p JOIN entries e ON e.entry_id = p.gone"""
# First below zero, where no number is taken.
_JOIN_REVISIONS: Final = f"""
UPDATE entry_revisions SET entry_id = n.kept, number = -n.place
  FROM (SELECT o.entry_id, o.number, p.kept, row_number() OVER (PARTITION BY p.kept
               ORDER BY o.replaced_at, o.number = {_STATE_LAST}, o.entry_id, o.number) AS place
          FROM {_PAIRS} JOIN entry_revisions o ON o.entry_id IN (p.gone, p.kept)) AS n
 WHERE entry_revisions.entry_id = n.entry_id AND entry_revisions.number = n.number"""
_NUMBER_REVISIONS: Final = (
    "UPDATE entry_revisions SET number = -number WHERE entry_id @in($1) AND number < 0"
)
# `{kept}` and `{gone}` are entries or tombstones.
_JOIN_LINEAGE: Final = """
UPDATE {kept} AS k SET first_seen = @least(k.first_seen, g.first_seen),
       last_seen = @greatest(k.last_seen, g.last_seen), seen_count = k.seen_count + g.seen_count,
       revisions = @greatest(k.revisions, g.revisions,
                             (SELECT count(*) FROM entry_revisions r WHERE r.entry_id = k.entry_id))
  FROM @rows($1, gone bigint, kept bigint) AS p JOIN {gone} AS g ON g.entry_id = p.gone
 WHERE k.entry_id = p.kept"""
_PLACE_UNDATED: Final = (
    "UPDATE entries SET published_effective = first_seen"
    " WHERE entry_id @in($1) AND published_source = 'first_seen'"
)
_SAME_AS: Final = (
    f"UPDATE entries SET same_as = nullif(p.kept, entries.entry_id) FROM {_PAIRS}"
    " WHERE entries.same_as = p.gone"
)
_FORMER_ID: Final = (
    "INSERT INTO entry_aliases (entry_uid, entry_id) VALUES ($1, $2)"
    " ON CONFLICT (entry_uid) DO UPDATE SET entry_id = excluded.entry_id"
)


# The full text of the row that goes, where the one that stays is alive and has none.
_KEEP_FULL_TEXT: Final = (
    f"UPDATE fulltexts SET entry_id = p.kept FROM {_PAIRS} WHERE fulltexts.entry_id = p.gone"
    " AND NOT EXISTS (SELECT 1 FROM fulltexts o WHERE o.entry_id = p.kept)"
    " AND EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = p.kept)"
)


_KEEP_MEDIA: Final = (
    f"UPDATE media SET entry_id = p.kept FROM {_PAIRS} WHERE media.entry_id = p.gone"
    " AND NOT EXISTS (SELECT 1 FROM media o WHERE o.entry_id = p.kept AND o.url_key = media.url_key)"
    " AND EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = p.kept)"
)


class Place(NamedTuple):
    """Where one row of two that are the same entry stands."""

    entry_id: int
    entry_uid: str
    table: str  # entries, or tombstones for what retention left

    @property
    def is_living(self) -> bool:
        return self.table == "entries"


def place_of(known: KnownEntry) -> Place:
    """Where the row stands."""
    expired = known.content_hash is None
    return Place(known.entry_id, known.entry_uid, "tombstones" if expired else "entries")


def gone_and_kept(theirs: Place, ours: Place) -> tuple[Place, Place]:
    """Which of two rows goes and which stays: the winner's, if it is not expired."""
    return (ours, theirs) if theirs.is_living and not ours.is_living else (theirs, ours)


def fold(folds: Sequence[tuple[Place, Place]], at: datetime) -> Query[None]:
    """Merge the first row of each pair into the second."""
    if not folds:
        return
    yield from _join_revisions([one for one in folds if one[0].is_living and one[1].is_living], at)
    for kept_table in ("entries", "tombstones"):
        for gone_table in ("entries", "tombstones"):
            chosen = [
                one for one in folds if (one[1].table, one[0].table) == (kept_table, gone_table)
            ]
            if chosen:
                statement = _JOIN_LINEAGE.format(kept=kept_table, gone=gone_table)
                yield from write(statement, _pairs(chosen))
    pairs, gone = _pairs(folds), [one.entry_id for one, _ in folds]
    yield from write(_PLACE_UNDATED, [kept.entry_id for _, kept in folds])
    for table in ("entry_identities", "articles", "entry_aliases"):
        yield from write(
            f"UPDATE {table} SET entry_id = p.kept FROM {_PAIRS} WHERE {table}.entry_id = p.gone",
            pairs,
        )
    yield from write(_KEEP_FULL_TEXT, pairs)
    yield from write(KEEP_FULL_TERMS, pairs)
    yield from write(_KEEP_MEDIA, pairs)
    yield from write(_SAME_AS, pairs)
    for table in ("entries", "tombstones"):
        yield from write(f"DELETE FROM {table} WHERE entry_id @in($1)", gone)
    yield from write_many(_FORMER_ID, [(one.entry_uid, kept.entry_id) for one, kept in folds])


def _join_revisions(folds: Sequence[tuple[Place, Place]], at: datetime) -> Query[None]:
    """Both histories of each in the order of time, numbered anew.

    Where the row that goes differs from the one that stays, it becomes an earlier state too.
    """
    if not folds:
        return
    ids = [place.entry_id for one in folds for place in one]
    found = yield from rows(
        "SELECT entry_id, field_digests, content_version FROM entries WHERE entry_id @in($1)", ids
    )
    stored = {one[0]: one[1:] for one in found}
    changed = [
        (gone.entry_id, json_text(fields))
        for gone, kept in folds
        if (fields := _differences(stored[gone.entry_id], stored[kept.entry_id]))
    ]
    yield from write(_ADD_STATES, at, json_text(changed))
    yield from write(_JOIN_REVISIONS, _pairs(folds))
    yield from write(_NUMBER_REVISIONS, [kept.entry_id for _, kept in folds])


def _differences(gone: Row, kept: Row) -> tuple[str, ...]:
    """The fields in which two rows of (field_digests, content_version) differ; none when they were
    hashed by different recipes.
    """
    (theirs, by), (ours, other) = gone, kept
    if by != other:
        return ()
    before, now = digests_of(theirs), dict(digests_of(ours))
    return tuple(name for name, digest in before if now.get(name) != digest)


def _pairs(folds: Iterable[tuple[Place, Place]]) -> str:
    """The rows that go, and for each the one that stays, for `@rows`."""
    return json_text([(gone.entry_id, kept.entry_id) for gone, kept in folds])
