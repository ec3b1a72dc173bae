"""Commits a document that no schedule asked for: a feed has one fetch per instant (D26)."""
# Tested in tests/integration/engine/jobs/test_backfill.py

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.ports.entries import CommitStore
from feedmill.model.refresh import Committed, Refresh

_TICK: Final = timedelta(microseconds=1)
_TRIES: Final = 1_000


async def commit_unscheduled(refresh: Refresh, store: CommitStore) -> Committed:
    """Commit at the first instant that is free; `duplicate` when other processes take them all."""
    done = await store.commit(refresh)
    for _ in range(_TRIES):
        if not done.duplicate:
            break
        later = refresh.fetch.scheduled_at + _TICK
        refresh = replace(refresh, fetch=replace(refresh.fetch, scheduled_at=later))
        done = await store.commit(refresh)
    return done
