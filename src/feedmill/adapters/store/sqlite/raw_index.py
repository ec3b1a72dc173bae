"""The raw store's index as retention sees it: what may go, and which body follows which."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from feedmill.adapters.store.tables.codec import blob_of, micros
from feedmill.model.feed import BlobRef

# A body is kept while it is among the last ones of some feed and young enough; the document that
# a feed was last read from is always kept, and so is what a held entry stands in. Documents of a
# collected window are kept for the same age.
_SPENT = """
WITH versions AS (
  SELECT body_sha256, MAX(fetched_at) AS last_at,
         ROW_NUMBER() OVER (PARTITION BY feed_no ORDER BY MAX(fetched_at) DESC) AS rank
    FROM fetches WHERE body_sha256 IS NOT NULL GROUP BY feed_no, body_sha256)
SELECT sha256 FROM blobs
 WHERE sha256 NOT IN (SELECT body_sha256 FROM versions WHERE rank <= ?1 AND last_at >= ?2)
   AND sha256 NOT IN (SELECT body_sha256 FROM feeds WHERE body_sha256 IS NOT NULL)
   AND sha256 NOT IN (SELECT body_sha256 FROM collected_documents WHERE fetched_at >= ?2)
   AND sha256 NOT IN (SELECT body_sha256 FROM held_entries WHERE dropped = 0)
"""

# A body that several feeds served stands in the chain of the first of them.
_CHAINS = """
WITH versions AS (
  SELECT feed_no, body_sha256 AS sha, MIN(fetched_at) AS first_at
    FROM fetches WHERE body_sha256 IS NOT NULL GROUP BY feed_no, body_sha256),
chained AS (
  SELECT sha, feed_no, first_at,
         LAG(sha) OVER (PARTITION BY feed_no ORDER BY first_at) AS previous
    FROM versions),
once AS (SELECT sha, MIN(feed_no) AS feed_no, first_at, previous FROM chained GROUP BY sha)
SELECT blobs.*, once.previous
  FROM blobs LEFT JOIN once ON once.sha = blobs.sha256
 WHERE blobs.segment IN (SELECT value FROM json_each(?))
 ORDER BY once.feed_no, once.first_at
"""


def spent(connection: sqlite3.Connection, keep_last: int, before: datetime) -> tuple[str, ...]:
    """The hashes of bodies that no feed needs any more."""
    rows = connection.execute(_SPENT, (keep_last, micros(before)))
    return tuple([sha256 for (sha256,) in rows])


def chains(
    connection: sqlite3.Connection, segments: Sequence[str]
) -> tuple[tuple[BlobRef, str | None], ...]:
    """The bodies of some segments in the order in which they lean on each other."""
    names = "[" + ",".join(f'"{name}"' for name in segments) + "]"
    rows = connection.execute(_CHAINS, (names,))
    return tuple([(blob_of(row[:7]), row[7]) for row in rows])
