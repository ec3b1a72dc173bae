"""The search index made anew, or completed with entries from before it existed or from when it was off."""
# Tested in tests/integration/interfaces/cli/commands/entries/test_search.py

from collections.abc import Callable
from typing import Final

from feedmill.engine.ports.entries import SearchStore
from feedmill.errors import DAMAGE, StoreError

_BATCH: Final = 500  # entries of one transaction


async def reindex(
    store: SearchStore, progress: Callable[[int], None] = lambda _: None, *, missing: bool = False
) -> int:
    """Index every entry, or only those that are `missing`; how many. An index that is damaged is made anew first."""
    done = after = 0
    is_new = missing
    while True:
        try:
            count, after = await store.index_entries(after, _BATCH, missing=missing)
        except StoreError as problem:
            if is_new or problem.reason not in DAMAGE:
                raise
            await store.rebuild_search_index()
            is_new = True
            continue
        if not count:
            break
        done += count
        progress(count)
    if not missing:
        await store.rebuild_search_index()
    return done


async def missing_from_index(store: SearchStore) -> str | None:
    """How many entries are not indexed, in words; None when all are."""
    missing = await store.count_unindexed()
    advice = "`feedmill run` indexes them within the hour, `feedmill reindex` now"
    return f"{missing:,} entries cannot be found by a search yet; {advice}" if missing else None
