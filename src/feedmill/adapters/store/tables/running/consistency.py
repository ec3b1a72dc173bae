"""Consistency checks: invariants that no constraint of the schema enforces; and how many rows there are."""
# Tested in tests/contracts/store/

from collections.abc import Mapping
from typing import Final

from feedmill.adapters.store.statements import Query, row, rows, value

_CHECKS: Final = {
    "identities point at no entry": """
        SELECT count(*) FROM entry_identities i
         WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = i.entry_id)
           AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.entry_id = i.entry_id)""",
    "entries have no identity": """
        SELECT count(*) FROM entries e WHERE NOT EXISTS
               (SELECT 1 FROM entry_identities i WHERE i.entry_id = e.entry_id)""",
    "entries are alive and expired at once": """
        SELECT count(*) FROM entries e JOIN tombstones t ON t.entry_id = e.entry_id""",
    "former ids point at no entry": """
        SELECT count(*) FROM entry_aliases a
         WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = a.entry_id)
           AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.entry_id = a.entry_id)""",
    "feeds have no schedule": """
        SELECT count(*) FROM feeds f WHERE NOT EXISTS
               (SELECT 1 FROM feed_sched s WHERE s.feed_no = f.feed_no)""",
    "feeds would be polled late, because their lane sleeps too long": """
        SELECT count(*) FROM feed_sched s JOIN lanes l ON l.lane_id = s.lane_id
         WHERE s.paused = 0 AND l.owner IS NULL
           AND l.claim_at > s.next_run_at AND l.claim_at > coalesce(l.next_ok_at, 0)""",
    "feeds are not known under their own address": """
        SELECT count(*) FROM feeds f WHERE NOT EXISTS
               (SELECT 1 FROM feed_aliases a WHERE a.url = f.url AND a.feed_no = f.feed_no)
           AND NOT EXISTS (SELECT 1 FROM merged_feeds m WHERE m.feed_no = f.feed_no)""",
    "full texts have no text": """
        SELECT count(*) FROM fulltexts WHERE state = 'extracted' AND html IS NULL""",
    "entries are in a cluster that is gone": """
        SELECT count(*) FROM entries e WHERE e.cluster_no IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM clusters c WHERE c.cluster_no = e.cluster_no)""",
    "stored media have no file": """
        SELECT count(*) FROM media m WHERE m.state = 'stored' AND NOT EXISTS
               (SELECT 1 FROM media_files c WHERE c.sha256 = m.sha256 AND c.state = 'kept')""",
    "jobs run without a lease": """
        SELECT count(*) FROM jobs WHERE state = 'running' AND lease_until IS NULL""",
    "jobs belong to feeds that are gone": """
        SELECT count(*) FROM jobs j WHERE j.feed_id IS NOT NULL AND NOT EXISTS
               (SELECT 1 FROM feeds f WHERE f.id = j.feed_id)""",
}


def _gaps(table: str) -> str:
    """How many numbers are missing; `log.rewound` leaps, and what it leaps over is not missing."""
    return f"""
        SELECT coalesce(max(seq) - min(seq) + 1 - count(*), 0) - coalesce((
               SELECT sum(r.seq - 1 - coalesce(
                      (SELECT max(p.seq) FROM {table} p WHERE p.seq < r.seq), r.seq - 1))
                 FROM {table} r WHERE r.type = 'log.rewound'), 0)
          FROM {table}"""


_SQLITE_CHECKS: Final = {
    **_CHECKS,
    "events are missing from the log": _gaps("outbox"),
    "identity keys are not found by their hash": """
        SELECT count(*) FROM entry_identities
         WHERE lookup_hash <> key_hash(CAST(key_type || ':' || key_value AS BLOB))""",
    "identity keys are registered twice": """
        SELECT count(*) FROM (SELECT 1 FROM entry_identities WHERE lookup_hash IN
               (SELECT lookup_hash FROM entry_identities GROUP BY lookup_hash HAVING count(*) > 1)
         GROUP BY key_type, key_value HAVING count(*) > 1)""",
}
_POSTGRES_CHECKS: Final = {
    **_CHECKS,
    "events are missing from the log": _gaps("events"),
    "numbers were given to no event, or given twice": """
        SELECT abs(h.seq - coalesce((SELECT max(seq) FROM events), h.seq)) FROM log_head h""",
    "events have waited for a number for more than five minutes: a transaction that began"
    " before them is still open (see pg_stat_activity.backend_xid)": """
        SELECT count(*) FROM outbox WHERE occurred_at < feedmill_now() - 300000000""",
    "fetches are of feeds that are gone": """
        SELECT count(*) FROM fetches x WHERE NOT EXISTS
               (SELECT 1 FROM feeds f WHERE f.feed_no = x.feed_no)""",
    "fetches have lost their headers": """
        SELECT count(*) FROM fetches x
         WHERE NOT EXISTS (SELECT 1 FROM header_blocks h WHERE h.block_id = x.request_block)
            OR NOT EXISTS (SELECT 1 FROM header_blocks h WHERE h.block_id = x.response_block)
            OR (x.arrivals_block IS NOT NULL AND NOT EXISTS
                (SELECT 1 FROM header_blocks h WHERE h.block_id = x.arrivals_block))""",
}


_TABLES: Final = {
    "feeds": "feeds",
    "lanes": "lanes",
    "entries": "entries",
    "identities": "entry_identities",
    "tombstones": "tombstones",
    "articles": "articles",
    "revisions": "entry_revisions",
    "fetches": "fetches",
    "decisions": "schedule_decisions",
    "events": "@all_events AS e",
    "blobs": "blobs",
    "paused": "feeds WHERE paused = 1",
    "fulltexts": "fulltexts WHERE state = 'extracted'",
    "clusters": "clusters",
    "media": "media WHERE state = 'stored'",
    "jobs": "jobs WHERE state IN ('queued', 'running')",
}

_COUNTS: Final = "SELECT " + ", ".join(
    f"(SELECT count(*) FROM {table})" for table in _TABLES.values()
)


def sqlite_pages(*, quick: bool = False) -> Query[tuple[str, ...]]:
    """What SQLite finds wrong with the pages of its file; the quick check does not compare indexes with their tables."""
    check = "quick_check" if quick else "integrity_check"
    return tuple(text for (text,) in (yield from rows(f"PRAGMA {check}")) if text != "ok")


def sqlite_problems() -> Query[tuple[str, ...]]:
    """What is wrong with the rows of a SQLite file, one sentence each; empty when they are consistent."""
    broken = yield from rows("PRAGMA foreign_key_check")
    found = [
        f"{table}: row {row} points at nothing in {parent}" for table, row, parent, _ in broken
    ]
    return (*found, *(yield from _broken(_SQLITE_CHECKS)))


def postgres_problems() -> Query[tuple[str, ...]]:
    """What is wrong with a PostgreSQL database, one sentence each; empty when it is consistent."""
    return _broken(_POSTGRES_CHECKS)


def counts() -> Query[dict[str, int]]:
    """How many rows there are of each kind; events also before they have a number."""
    found = yield from row(_COUNTS)
    return dict(zip(_TABLES, found or (), strict=True))


def _broken(checks: Mapping[str, str]) -> Query[tuple[str, ...]]:
    found = []
    for words, statement in checks.items():
        if count := (yield from value(statement)):
            found.append(f"{count} {words}")
    return tuple(found)
