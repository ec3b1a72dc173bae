"""Commits refreshes: each of them all or nothing, once per run, and only under a lane that is held.

A group of refreshes is one transaction of a handful of statements, however large it is. Locks come
in one order, so that groups wait for each other and never in a circle: lanes, then feeds, each by
number, then everything that feeds share, by its hash. What is under the lock of its feed (entries,
the document, the schedule) needs no other.

A fetch names the block of headers that it resembles and the values that differ, as on SQLite. Most groups
bring no new block.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from feedmill.adapters.store.postgres import event_log
from feedmill.adapters.store.postgres.lanes import LaneSettings
from feedmill.adapters.store.postgres.parameters import quoted, to_columns, unnest_rows, write_rows
from feedmill.adapters.store.postgres.pool import PgConnection
from feedmill.adapters.store.postgres.run_query import QueryRunner
from feedmill.adapters.store.tables.changes import (
    PendingDocument,
    committed,
    pending_document,
    remaining_events,
    write_beside,
    write_changes,
)
from feedmill.adapters.store.tables.codec import (
    STATE_COLUMNS,
    Row,
    blob_row,
    digest,
    json_text,
    micros,
    state_row,
)
from feedmill.adapters.store.tables.lanes import reschedule
from feedmill.adapters.store.tables.running import figures
from feedmill.adapters.store.tables.running.figures import TotalsWriter
from feedmill.adapters.store.tables.running.jobs import advance_job, holds_job
from feedmill.adapters.store.tables.subscriptions import fetches
from feedmill.adapters.store.tables.subscriptions.feeds import relocate
from feedmill.adapters.store.tables.subscriptions.fetches import (
    FETCH_COLUMNS,
    Blocks,
    decision_text,
    difference,
    fetch_row,
    month_rows,
    request_of,
    response_of,
)
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES, poll_values
from feedmill.model.refresh import Committed, Refresh

# A lane that is only read may be read by others too, but not leased anew meanwhile. One that was given
# back has no owner: it waits until the runs that were known then, and would miss this one.
_HOLD_LANES: Final = (
    "SELECT lane_id, epoch FROM lanes WHERE lane_id = ANY($1::bigint[]) AND owner IS NOT NULL"
    " ORDER BY lane_id FOR SHARE"
)
# Outside the schedule the lane is not held, and the next run may make it due earlier.
_HOLD_LANES_TO_HASTEN: Final = """
SELECT lane_id, CASE WHEN owner IS NOT NULL THEN epoch END FROM lanes
 WHERE lane_id IN (SELECT unnest($1::bigint[]) UNION SELECT s.lane_id
                     FROM feeds f JOIN feed_sched s ON s.feed_no = f.feed_no
                    WHERE f.id = ANY($2::text[]))
 ORDER BY lane_id FOR NO KEY UPDATE"""
_HOLD_FEEDS: Final = """
SELECT f.id, f.feed_no, f.confirmations, coalesce(f.confirmed_at, 0), f.request_block, f.response_block,
       (SELECT block FROM header_blocks WHERE block_id = f.request_block),
       (SELECT block FROM header_blocks WHERE block_id = f.response_block)
  FROM feeds f WHERE f.id = ANY($1::text[]) ORDER BY f.feed_no FOR NO KEY UPDATE OF f"""
_CARRIED: Final = (*STATE_COLUMNS, "confirmations", "confirmed_at")
_UPDATE_FEED: Final = (
    f"UPDATE feeds f SET {', '.join(f'{name} = n.{name}' for name in _CARRIED)}"
    f" FROM {unnest_rows(('feed_no', *_CARRIED))} WHERE f.feed_no = n.feed_no"
)
_RESCHEDULE: Final = (
    "UPDATE feed_sched s SET next_run_at = n.next_run_at"
    f" FROM {unnest_rows(('feed_no', 'next_run_at'))} WHERE s.feed_no = n.feed_no"
)
# The figures of a poll join those of the day in the statement that sets the next run, and the totals of
# the hour are written with it.
_COUNT_COLUMNS: Final = ("feed_no", "next_run_at", "day", *figures.COLUMNS)
_COUNTED: Final = unnest_rows(_COUNT_COLUMNS)
_COUNT: Final = (
    f"WITH totals AS (INSERT INTO poll_totals ({', '.join(figures.TOTALS_COLUMNS)}) SELECT * FROM"
    f" {unnest_rows(figures.TOTALS_COLUMNS, first=len(_COUNT_COLUMNS) + 1)}"
    " ON CONFLICT (start, span_sec, writer) DO UPDATE SET totals = excluded.totals)"
    " UPDATE feed_sched s SET next_run_at = n.next_run_at,"
    f" {figures.assignments(lambda name: f'n.{name}', greatest='greatest', row='s.')}"
    f" FROM {_COUNTED} WHERE s.feed_no = n.feed_no AND s.today = n.day"
    " RETURNING s.feed_no"
)
_KEEP_DAYS: Final = figures.keep_day("feed_no = ANY($1::bigint[])", greatest="greatest")
_RESUME_DAYS: Final = figures.resume_day(
    f"USING {unnest_rows(('feed_no', 'day'))}"
    " WHERE feed_days.feed_no = n.feed_no AND feed_days.day = n.day"
)
_BEGIN_DAYS: Final = (
    "UPDATE feed_sched s SET next_run_at = n.next_run_at, today = n.day,"
    f" {', '.join(f'today_{name} = n.{name}' for name in figures.COLUMNS)}"
    f" FROM {_COUNTED} WHERE s.feed_no = n.feed_no"
)
_COUNT_FAILURES: Final = figures.count_failures(
    f"SELECT * FROM {unnest_rows(figures.FAILURE_COLUMNS)}"
)
_BLOB_COLUMNS: Final = (
    "sha256", "segment", "offset", "length", "coding", "raw_length", "prefix_sha256",
)  # fmt: skip
# A row that exists stays as it is, but is locked: retention does not delete the body before the feed
# points at it.
_KEEP_BLOBS: Final = (
    f"INSERT INTO blobs ({', '.join(map(quoted, _BLOB_COLUMNS))})"
    f" SELECT * FROM {unnest_rows(_BLOB_COLUMNS)}"
    " ON CONFLICT (sha256) DO UPDATE SET length = blobs.length WHERE false"
)
_KEEP_ALIASES: Final = (
    "INSERT INTO feed_aliases (url_hash, url, feed_no)"
    f" SELECT * FROM {unnest_rows(('url_hash', 'url', 'feed_no'))} ON CONFLICT DO NOTHING"
)
_KEEP_BLOCKS: Final = (
    f"INSERT INTO header_blocks (feed_no, block) SELECT * FROM {unnest_rows(('feed_no', 'block'))}"
    " RETURNING feed_no, block, block_id"
)
_RUN_COLUMNS: Final = ("feed_no", "request_block", "response_block", "decision", *FETCH_COLUMNS)
_KEEP_RUNS: Final = (
    f"INSERT INTO fetches ({', '.join(_RUN_COLUMNS)}) SELECT * FROM {unnest_rows(_RUN_COLUMNS)}"
    " ON CONFLICT (feed_no, scheduled_at) DO NOTHING RETURNING feed_no"
)
_BLOCK_COLUMNS: Final = ("request_block", "response_block")
_KEEP_LAST_BLOCKS: Final = (
    f"UPDATE feeds f SET {', '.join(f'{name} = n.{name}' for name in _BLOCK_COLUMNS)}"
    f" FROM {unnest_rows(('feed_no', *_BLOCK_COLUMNS))} WHERE f.feed_no = n.feed_no"
)
_KEEP_TIMES: Final = (
    f"INSERT INTO arrival_times ({', '.join(fetches.ARRIVAL_COLUMNS)})"
    f" SELECT * FROM {unnest_rows(fetches.ARRIVAL_COLUMNS)} {fetches.APPEND_ARRIVALS}"
)
_FENCED: Final = Committed(fenced=True)
_DUPLICATE: Final = Committed(duplicate=True)


class Writing(msgspec.Struct):
    """A refresh whose feed is locked, on its way into the database."""

    refresh: Refresh
    feed_no: int
    confirmations: int
    confirmed_at: int
    blocks: Blocks
    document: PendingDocument | None = None
    values: Row | None = None  # of the figures, when it was a poll


async def commit_group(
    connection: PgConnection,
    refreshes: Sequence[Refresh],
    pacing: LaneSettings,
    totals: TotalsWriter,
    *,
    searchable: bool = True,
) -> list[Committed]:
    """Write what refreshes of different feeds decided; what became of each.

    Nothing is written for one whose lane was lost or whose run is known. A feed that was removed
    meanwhile counts as lost.
    """
    totals.begin()
    writings = await _hold(connection, refreshes)
    queries = QueryRunner(pacing)
    writings = [one for one in writings if await _holds_job(connection, one.refresh, queries)]
    ran = await _insert_fetches(connection, writings)
    written = [one for one in writings if one.feed_no in ran]
    if written:
        for one in written:
            if one.values is not None:
                totals.add(one.refresh.fetch, one.values)
        await _write(connection, written, queries, totals.rows(), searchable=searchable)
    done = {
        one.refresh.feed.id: committed(one.document) if one.feed_no in ran else _DUPLICATE
        for one in writings
    }
    return [done.get(refresh.feed.id, _FENCED) for refresh in refreshes]


async def _hold(connection: PgConnection, refreshes: Sequence[Refresh]) -> list[Writing]:
    """Lock what is written: first the lanes, then the feeds of those who still have theirs."""
    epochs = await _hold_lanes(connection, refreshes)
    asked = [
        one for one in refreshes if one.lane is None or epochs.get(one.lane.id) == one.lane.epoch
    ]
    rows = await connection.fetch(_HOLD_FEEDS, [one.feed.id for one in asked]) if asked else ()
    by_id = {row[0]: row for row in rows}
    return [
        Writing(one, row[1], row[2], row[3], Blocks(*row[4:8]), values=_values(one))
        for one in asked
        if (row := by_id.get(one.feed.id)) is not None
    ]


def _values(refresh: Refresh) -> Row | None:
    """The figures of a poll; what was inserted outside the schedule has none."""
    if refresh.decision is None or refresh.entries_only:
        return None
    return poll_values(refresh.fetch, refresh.feed.schedule)


async def _hold_lanes(
    connection: PgConnection, refreshes: Sequence[Refresh]
) -> Mapping[int, int | None]:
    """The epochs of the lanes, which cannot change before the end of the transaction."""
    lanes = [one.lane.id for one in refreshes if one.lane is not None]
    free = [one.feed.id for one in refreshes if one.lane is None and not one.entries_only]
    if free:
        rows = await connection.fetch(_HOLD_LANES_TO_HASTEN, lanes, free)
    else:
        rows = await connection.fetch(_HOLD_LANES, lanes) if lanes else []
    return {row[0]: row[1] for row in rows}


async def _holds_job(connection: PgConnection, refresh: Refresh, queries: QueryRunner) -> bool:
    """Lock the job that made the refresh; False when it was lost or cancelled."""
    return refresh.job is None or await queries.run(connection, holds_job(refresh.job))


async def _insert_fetches(connection: PgConnection, writings: Sequence[Writing]) -> Collection[int]:
    """Write the fetches; the feeds whose run was not there yet (D26)."""
    if not writings:
        return ()
    deltas = [_compare(one) for one in writings]
    changed = [(one, *delta) for one, delta in zip(writings, deltas, strict=True) if None in delta]
    if changed:
        await _keep_blocks(connection, changed)
    rows = [_run_row(one, *delta) for one, delta in zip(writings, deltas, strict=True)]
    ran = {row[0] for row in await connection.fetch(_KEEP_RUNS, *to_columns(rows))}
    news = [_block_row(one) for one, *_ in changed if one.feed_no in ran]
    await write_rows(connection, _KEEP_LAST_BLOCKS, news)
    return ran


def _compare(writing: Writing) -> tuple[str | None, str | None]:
    """How the headers differ from those of the fetch before; None: too much."""
    blocks, fetch = writing.blocks, writing.refresh.fetch
    request = difference(blocks.request, request_of(fetch))
    return request, difference(blocks.response, response_of(fetch))


async def _keep_blocks(
    connection: PgConnection, changed: Sequence[tuple[Writing, str | None, str | None]]
) -> None:
    """Write the blocks that later fetches are compared with."""
    rows: list[tuple[int, str]] = []
    for one, asked, answered in changed:
        if asked is None:
            one.blocks.request = json_text(request_of(one.refresh.fetch))
            rows.append((one.feed_no, one.blocks.request))
        if answered is None:
            one.blocks.response = json_text(response_of(one.refresh.fetch))
            rows.append((one.feed_no, one.blocks.response))
    made = await connection.fetch(_KEEP_BLOCKS, *to_columns(rows))
    ids = {(feed_no, block): block_id for feed_no, block, block_id in made}
    for one, asked, answered in changed:
        if asked is None:
            one.blocks.request_id = ids[one.feed_no, one.blocks.request]
        if answered is None:
            one.blocks.response_id = ids[one.feed_no, one.blocks.response]


def _run_row(writing: Writing, asked: str | None, answered: str | None) -> Row:
    blocks, decision, fetch = writing.blocks, writing.refresh.decision, writing.refresh.fetch
    return (
        writing.feed_no,
        blocks.request_id,
        blocks.response_id,
        None if decision is None else decision_text(decision, fetch.fetched_at),
        *fetch_row(fetch, asked, answered),
    )


def _block_row(writing: Writing) -> Row:
    return (writing.feed_no, writing.blocks.request_id, writing.blocks.response_id)


async def _write(
    connection: PgConnection,
    written: Sequence[Writing],
    queries: QueryRunner,
    totals: Sequence[Row],
    *,
    searchable: bool,
) -> None:
    """Everything but the fetches, for the runs that were not there yet."""
    polled = [one for one in written if not one.refresh.entries_only]
    await write_rows(connection, _UPDATE_FEED, [_feed_row(one) for one in polled])
    await _reschedule(connection, polled, queries, totals)
    documents = [document for one in written if (document := _open_document(one)) is not None]
    if documents:
        await queries.run(connection, write_changes(documents, searchable=searchable))
    for one in written:
        if one.refresh.job is not None:
            at = one.refresh.fetch.fetched_at
            await queries.run(connection, advance_job(one.refresh.job, at))
        await queries.run(connection, write_beside(one.feed_no, one.refresh))
    times = [row for one in written for row in month_rows(one.feed_no, one.refresh.arrived)]
    await write_rows(connection, _KEEP_TIMES, times)
    aliases = [(digest(url), url, one.feed_no) for one in written for url in one.refresh.aliases]
    await write_rows(connection, _KEEP_ALIASES, sorted(aliases, key=_first))
    blobs = [one.refresh.blob for one in reversed(written) if one.refresh.blob is not None]
    rows = {blob.sha256: blob_row(blob) for blob in blobs}  # of equals the first
    await write_rows(connection, _KEEP_BLOBS, sorted(rows.values(), key=_first))
    batches = [
        (remaining_events(one.refresh, one.document), f"fetch/{one.refresh.fetch.fetch_id}")
        for one in written
    ]
    await event_log.append_all(connection, batches)


def _first(row: Row) -> Any:  # noqa: ANN401  # a hash, as text or bytes
    """What rows are sorted by; among equals the first to come stays first, and is kept."""
    return row[0]


def _feed_row(writing: Writing) -> Row:
    """The state of the feed; a 304 or a whole document confirms every entry in it by this row."""
    refresh, seen = writing.refresh, writing.confirmations
    whole = refresh.in_document
    confirmed_at = micros(refresh.fetch.fetched_at) if whole else writing.confirmed_at
    return (writing.feed_no, *state_row(refresh.feed), seen + whole, confirmed_at)


async def _reschedule(
    connection: PgConnection,
    polled: Sequence[Writing],
    queries: QueryRunner,
    totals: Sequence[Row],
) -> None:
    """Write the next runs; a feed that moved is due in its new lane."""
    leased = [
        (one.feed_no, micros(one.refresh.feed.next_poll_at))
        for one in polled
        if one.refresh.lane is not None and one.values is None
    ]
    await write_rows(connection, _RESCHEDULE, leased)
    await _count(connection, polled, totals)
    for one in polled:
        feed = one.refresh.feed
        if feed.url != one.refresh.fetch.url:
            await queries.run(connection, relocate(one.feed_no, feed.url))
        if one.refresh.lane is None:
            await queries.run(connection, reschedule(one.feed_no, feed.next_poll_at))


async def _count(
    connection: PgConnection, polled: Sequence[Writing], totals: Sequence[Row]
) -> None:
    """Set the next runs, and count the polls; the first of another day keeps the day before."""
    rows = {
        one.feed_no: (
            one.feed_no,
            micros(one.refresh.feed.next_poll_at),
            figures.day_of(one.refresh.fetch.fetched_at),
            *one.values,
        )
        for one in polled
        if one.values is not None
    }
    if not rows:
        return
    counted = await connection.fetch(_COUNT, *to_columns(list(rows.values())), *to_columns(totals))
    begun = rows.keys() - {row[0] for row in counted}
    if begun:
        await connection.execute(_KEEP_DAYS, sorted(begun))
        begins = [(feed_no, rows[feed_no][2]) for feed_no in sorted(begun)]
        for kept in await connection.fetch(_RESUME_DAYS, *to_columns(begins)):
            feed_no, next_run_at, day, *values = rows[kept[0]]
            rows[feed_no] = (feed_no, next_run_at, day, *figures.resumed(tuple(kept), values))
        await write_rows(connection, _BEGIN_DAYS, [rows[feed_no] for feed_no in sorted(begun)])
    failed = [
        figures.failure_row(figures.day_of(fetch.fetched_at), one.feed_no, fetch)
        for one in polled
        if one.values is not None
        and (fetch := one.refresh.fetch).outcome not in SUCCESSFUL_OUTCOMES
    ]
    await write_rows(connection, _COUNT_FAILURES, sorted(failed))


def _open_document(writing: Writing) -> PendingDocument | None:
    """The document that was read, if one was."""
    refresh = writing.refresh
    if refresh.changes is None:
        return None
    writing.document = pending_document(
        refresh, writing.feed_no, writing.confirmations, writing.confirmed_at
    )
    return writing.document
