"""Checks a store: what its database says about itself, then every row as the program reads it.

Its search index is made anew, or completed with entries from before it existed or from when it was off.
"""
# Tested in tests/contracts/store/test_damaged_rows.py
# Tested in tests/integration/interfaces/cli/commands/entries/test_search.py

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from feedmill.engine.ports.entries import SearchStore
from feedmill.engine.ports.maintenance import MaintenanceStore
from feedmill.errors import DAMAGE, StoreError
from feedmill.model.running.worker import CheckedRows

T = TypeVar("T")

REPAIR: Final = (
    "to repair the store, stop feedmill and keep a copy of the database, then put a backup back, rebuild the store from the raw"
    " documents (`feedmill restore`), or correct the named rows with the tools of the database; see docs/how-to/back-up-and-restore.md"
)
REPAIR_RAW: Final = (
    "to repair the raw store, put its segments back from a backup, or run `feedmill blobs adopt` where documents were packed"
    " into other segments; without them entries, feeds and events stay, and these documents cannot be replayed"
)
_NAMED: Final = 100  # rows of a table; the rest is counted
_BATCH: Final = 500  # entries of one transaction


async def check_store(
    store: MaintenanceStore,
    *,
    quick: bool = False,
    on_rows: Callable[[int], None] = lambda _: None,
) -> CheckedRows:
    """How many rows were read and what is wrong with the store, one sentence each; `quick` leaves large tables out.

    A few hundred rows are in memory at a time, and `on_rows` gets the number that was read.
    """
    problems, number = [*await store.problems(quick=quick)], 0
    for name in store.tables_to_check(large=not quick):
        before, damaged, key = number, 0, None
        while True:
            ended = list[str]()
            page = await unless_damaged(store.check_rows(name, key), CheckedRows(), ended)
            problems += [
                f"{name}: what follows its first {number - before:,} rows cannot be read: {one}"
                for one in ended
            ]
            problems += page.problems[: max(0, _NAMED - damaged)]
            damaged += len(page.problems)
            number += page.rows
            on_rows(page.rows)
            if (key := page.last_key) is None:
                break
        if damaged > _NAMED:
            problems.append(f"{name}: {damaged - _NAMED:,} further values cannot be read")
    return CheckedRows(rows=number, problems=tuple(problems))


async def unless_damaged(part: Awaitable[T], instead: T, problems: list[str]) -> T:
    """What a part of a check found; damage that ends it is one more problem."""
    try:
        return await part
    except StoreError as problem:
        if problem.reason not in DAMAGE:
            raise
        problems.append(str(problem))
        return instead


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
