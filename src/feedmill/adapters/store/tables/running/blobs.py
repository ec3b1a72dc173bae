"""Table `blobs`, the index of the raw store: where each body lies, which ones retention may delete, and whose they are (`store_identity`, D36)."""
# Tested in tests/unit/adapters/store/test_blobs.py

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.statements import Query
from feedmill.adapters.store.tables.codec import blob_of, blob_row, micros
from feedmill.adapters.store.tables.purge import QUOTA_OF_FEED
from feedmill.model.feed import BlobRef
from feedmill.model.running.worker import StoreIdentity

_LOOK_SEC: Final = 600.0  # every fetch is looked at, and nothing waits for it
_COLUMNS: Final = 'sha256, segment, "offset", length, coding, raw_length, prefix_sha256'

BLOB: Final = f"SELECT {_COLUMNS} FROM blobs WHERE sha256 = $1"
# A row that exists stays as it is; on PostgreSQL it is locked, so that retention does not delete the body
# before the feed points at it.
INSERT: Final = (
    f"INSERT INTO blobs ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (sha256) DO UPDATE SET length = blobs.length WHERE false"
)
# A body is kept while it is among the last ones of some feed and young enough, or while it is one of the
# last that could not be read or had to be repaired: parser regressions are tested with these. The document that
# a feed was last read from is always kept, and so is what a held entry stands in. Documents of a
# collected window are kept for the same age, and so is what was found in the raw store and indexed again.
_SPENT: Final = """
WITH served AS (
  SELECT feed_no, body_sha256, max(fetched_at) AS last_at
    FROM fetches WHERE body_sha256 IS NOT NULL GROUP BY feed_no, body_sha256),
versions AS (
  SELECT body_sha256, last_at,
         row_number() OVER (PARTITION BY feed_no ORDER BY last_at DESC) AS rank FROM served),
damaged AS (
  SELECT feed_no, body_sha256, max(fetched_at) AS last_at
    FROM fetches
   WHERE body_sha256 IS NOT NULL AND (repairs IS NOT NULL OR http_status BETWEEN 200 AND 299
     AND outcome NOT IN ('fresh', 'unchanged', 'same-body', 'replayed'))
   GROUP BY feed_no, body_sha256),
samples AS (
  SELECT body_sha256,
         row_number() OVER (PARTITION BY feed_no ORDER BY last_at DESC) AS rank FROM damaged)
SELECT sha256 FROM blobs
EXCEPT SELECT body_sha256 FROM versions WHERE rank <= $1 AND last_at >= $2
EXCEPT SELECT body_sha256 FROM samples WHERE rank <= $3
EXCEPT SELECT body_sha256 FROM collected_documents WHERE fetched_at >= $2
EXCEPT SELECT body_sha256 FROM fulltexts WHERE fetched_at >= $2
EXCEPT SELECT body_sha256 FROM feeds
EXCEPT SELECT body_sha256 FROM held_entries WHERE dropped = 0
EXCEPT SELECT sha256 FROM adopted_blobs WHERE adopted_at >= $2"""
# The documents of a feed that no longer fit into its quota, the newest first; what it was read from last, and
# what a held entry stands in, stays.
_OVER_QUOTA: Final = f"""
WITH served AS (
  SELECT feed_no, body_sha256, max(fetched_at) AS last_at
    FROM fetches WHERE body_sha256 IS NOT NULL GROUP BY feed_no, body_sha256),
sized AS (
  SELECT s.feed_no, s.body_sha256, b.length,
         sum(b.length) OVER (PARTITION BY s.feed_no ORDER BY s.last_at DESC, s.body_sha256) AS total
    FROM served s JOIN blobs b ON b.sha256 = s.body_sha256)
SELECT f.id, z.body_sha256, z.length FROM sized z JOIN feeds f ON f.feed_no = z.feed_no
 WHERE z.total > $1 * {QUOTA_OF_FEED}
   AND NOT EXISTS (SELECT 1 FROM feeds o WHERE o.body_sha256 = z.body_sha256)
   AND NOT EXISTS (SELECT 1 FROM held_entries h
                    WHERE h.body_sha256 = z.body_sha256 AND h.dropped = 0)"""
# Evidence for the sweep: only a segment that this store has taken pointers from is let go of.
_RELEASE: Final = (
    "INSERT INTO released_segments (segment)"
    " SELECT DISTINCT segment FROM blobs WHERE sha256 @in($1) ON CONFLICT DO NOTHING"
)

_FORGET_ADOPTED: Final = "DELETE FROM adopted_blobs WHERE sha256 @in($1)"

# Only feeds that served one of these bodies are looked at: they have every chain that is asked for.
# CROSS JOIN keeps SQLite from scanning all chains once for each body.
_CHAINS: Final = """
WITH concerned AS (
  SELECT DISTINCT x.feed_no FROM fetches x JOIN blobs b ON b.sha256 = x.body_sha256
   WHERE b.segment @in($1)),
versions AS (
  SELECT x.feed_no, x.body_sha256 AS sha, min(x.fetched_at) AS first_at
    FROM fetches x JOIN concerned ON concerned.feed_no = x.feed_no
   WHERE x.body_sha256 IS NOT NULL GROUP BY x.feed_no, x.body_sha256),
chained AS (
  SELECT sha, feed_no, first_at,
         lag(sha) OVER (PARTITION BY feed_no ORDER BY first_at) AS previous FROM versions)
SELECT c.sha, c.previous FROM chained c CROSS JOIN blobs b
 WHERE b.sha256 = c.sha AND b.segment @in($1) ORDER BY c.feed_no, c.first_at"""


def blob(sha256: str) -> Query[BlobRef | None]:
    """Where a body lies."""
    return sql.one_of(blob_of, BLOB, sha256)


def blobs(*, segment: str | None = None) -> Query[tuple[BlobRef, ...]]:
    """Where all bodies lie, or those of one segment, in the order of the bytes."""
    return sql.each_of(
        blob_of,
        f"SELECT {_COLUMNS} FROM blobs {'' if segment is None else 'WHERE segment = $1'}"
        ' ORDER BY segment, "offset"',
        *(() if segment is None else (segment,)),
    )


def known_blobs(sha256s: Sequence[str]) -> Query[dict[str, str]]:
    """Those of the hashes that the index knows, with the segment that it points into."""
    found = yield from sql.rows(
        "SELECT sha256, segment FROM blobs WHERE sha256 @in($1)", list(sha256s)
    )
    return dict(found)


def segments_in_use() -> Query[frozenset[str]]:
    """The segments that the index points into."""
    statement = "SELECT DISTINCT segment FROM blobs"
    return frozenset((yield from sql.column(statement, timeout_sec=_LOOK_SEC)))


def released_segments() -> Query[frozenset[str]]:
    """The segments from which this store has removed pointers."""
    return frozenset((yield from sql.column("SELECT segment FROM released_segments")))


def forget_released(segments: Sequence[str]) -> Query[None]:
    """Forget segments that were swept."""
    yield from sql.write("DELETE FROM released_segments WHERE segment @in($1)", list(segments))


def adopt_blobs(refs: Sequence[BlobRef], *, now: datetime) -> Query[int]:
    """Index bodies that were found in the raw store; the number that the index did not know."""
    found = yield from known_blobs([ref.sha256 for ref in refs])
    new = [ref for ref in sorted(refs, key=lambda ref: ref.sha256) if ref.sha256 not in found]
    yield from sql.write_many(INSERT, [blob_row(ref) for ref in new])
    yield from sql.write_many(
        "INSERT INTO adopted_blobs (sha256, adopted_at) VALUES ($1, $2)"
        " ON CONFLICT (sha256) DO UPDATE SET adopted_at = excluded.adopted_at",
        [(ref.sha256, micros(now)) for ref in new],
    )
    return len(new)


def move_blobs(refs: Sequence[BlobRef]) -> Query[None]:
    """Store the new places of bodies; one that was deleted meanwhile stays deleted."""
    yield from sql.write(_RELEASE, [ref.sha256 for ref in refs])
    yield from sql.write_many(
        'UPDATE blobs SET segment = $2, "offset" = $3, length = $4, coding = $5, raw_length = $6,'
        " prefix_sha256 = $7 WHERE sha256 = $1",
        [blob_row(ref) for ref in sorted(refs, key=lambda ref: ref.sha256)],
    )


def expired_blobs(
    *, keep_last: int, before: datetime, keep_samples: int = 0
) -> Query[tuple[str, ...]]:
    """The hashes of bodies that no feed needs any more (D13)."""
    asked = (keep_last, before, keep_samples)
    return tuple((yield from sql.column(_SPENT, *asked, timeout_sec=_LOOK_SEC)))


def blobs_over_quota(most_bytes: int) -> Query[tuple[tuple[str, str, int], ...]]:
    """Feed, hash and length of the documents that no longer fit into the quota of their feed."""
    found = yield from sql.rows(_OVER_QUOTA, float(most_bytes), timeout_sec=_LOOK_SEC)
    return tuple((feed_id, sha256, length) for feed_id, sha256, length in found)


def blob_chains(segments: Sequence[str]) -> Query[tuple[tuple[BlobRef, str | None], ...]]:
    """The bodies of these segments per feed, oldest first, each with the one before it."""
    names = list(segments)
    found = yield from sql.rows(
        f"SELECT {_COLUMNS} FROM blobs WHERE segment @in($1)", names, timeout_sec=_LOOK_SEC
    )
    bodies = {one[0]: blob_of(one) for one in found}
    chained = yield from sql.rows(_CHAINS, names, timeout_sec=_LOOK_SEC)
    # A body that several feeds served stands in the chain of the first of them.
    before: dict[str, str | None] = dict(reversed(chained))
    alone = [sha256 for sha256 in bodies if sha256 not in before]
    in_order = dict.fromkeys((*alone, *(sha256 for sha256, _ in chained)))
    return tuple((bodies[sha256], before.get(sha256)) for sha256 in in_order)


def delete_blobs(sha256s: Sequence[str]) -> Query[None]:
    """Delete bodies from the index."""
    yield from sql.write(_RELEASE, list(sha256s))
    yield from sql.write(_FORGET_ADOPTED, list(sha256s))
    yield from sql.write("DELETE FROM blobs WHERE sha256 @in($1)", list(sha256s))


def forget_unneeded_blobs(sha256s: Sequence[str]) -> Query[None]:
    """Delete bodies from the index, except those that a feed points at again.

    Another process may have read one meanwhile. A transaction that is about to point at a body holds
    its row (`INSERT`): it is waited for, and the feeds are read only then.
    """
    yield from sql.lock(
        "SELECT 1 FROM blobs WHERE sha256 @in($1) ORDER BY sha256 FOR UPDATE", list(sha256s)
    )
    yield from sql.write(_RELEASE, list(sha256s))
    yield from sql.write(_FORGET_ADOPTED, list(sha256s))
    yield from sql.write(
        "DELETE FROM blobs WHERE sha256 @in($1)"
        " AND NOT EXISTS (SELECT 1 FROM feeds f WHERE f.body_sha256 = blobs.sha256)"
        " AND NOT EXISTS (SELECT 1 FROM held_entries h"
        " WHERE h.body_sha256 = blobs.sha256 AND h.dropped = 0)",
        list(sha256s),
    )


def store_identity() -> Query[StoreIdentity | None]:
    """The id of this store; None before the first time that it was asked for."""
    statement = "SELECT id, raw_place FROM store_identity WHERE one = 1"
    return sql.one_of(lambda found: StoreIdentity(id=found[0], raw_place=found[1]), statement)


def save_identity(store_id: str) -> Query[None]:
    """Store the id, unless another process has stored one."""
    yield from sql.write(
        "INSERT INTO store_identity (one, id) VALUES (1, $1) ON CONFLICT DO NOTHING", store_id
    )


def confirm_raw_place(place: str) -> Query[None]:
    """Store that the raw store at `place` carries the id of this store."""
    yield from sql.write("UPDATE store_identity SET raw_place = $1", place)
