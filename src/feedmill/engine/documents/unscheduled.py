"""Documents that no schedule asked for: archive pages, pings, `ingest-one`, insertions, replays, restores.

Each becomes a `Refresh` here, so that all of them write the same rows and events. A feed has one fetch per
instant (D26), so one that comes at the instant of another is stored a moment later.
"""
# Tested in tests/integration/engine/jobs/test_backfill.py

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.engine.documents.read_document import ComparedDocument
from feedmill.engine.ports.entries import CommitStore
from feedmill.model.feed import BlobRef, Feed, FetchRecord
from feedmill.model.identity import Changes, Removed
from feedmill.model.refresh import Committed, Refresh
from feedmill.publish.events import events_of_changes

_TICK: Final = timedelta(microseconds=1)
_TRIES: Final = 1_000


def unscheduled(
    feed: Feed,
    fetch: FetchRecord,
    changes: Changes | None = None,
    removed: tuple[Removed, ...] = (),
    *,
    blob: BlobRef | None = None,
    whole: bool = False,
    silent: bool = False,
) -> Refresh:
    """What a document changes. Unless it is the feed's `whole` current document, the feed stays as it was.

    `silent` writes no events.
    """
    events = (
        ()
        if changes is None or silent
        else events_of_changes(
            changes, removed, feed=feed, fetch_id=fetch.fetch_id, now=fetch.fetched_at
        )
    )
    return Refresh(
        lane=None,
        feed=feed,
        fetch=fetch,
        blob=blob,
        changes=changes,
        removed=removed,
        in_document=whole and changes is not None and not fetch.truncated,
        events=events,
        entries_only=not whole,
    )


def removals_of_part(read: ComparedDocument) -> tuple[Removed, ...]:
    """What a document removes that may hold only what is new: absence from it means nothing."""
    return () if read.parsed.complete else read.removed


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
