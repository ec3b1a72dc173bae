"""The raw store's index as retention sees it: what may go, and which body follows which."""

# ruff: noqa: S608  # names come from the list beside; values are parameters

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.unnest import columns_of, rows_of
from feedmill.adapters.store.tables.codec import blob_of, blob_row, micros
from feedmill.model.feed import BlobRef

_LOOK_SEC: Final = 600.0  # every fetch is looked at, and nobody waits for it
_COLUMNS: Final = (
    "sha256", "segment", "offset", "length", "coding", "raw_length", "prefix_sha256",
)  # fmt: skip

# A body is kept while it is among the last ones of some feed and young enough; the document that
# a feed was last read from is always kept, and so is what a held entry stands in. Documents of a
# collected window are kept for the same age.
_NEEDED: Final = (
    "EXISTS (SELECT 1 FROM feeds f WHERE f.body_sha256 = b.sha256)"
    " OR EXISTS (SELECT 1 FROM held_entries h WHERE h.body_sha256 = b.sha256 AND h.dropped = 0)"
)
_SPENT: Final = f"""
WITH served AS (
  SELECT feed_no, body_sha256, max(fetched_at) AS last_at
    FROM fetches WHERE body_sha256 IS NOT NULL GROUP BY feed_no, body_sha256),
versions AS (
  SELECT body_sha256, last_at,
         row_number() OVER (PARTITION BY feed_no ORDER BY last_at DESC) AS rank FROM served)
SELECT b.sha256 FROM blobs b
 WHERE NOT EXISTS (SELECT 1 FROM versions v
                    WHERE v.body_sha256 = b.sha256 AND v.rank <= $1 AND v.last_at >= $2)
   AND NOT EXISTS (SELECT 1 FROM collected_documents c
                    WHERE c.body_sha256 = b.sha256 AND c.fetched_at >= $2)
   AND NOT ({_NEEDED})
"""

# A body that several feeds served stands in the chain of the first of them. Only feeds that served
# one of these bodies are looked at: they have every chain that is asked for.
_CHAINS: Final = """
WITH bodies AS (SELECT * FROM blobs WHERE segment = ANY($1::text[])),
concerned AS (
  SELECT DISTINCT x.feed_no FROM fetches x JOIN bodies ON bodies.sha256 = x.body_sha256),
versions AS (
  SELECT x.feed_no, x.body_sha256 AS sha, min(x.fetched_at) AS first_at
    FROM fetches x JOIN concerned USING (feed_no)
   WHERE x.body_sha256 IS NOT NULL GROUP BY x.feed_no, x.body_sha256),
chained AS (
  SELECT sha, feed_no, first_at,
         lag(sha) OVER (PARTITION BY feed_no ORDER BY first_at) AS previous FROM versions),
once AS (SELECT DISTINCT ON (sha) sha, feed_no, first_at, previous FROM chained
          ORDER BY sha, feed_no)
SELECT b.sha256, b.segment, b."offset", b.length, b.coding, b.raw_length, b.prefix_sha256,
       once.previous
  FROM bodies b LEFT JOIN once ON once.sha = b.sha256
 ORDER BY once.feed_no NULLS FIRST, once.first_at NULLS FIRST
"""
_MOVE: Final = f"""
UPDATE blobs b SET segment = n.segment, "offset" = n."offset", length = n.length,
       coding = n.coding, raw_length = n.raw_length, prefix_sha256 = n.prefix_sha256
  FROM {rows_of(_COLUMNS)} WHERE b.sha256 = n.sha256
"""
# What a feed has taken up again since it was asked for stays: another process may have read it. Whoever
# is about to point at a body holds its row (`commit`): he is waited for, and looked at only then.
_LOCK: Final = "SELECT 1 FROM blobs WHERE sha256 = ANY($1::text[]) ORDER BY sha256 FOR UPDATE"
_FORGET: Final = f"DELETE FROM blobs b WHERE b.sha256 = ANY($1::text[]) AND NOT ({_NEEDED})"


async def spent(connection: Connection, keep_last: int, before: datetime) -> tuple[str, ...]:
    """The hashes of bodies that no feed needs any more."""
    rows = await connection.fetch(_SPENT, keep_last, micros(before), timeout=_LOOK_SEC)
    return tuple(row[0] for row in rows)


async def chains(
    connection: Connection, segments: Sequence[str]
) -> tuple[tuple[BlobRef, str | None], ...]:
    """The bodies of some segments in the order in which they lean on each other."""
    rows = await connection.fetch(_CHAINS, list(segments), timeout=_LOOK_SEC)
    return tuple((blob_of(tuple(row)[:7]), row[7]) for row in rows)


async def move(connection: Connection, refs: Sequence[BlobRef]) -> None:
    """Note that bodies lie elsewhere now; one that was forgotten meanwhile stays so."""
    if refs:
        await connection.execute(_MOVE, *columns_of([blob_row(ref) for ref in refs]))


async def forget(connection: Connection, sha256s: Sequence[str]) -> None:
    """Note that bodies are gone, save those that somebody needs again."""
    await connection.execute(_LOCK, list(sha256s))
    await connection.execute(_FORGET, list(sha256s))
