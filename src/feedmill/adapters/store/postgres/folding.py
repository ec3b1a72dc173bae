"""Rows of two feeds that are the same entry, made one: history, lineage, keys and former ids.

However many there are, the number of statements is the same.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.tables.codec import json_text, micros
from feedmill.adapters.store.tables.merge_feeds import STATE_COLUMNS, Place, differences

_PAIRS: Final = "unnest($1::bigint[], $2::bigint[]) AS p (gone, kept)"
_STATE_LAST: Final = 2_147_483_647  # the number of the state that goes, until all are numbered anew
_ADD_STATES: Final = f"""
INSERT INTO entry_revisions (entry_id, number, replaced_at, changed, {STATE_COLUMNS})
SELECT e.entry_id, {_STATE_LAST}, $1, p.changed, {STATE_COLUMNS}
  FROM unnest($2::bigint[], $3::text[]) AS p (gone, changed) JOIN entries e ON e.entry_id = p.gone"""
# First below zero, where no number is taken.
_JOIN_REVISIONS: Final = f"""
UPDATE entry_revisions r SET entry_id = n.kept, number = -n.place
  FROM (SELECT o.entry_id, o.number, p.kept, row_number() OVER (PARTITION BY p.kept
               ORDER BY o.replaced_at, o.number = {_STATE_LAST}, o.entry_id, o.number) AS place
          FROM {_PAIRS} JOIN entry_revisions o ON o.entry_id IN (p.gone, p.kept)) n
 WHERE r.entry_id = n.entry_id AND r.number = n.number"""
_NUMBER_REVISIONS: Final = (
    "UPDATE entry_revisions SET number = -number WHERE entry_id = ANY($1::bigint[]) AND number < 0"
)
# `{kept}` and `{gone}` are entries or tombstones.
_JOIN_LINEAGE: Final = """
UPDATE {kept} k SET first_seen = least(k.first_seen, g.first_seen),
       last_seen = greatest(k.last_seen, g.last_seen), seen_count = k.seen_count + g.seen_count,
       revisions = greatest(k.revisions, g.revisions,
                            (SELECT count(*)::integer FROM entry_revisions r WHERE r.entry_id = k.entry_id))
  FROM unnest($1::bigint[], $2::bigint[]) AS p (gone, kept)
  JOIN {gone} g ON g.entry_id = p.gone WHERE k.entry_id = p.kept"""
_PLACE_UNDATED: Final = (
    "UPDATE entries SET published_effective = first_seen"
    " WHERE entry_id = ANY($1::bigint[]) AND published_source = 'first_seen'"
)
_SAME_AS: Final = (
    f"UPDATE entries e SET same_as = nullif(p.kept, e.entry_id) FROM {_PAIRS}"
    " WHERE e.same_as = p.gone"
)
_FORMER_IDS: Final = """
INSERT INTO entry_aliases (entry_uid, entry_id) SELECT * FROM unnest($1::text[], $2::bigint[])
    ON CONFLICT (entry_uid) DO UPDATE SET entry_id = excluded.entry_id"""


async def fold(connection: Connection, folds: Sequence[tuple[Place, Place]], at: datetime) -> None:
    """Make of each two rows one, the second."""
    if not folds:
        return
    await _join_revisions(
        connection, [fold for fold in folds if fold[0].is_living and fold[1].is_living], at
    )
    for kept_table in ("entries", "tombstones"):
        for gone_table in ("entries", "tombstones"):
            chosen = [f for f in folds if (f[1].table, f[0].table) == (kept_table, gone_table)]
            statement = _JOIN_LINEAGE.format(kept=kept_table, gone=gone_table)
            if chosen:
                await connection.execute(statement, *_numbers(chosen))
    gone, kept = _numbers(folds)
    await connection.execute(_PLACE_UNDATED, kept)
    for table in ("entry_identities", "articles", "entry_aliases"):
        await connection.execute(
            f"UPDATE {table} t SET entry_id = p.kept FROM {_PAIRS} WHERE t.entry_id = p.gone",
            gone,
            kept,
        )
    await connection.execute(_SAME_AS, gone, kept)
    for table in ("entries", "tombstones"):
        await connection.execute(f"DELETE FROM {table} WHERE entry_id = ANY($1::bigint[])", gone)
    await connection.execute(_FORMER_IDS, [fold[0].entry_uid for fold in folds], kept)


async def _join_revisions(
    connection: Connection, folds: Sequence[tuple[Place, Place]], at: datetime
) -> None:
    """Both histories of each in the order of time, numbered anew.

    What a row that goes says otherwise than the one that stays becomes an earlier state too.
    """
    gone, kept = _numbers(folds)
    rows = await connection.fetch(
        "SELECT entry_id, field_digests, content_version FROM entries"
        " WHERE entry_id = ANY($1::bigint[])",
        [*gone, *kept],
    )
    said = {row[0]: (row[1], row[2]) for row in rows}
    changed = [
        (one, json_text(fields))
        for one, other in zip(gone, kept, strict=True)
        if (fields := differences(said[one], said[other]))
    ]
    await connection.execute(
        _ADD_STATES, micros(at), [one for one, _ in changed], [fields for _, fields in changed]
    )
    await connection.execute(_JOIN_REVISIONS, gone, kept)
    await connection.execute(_NUMBER_REVISIONS, kept)


def _numbers(folds: Iterable[tuple[Place, Place]]) -> tuple[list[int], list[int]]:
    """The rows that go, and for each the one that stays."""
    pairs = [(one.entry_id, other.entry_id) for one, other in folds]
    return [gone for gone, _ in pairs], [kept for _, kept in pairs]
