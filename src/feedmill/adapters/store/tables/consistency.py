"""Promises of every store that no constraint of its schema holds, and how many rows break each."""

from typing import Final

BROKEN: Final = {
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
               (SELECT 1 FROM feed_aliases a WHERE a.url = f.url AND a.feed_no = f.feed_no)""",
}
