"""Job kind `cluster`: read the event log and cluster the entries that came in, changed or went.

There is one such job for the whole store. Its cursor is a number of the log, written in the transaction of what the
step did: a crash repeats one batch, and nothing is clustered twice. Polls know nothing of it.
"""
# Tested in tests/integration/engine/jobs/test_cluster.py

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Final

from msgspec.structs import replace

from feedmill.cluster.sketch import is_specific, sketch
from feedmill.config import ClustersConfig, Config
from feedmill.engine.jobs.kind import JobKind, JobRun
from feedmill.model.derived.cluster import Sketch, SketchBatch, StoredStory
from feedmill.model.event import Event
from feedmill.model.running.job import Again, Done, JobResult, NewJob
from feedmill.observe.traces import span
from feedmill.publish.events import events_of_clusters

_BATCH: Final = 500  # events of one step
_IDLE: Final = timedelta(seconds=5)
_REMOVED: Final = "entry.removed"
_PRESENT: Final = frozenset({"new_entry", "entry.updated", "fulltext.extracted"})


async def run(run: JobRun) -> JobResult:
    """Cluster the entries of the next events."""
    services, config = run.services, run.services.config.clusters
    if not config.enabled:
        return Done(reason="switched-off")
    after = int(run.job.cursor.get("seq", 0))
    events = await services.store.events(after=after, limit=_BATCH)
    now = services.clock.now()
    tell = partial(events_of_clusters, now=now)
    if not events:
        await services.store.repair_clusters(
            at=now, most=config.max_entries, limit=_BATCH, events=tell
        )
        return Again(after=_IDLE)
    present, gone = _entries(events)
    stories = await services.store.story_texts(present) if present else ()
    with span("sketch"):
        sketches = await asyncio.to_thread(_sketches, stories, config)
    batch = SketchBatch(
        cause=f"{after}",
        at=now,
        since=now - timedelta(days=config.window_days),
        max_entries=config.max_entries,
        sketches=sketches,
        gone=(*gone, *(uid for uid in present if uid not in sketches)),
    )
    seq = events[-1].seq
    progress = {"seq": seq, "entries": run.job.progress.get("entries", 0) + len(sketches)}
    step = run.step({"seq": seq}, progress=progress)
    with span("store"):
        changes = await services.store.save_sketches(batch, events=tell, step=step)
    if changes is None:
        return Done(reason="lost")
    return Again(after=timedelta(0) if len(events) == _BATCH or changes else _IDLE)


def standing_job(config: Config) -> NewJob | None:
    """The one job; None while clusters are switched off."""
    return NewJob(kind=KIND.name, key="log", sooner=True) if config.clusters.enabled else None


KIND: Final = JobKind("cluster", run, concurrency=1, standing=standing_job)


def _entries(events: Iterable[Event]) -> tuple[list[str], list[str]]:
    """The entries to compare and those that were removed, by the last event of each."""
    last = {
        event.entry_uid: event.type in _PRESENT
        for event in events
        if event.entry_uid is not None and event.type in (*_PRESENT, _REMOVED)
    }
    return [uid for uid, is_there in last.items() if is_there], [
        uid for uid, is_there in last.items() if not is_there
    ]


def _sketches(stories: Iterable[StoredStory], config: ClustersConfig) -> dict[str, Sketch]:
    return {
        one.entry_uid: sketch(
            one.text
            if one.link is None or is_specific(one.link)
            else replace(one.text, links=())  # a comment leads to the story, and is not the story
        )
        for one in stories
        if _is_wanted(one, config)
    }


def _is_wanted(one: StoredStory, config: ClustersConfig) -> bool:
    by_tags = not config.tags or not set(one.tags).isdisjoint(config.tags)
    return by_tags if one.wanted is None else one.wanted
