"""What is wrong with the store, in words: promises that no constraint of the schema holds."""

from typing import Final

from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.tables.consistency import BROKEN

_PROBLEMS: Final = {
    **BROKEN,
    "events are missing from the log": """
        SELECT coalesce(max(seq) - min(seq) + 1 - count(*), 0) FROM events""",
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
            OR NOT EXISTS (SELECT 1 FROM header_blocks h WHERE h.block_id = x.response_block)""",
}


async def problems(connection: Connection) -> tuple[str, ...]:
    """What is wrong with the store, in words; nothing when all is well."""
    found = []
    for words, statement in _PROBLEMS.items():
        if count := await connection.fetchval(statement):
            found.append(f"{count} {words}")
    return tuple(found)
