"""Retention (D13): deletes what is too old, packs and sweeps raw segments; verifies what is kept.

Content and metadata go by age, counted from the last sighting; entries in a feed's last document
never do, and their identities outlive them, so that an old item never comes back as new. Raw
bytes go when no kept fetch refers to them.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from feedmill.engine.documents.fetched import tidy_media
from feedmill.engine.documents.raw_documents import decode_note
from feedmill.engine.maintain.check_store import (
    REPAIR,
    REPAIR_RAW,
    check_store,
    reindex,
    unless_damaged,
)
from feedmill.engine.maintain.publishers_clock import check_clock
from feedmill.engine.maintain.raw_store import (
    check_raw_owner,
    describe_owner,
    describe_unindexed,
    grace_ends,
    holds_only_known,
    unindexed_segments,
)
from feedmill.engine.ports.io import Blobs, Clock, RawIndex
from feedmill.engine.ports.maintenance import LeaseStore, MaintenanceStore
from feedmill.engine.ports.media import MediaFiles, MediaStore
from feedmill.engine.ports.store import Store
from feedmill.engine.run.lane_lease import clock_ahead_sec
from feedmill.engine.run.lifecycle import Backoff, Lifecycle
from feedmill.engine.run.services import Services, each_page
from feedmill.errors import BlobError, ConflictError, FeedmillError
from feedmill.model.running.worker import BlobProblem, PurgeCuts, Segment
from feedmill.observe import log
from feedmill.publish.events import event_of_quota


class CheckedStore(RawIndex, MaintenanceStore, Protocol):
    """The index of the raw store, and the store's own checks."""


MAINTENANCE_LEASE: Final = "housekeeping"
_EVERY_SEC = 3600.0
_FEEDS_AT_ONCE: Final = 500
_ROWS_AT_ONCE: Final = 1_000
_CLOCK_JUMP_SEC: Final = 86_400.0
_GRACE_SEC = 1.0  # for a purge under way when the run should end


async def purge(services: Services) -> dict[str, int]:
    """Delete what retention no longer keeps; how much went, by kind."""
    now = services.clock.now()
    keep = services.config.retention
    cuts = PurgeCuts(
        entries=now - timedelta(days=keep.seen_ttl_days),
        fetches=now - timedelta(days=keep.fetches_keep_days),
        events=now - timedelta(days=keep.events_keep_days),
        unread_events=now - timedelta(days=keep.unread_events_keep_days),
        revisions=now - timedelta(days=keep.revisions_keep_days),
        identities=now - timedelta(days=keep.identities_keep_days),
    )
    await _finish_merges(services.store, now - timedelta(days=keep.merge_undo_days), now)
    gone = await services.store.purge(before=cuts.entries, now=now, cuts=cuts)
    if keep.decisions_keep:
        gone["decisions"] = await _thin_decisions(services.store, keep.decisions_keep)
    gone["identities"] += await _thin_identities(services, now)
    owner = await check_raw_owner(services.store, services.blobs)
    spent = await services.store.expired_blobs(
        keep_last=keep.raw_keep_last,
        before=now - timedelta(days=keep.raw_keep_days),
        keep_samples=keep.raw_keep_samples,
    )
    await services.store.delete_blobs(spent)
    over = await _thin_raw(services, now)
    figures = await services.store.compact_figures(
        now=now,
        hours_until=now - timedelta(days=keep.figures_keep_hours_days),
        days_until=now - timedelta(days=keep.figures_keep_days),
    )
    months = await services.store.purge_times(now - timedelta(days=keep.arrivals_keep_days))
    media = 0 if services.media is None else await tidy_media(services)
    raw = {"packed": 0, "segments": 0}
    if owner.is_ours:
        # The sweep first: packing needs room, which a full disk has only once something was deleted.
        before = grace_ends(now, services.config.store.segment_grace_sec)
        raw["segments"] = await sweep_raw(services.store, services.blobs, before=before)
        pack_bytes = services.config.store.pack_bytes
        raw["packed"] = await pack_raw(services.store, services.blobs, pack_bytes)
    else:
        log.logger("raw").error(describe_owner(owner))
    return {
        **gone,
        "arrivals": months,
        "documents": len(spent) + over,
        "figures": figures,
        "media": media,
        **raw,
    }


async def _finish_merges(store: Store, before: datetime, now: datetime) -> None:
    """Make merges final that can no longer be undone: entries and fetches become the other feed's."""
    for one in await store.merged_feeds():
        if one.merged_at < before:
            await store.merge_feeds(one.feed_id, one.into_id, at=now)


async def _thin_decisions(store: Store, keep: int) -> int:
    """Delete the decisions of each feed but the last ones; how many went."""
    gone = 0
    async for page in each_page(lambda after: store.feeds(limit=_FEEDS_AT_ONCE, after=after)):
        gone += await store.thin_decisions([feed.id for feed in page.items], keep)
    return gone


async def _thin_identities(services: Services, now: datetime) -> int:
    """Forget the oldest deleted entries of feeds that have more than their quota; how many (D40)."""
    most, gone = services.config.quota.identities_per_feed, 0
    for feed_id, over in await services.store.feeds_over_identities(most) if most else ():
        left = over
        while left > 0 and (
            ids := await services.store.oldest_tombstones(feed_id, min(left, _ROWS_AT_ONCE))
        ):
            gone += await services.store.forget_tombstones(ids)
            left -= len(ids)
        event = event_of_quota(feed_id, "identities-per-feed", now=now, deleted=over)
        await services.store.tell_quota(event)
    return gone


async def _thin_raw(services: Services, now: datetime) -> int:
    """Delete the oldest raw documents of feeds that have more than their quota; how many (D40)."""
    most = services.config.quota.raw_bytes
    found = await services.store.blobs_over_quota(most) if most else ()
    await services.store.delete_blobs(sorted({sha256 for _, sha256, _ in found}))
    for feed_id in dict.fromkeys(feed_id for feed_id, _, _ in found):
        lengths = [length for owner, _, length in found if owner == feed_id]
        event = event_of_quota(
            feed_id, "raw-bytes", now=now, deleted=len(lengths), bytes=sum(lengths)
        )
        await services.store.tell_quota(event)
    return len(found)


async def pack_raw(store: RawIndex, blobs: Blobs, pack_bytes: int) -> int:
    """Re-encode sealed segments together, each body leaning on its feed's previous one.

    A crash at any point loses nothing: the new segment is durable before the index
    moves, and the old ones go in a later sweep. The number of bodies that moved.
    """
    waiting = [one for one in await blobs.segments() if one.sealed and not one.packed]
    if sum(one.size_bytes for one in waiting) < pack_bytes:
        return 0
    moved = 0
    while waiting:
        batch = _batch(waiting, pack_bytes * 4)
        waiting = waiting[len(batch) :]
        chains = await store.blob_chains([one.name for one in batch])
        refs = await blobs.reencode(chains)
        await store.move_blobs(refs)
        moved += len(refs)
        bodies = frozenset(ref.sha256 for ref in refs)
        for name in dict.fromkeys(ref.segment for ref, _ in chains):
            if not await store.blobs(segment=name):
                # Now, while it is known which bodies took their notes along.
                await _carry_notes(name, store, blobs, bodies)
                if await blobs.sweep(name, ()) == "dropped":
                    await store.forget_released([name])
    return moved


async def sweep_raw(store: RawIndex, blobs: Blobs, *, before: datetime | None = None) -> int:
    """Sweep segments that this store has emptied; the number that went.

    That nothing points into a segment is no reason: the index may be another one, or an older backup of
    this one. Its pointers were removed here, or all of its bodies are indexed elsewhere. What this store has
    written `before` and does not know, a crash or a restored backup made it forget: it is indexed again.
    """
    if not (await check_raw_owner(store, blobs)).is_ours:
        return 0
    released, gone = await store.released_segments(), []
    segments = await blobs.segments()
    there = frozenset(one.name for one in segments)
    for segment in segments:
        live = await store.blobs(segment=segment.name)
        if not live and segment.sealed:
            unknown = segment.name not in released
            if unknown and not await holds_only_known(segment.name, there, store, blobs):
                await _adopt_own(segment, store, blobs, before)
                continue
            if segment.condemned_at is None:
                await _carry_notes(segment.name, store, blobs)
        if await blobs.sweep(segment.name, live) == "dropped":
            gone.append(segment.name)
    await store.forget_released(gone)
    return len(gone)


async def _adopt_own(
    segment: Segment, store: RawIndex, blobs: Blobs, before: datetime | None
) -> None:
    """Index a segment again that this store has written itself, and has forgotten."""
    if before is None or segment.created_at is None or segment.created_at >= before:
        return
    with suppress(BlobError):  # verify tells about it
        notes = [decode_note(one.note) for one in await blobs.notes(segment.name)]
        refs = await blobs.contents(segment.name, checked=True)
        own = await store.store_id()
        if len(notes) >= len(refs) and all(note and note.store_id == own for note in notes):
            await store.adopt_blobs(refs, now=before)


async def _carry_notes(
    segment: str, store: RawIndex, blobs: Blobs, moved: frozenset[str] = frozenset()
) -> None:
    """Write the notes about bodies of other segments again, before this segment goes.

    Some stand without a body. Others stand with one that another process kept at the same moment, and that the
    index has there.
    """
    with suppress(BlobError):
        notes = await blobs.notes(segment, moved=moved)
        known = await store.known_blobs(sorted({one.sha256 for one in notes}))
        for one in notes:
            if one.sha256 in known:
                await blobs.annotate(one.sha256, one.note)


def _batch(waiting: list[Segment], max_bytes: int) -> list[Segment]:
    """The first segments that together stay under the limit; one at least."""
    batch, size = waiting[:1], waiting[0].size_bytes
    for segment in waiting[1:]:
        size += segment.size_bytes
        if size > max_bytes:
            break
        batch.append(segment)
    return batch


async def run_maintenance(services: Services, lifecycle: Lifecycle) -> None:
    """Purge once an hour while a run works, in one of the processes that share the store; index what search lacks, once.

    The process that purges holds a lease until the next purge is due; if it dies, another takes over then. After a clock
    that jumped ahead the purge waits an hour, and longer where publishers' answers show that it is wrong: by a wrong clock
    everything would be too old.
    """
    ahead = clock_ahead_sec(services.clock)
    await lifecycle.sleep_unless_stopping(_EVERY_SEC / 4)
    backoff, is_indexed = Backoff("purge", lifecycle), False
    while not lifecycle.is_stopping():
        wait_sec, before, ahead = _EVERY_SEC / 4, ahead, clock_ahead_sec(services.clock)
        if ahead - before > _CLOCK_JUMP_SEC:
            words = "the clock jumped ahead: nothing is purged for an hour, in case it is set back"
            log.logger("purge").warning(words, days=round((ahead - before) / 86_400))
            await lifecycle.sleep_unless_stopping(_EVERY_SEC)
            continue
        try:
            if await lifecycle.unless_stopping(
                _is_our_turn(services.store, services.clock, lifecycle), _GRACE_SEC
            ):
                await lifecycle.unless_stopping(_purge_by_right_clock(services), _GRACE_SEC)
                if services.config.search.enabled and not is_indexed:
                    missing = reindex(services.store, missing=True)
                    await lifecycle.unless_stopping(missing, _GRACE_SEC)
                    is_indexed = True  # from now on every commit keeps it so
                wait_sec = _EVERY_SEC
        except TimeoutError:
            await _end_lease(services.store, lifecycle)
            return
        except FeedmillError as problem:
            backoff.failed(problem)
            await backoff.wait()
            continue
        backoff.succeeded()
        await lifecycle.sleep_unless_stopping(wait_sec)


async def _purge_by_right_clock(services: Services) -> None:
    try:
        await check_clock(services.store, services.clock.now())
    except ConflictError as problem:
        log.logger("purge").warning(str(problem), reason=problem.reason)
    else:
        await purge(services)


async def _is_our_turn(store: LeaseStore, clock: Clock, lifecycle: Lifecycle) -> bool:
    now = clock.now()
    until = now + timedelta(seconds=_EVERY_SEC)
    return await store.take_lease(MAINTENANCE_LEASE, lifecycle.owner, now=now, until=until)


async def _end_lease(store: LeaseStore, lifecycle: Lifecycle) -> None:
    """Let another process purge: ours was under way when the run had to end."""
    with suppress(FeedmillError, TimeoutError):
        async with asyncio.timeout(_GRACE_SEC):
            await store.release_lease(MAINTENANCE_LEASE, lifecycle.owner)


async def verify_integrity(
    store: CheckedStore,
    blobs: Blobs,
    *,
    before: datetime | None = None,
    on_rows: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Read every row of the store, then every raw document, and hash it; list what is wrong.

    Segments made `before` that no index knows are a problem; without it, none is old enough.
    """
    checked = await check_store(store, on_rows=on_rows)
    problems = [*checked.problems]
    raw: dict[str, Any] = {
        "documents": 0,
        "orphans": 0,
        "unindexed_segments": [],
        "problems": [],
        "is_damaged": False,
    }
    raw = await unless_damaged(_verify_raw(store, blobs, before), raw, problems)
    repair = [REPAIR] if problems else []
    repair += [REPAIR_RAW] if raw.pop("is_damaged") else []
    return {
        "rows": checked.rows,
        **raw,
        "problems": problems + raw["problems"],
        "repair": "; ".join(repair) or None,
    }


async def _verify_raw(store: RawIndex, blobs: Blobs, before: datetime | None) -> dict[str, Any]:
    refs = await store.blobs()
    found = await blobs.verify(refs)
    # A process that dies between keeping a body and committing its fetch leaves an orphan. It
    # is harmless and goes when its segment is rewritten, so it is counted and no problem.
    harm = [problem for problem in found if problem.fault != "orphan"]
    problems = _sentences(harm)
    owner = await check_raw_owner(store, blobs)
    if not owner.is_ours:
        problems.append(describe_owner(owner))
    lost = await unindexed_segments(store, blobs, before=before) if before else ()
    if lost:
        problems.append(describe_unindexed(lost))
    return {
        "documents": len(refs),
        "orphans": len(found) - len(harm),
        "unindexed_segments": [one.name for one in lost],
        "problems": problems,
        "is_damaged": any(problem.fault in ("missing", "damaged") for problem in harm),
    }


async def verify_media(store: MediaStore, files: MediaFiles) -> dict[str, Any]:
    """Read every file of entries and hash it; list what is wrong."""
    problems: list[str] = []
    number, after = 0, ""
    while found := await store.media_files(after=after):
        for one in found:
            fault = await files.verify(one.sha256)
            if fault is not None:
                problems.append(f"media file {one.sha256[:12]}… is {fault}")
        number += len(found)
        after = found[-1].sha256
    return {"media_files": number, "problems": problems}


def _sentences(harm: Sequence[BlobProblem]) -> list[str]:
    """One sentence for each segment and fault: a segment that is gone takes all its documents along."""
    alike: dict[tuple[str, str], list[BlobProblem]] = {}
    for problem in harm:
        alike.setdefault((problem.segment, problem.fault), []).append(problem)
    return [
        f"segment {segment} is {fault}: {_detail(problems)}"
        for (segment, fault), problems in alike.items()
    ]


def _detail(problems: Sequence[BlobProblem]) -> str:
    first = problems[0]
    if first.sha256 is None:
        return first.detail
    rest = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"document {first.sha256[:12]}…{rest} ({first.detail})"
