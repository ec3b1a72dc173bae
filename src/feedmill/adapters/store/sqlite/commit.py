"""One refresh as rows: all of it or nothing, once per run, and only by who holds the lane."""
# Tested in tests/contracts/store/

import sqlite3
from typing import Any, Final

from feedmill.adapters.store.sqlite import claims, event_log
from feedmill.adapters.store.sqlite.run_query import QueryRunner
from feedmill.adapters.store.tables.changes import (
    PendingDocument,
    committed,
    pending_document,
    remaining_events,
    write_beside,
    write_changes,
)
from feedmill.adapters.store.tables.codec import (
    NOTED_COLUMNS,
    STATE_COLUMNS,
    Row,
    blob_row,
    is_noted_only,
    json_text,
    micros,
    noted_row,
    state_row,
)
from feedmill.adapters.store.tables.lanes import ReleasedLane, reschedule
from feedmill.adapters.store.tables.running import figures
from feedmill.adapters.store.tables.running.figures import TotalsWriter
from feedmill.adapters.store.tables.running.jobs import advance_job
from feedmill.adapters.store.tables.subscriptions import fetches
from feedmill.adapters.store.tables.subscriptions.feeds import add_aliases, relocate
from feedmill.adapters.store.tables.subscriptions.fetches import (
    append_times,
    arrivals_text,
    decision_text,
)
from feedmill.fetch.figures import SUCCESSFUL_OUTCOMES, poll_values
from feedmill.model.feed import FetchRecord
from feedmill.model.identity import digests_text
from feedmill.model.refresh import Committed, Refresh
from feedmill.model.schedule import Decision

_LOOK: Final = """
SELECT f.feed_no, f.confirmations, coalesce(f.confirmed_at, 0),
       (SELECT epoch FROM lanes WHERE lane_id = ?),
       EXISTS (SELECT 1 FROM fetches x WHERE x.feed_no = f.feed_no AND x.scheduled_at = ?),
       f.request_block, f.response_block,
       (SELECT block FROM header_blocks WHERE block_id = f.request_block),
       (SELECT block FROM header_blocks WHERE block_id = f.response_block),
       f.arrivals_block, (SELECT block FROM header_blocks WHERE block_id = f.arrivals_block)
  FROM feeds f WHERE f.id = ?"""
_INSERT_FETCH: Final = (
    "INSERT INTO fetches (fetch_no, feed_no, request_block, response_block, arrivals_block, decision,"
    f" {', '.join(fetches.FETCH_COLUMNS)}) SELECT 1 + max(last_removed, (SELECT coalesce(max(fetch_no), 0)"
    f" FROM fetches)), {', '.join('?' * (len(fetches.FETCH_COLUMNS) + 5))} FROM fetch_numbers"
)
_UPDATE_FEED: Final = (
    f"UPDATE feeds SET {', '.join(f'{name} = ?' for name in STATE_COLUMNS)},"
    " confirmations = ?, confirmed_at = ? WHERE feed_no = ?"
)
_NOTE_POLL: Final = (
    f"UPDATE feeds SET {', '.join(f'{name} = ?' for name in NOTED_COLUMNS)},"
    " confirmations = ?, confirmed_at = ? WHERE feed_no = ?"
)
# SQLite writes an index again when a statement names its column, whatever the value: a poll that
# read no document leaves the title alone, and with it a page.
_TITLE_AT: Final = STATE_COLUMNS.index("title")
_UPDATE_UNREAD: Final = _UPDATE_FEED.replace(" title = ?,", "", 1)
_SET_NEXT_RUN: Final = "UPDATE feed_sched SET next_run_at = ? WHERE feed_no = ?"
# The figures of the poll join those of the day in the statement that sets the next run.
_COUNT: Final = (
    f"UPDATE feed_sched SET next_run_at = ?, {figures.assignments(lambda _: '?', greatest='max')}"
    " WHERE feed_no = ? AND today = ?"
)
_KEEP_DAY: Final = figures.keep_day("feed_no = ?", greatest="max")
_RESUME_DAY: Final = figures.resume_day("WHERE feed_no = ? AND day = ?")
_BEGIN_DAY: Final = (
    "UPDATE feed_sched SET next_run_at = ?,"
    f" {', '.join(f'today_{name} = ?' for name in figures.COLUMNS)}, today = ? WHERE feed_no = ?"
)
_COUNT_FAILURE: Final = figures.count_failures("VALUES (?, ?, ?, ?, ?)")
_FENCED: Final = Committed(fenced=True)
_DUPLICATE: Final = Committed(duplicate=True)


def commit(
    connection: sqlite3.Connection,
    refresh: Refresh,
    queries: QueryRunner,
    totals: TotalsWriter,
    *,
    searchable: bool = True,
) -> Committed:
    """Write what a refresh decided, unless the lane was lost or the run is known.

    A feed that was removed meanwhile counts as lost: nothing is written for it.
    """
    lane, fetch = refresh.lane, refresh.fetch
    found = connection.execute(
        _LOOK, (None if lane is None else lane.id, micros(fetch.scheduled_at), refresh.feed.id)
    ).fetchone()
    if found is None or (lane is not None and found[3] != lane.epoch):
        return _FENCED
    if found[4]:
        return _DUPLICATE
    if refresh.job is not None and not queries.run(
        connection, advance_job(refresh.job, fetch.fetched_at)
    ):
        return _FENCED
    is_poll = refresh.decision is not None and not refresh.entries_only
    values = poll_values(fetch, refresh.feed.schedule) if is_poll else None
    done = _write(connection, refresh, found, queries, values, searchable=searchable)
    if lane is not None and refresh.release is not None:
        claims.release(connection, ReleasedLane(lane, refresh.release))
    if values is not None:
        totals.add(fetch, values)  # at last: a job that fails counts for nothing
    return done


def _write(
    connection: sqlite3.Connection,
    refresh: Refresh,
    found: tuple[Any, ...],
    queries: QueryRunner,
    values: Row | None,
    *,
    searchable: bool,
) -> Committed:
    feed_no, confirmations, confirmed_at = found[:3]
    feed, fetch, blocks = refresh.feed, refresh.fetch, fetches.Blocks(*found[5:])
    _insert_fetch(connection, feed_no, fetch, refresh.decision, blocks)
    document = pending_document(refresh, feed_no, confirmations, confirmed_at)
    if refresh.changes is not None:
        changes = write_changes([document], searchable=searchable, digests_text=digests_text)
        queries.run(connection, changes)
    if not refresh.entries_only:
        _update_feed(connection, refresh, document)
        if feed.url != fetch.url:
            queries.run(connection, relocate(feed_no, feed.url))
        if refresh.lane is None:
            queries.run(connection, reschedule(feed_no, feed.next_poll_at))
        if values is not None:
            _count(connection, feed_no, refresh, values)
        elif refresh.lane is not None:
            connection.execute(_SET_NEXT_RUN, (micros(feed.next_poll_at), feed_no))
    if refresh.arrived:
        queries.run(connection, append_times(feed_no, refresh.arrived))
    queries.run(connection, write_beside(feed_no, refresh))
    if refresh.aliases:
        queries.run(connection, add_aliases(feed_no, refresh.aliases))
    if refresh.blob is not None:
        row = blob_row(refresh.blob)
        connection.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    events = remaining_events(refresh, document)
    if not events:
        return committed(document)
    last_seq = event_log.append_events(connection, events, f"fetch/{fetch.fetch_id}")
    return committed(document, last_seq)


def _count(connection: sqlite3.Connection, feed_no: int, refresh: Refresh, values: Row) -> None:
    """Set the next run, and count the poll for its day; the first of another day keeps the day before."""
    fetch, next_run_at = refresh.fetch, micros(refresh.feed.next_poll_at)
    day = figures.day_of(fetch.fetched_at)
    counted = connection.execute(_COUNT, (next_run_at, *values, feed_no, day))
    if counted.rowcount == 0:
        connection.execute(_KEEP_DAY, (feed_no,))
        kept = connection.execute(_RESUME_DAY, (feed_no, day)).fetchone()
        values = values if kept is None else figures.resumed(kept, values)
        connection.execute(_BEGIN_DAY, (next_run_at, *values, day, feed_no))
    if fetch.outcome not in SUCCESSFUL_OUTCOMES:
        connection.execute(_COUNT_FAILURE, figures.failure_row(day, feed_no, fetch))


def _insert_fetch(
    connection: sqlite3.Connection,
    feed_no: int,
    fetch: FetchRecord,
    decision: Decision | None,
    blocks: fetches.Blocks,
) -> None:
    """Write the row, with what was decided after it; `blocks` are brought up to date."""
    request, response = fetches.request_of(fetch), fetches.response_of(fetch)
    asked, answered = (
        fetches.difference(blocks.request, request),
        fetches.difference(blocks.response, response),
    )
    if asked is None:
        blocks.request_id = _keep_block(connection, feed_no, "request", json_text(request))
    if answered is None:
        blocks.response_id = _keep_block(connection, feed_no, "response", json_text(response))
    arrivals = arrivals_text(decision)
    if arrivals is not None and arrivals != blocks.arrivals:
        blocks.arrivals_id = _keep_block(connection, feed_no, "arrivals", arrivals)
    connection.execute(
        _INSERT_FETCH,
        (
            feed_no,
            blocks.request_id,
            blocks.response_id,
            None if arrivals is None else blocks.arrivals_id,
            None
            if decision is None
            else decision_text(decision, fetch.fetched_at, with_arrivals=False),
            *fetches.fetch_row(fetch, asked, answered),
        ),
    )


def _keep_block(connection: sqlite3.Connection, feed_no: int, which: str, text: str) -> int:
    """Write a block and let the feed's next fetches be compared with it."""
    statement = "INSERT INTO header_blocks (feed_no, block) VALUES (?, ?)"
    block_id = connection.execute(statement, (feed_no, text)).lastrowid or 0
    connection.execute(f"UPDATE feeds SET {which}_block = ? WHERE feed_no = ?", (block_id, feed_no))
    return block_id


def _update_feed(
    connection: sqlite3.Connection, refresh: Refresh, document: PendingDocument
) -> None:
    """The state of the feed; a 304 or a whole document confirms every entry in it by this row."""
    confirmed_at = document.seen_at if document.whole else document.before_at
    about = (document.confirmation, confirmed_at, document.feed_no)
    before, after = refresh.before, refresh.feed
    if refresh.changes is None and before is not None and is_noted_only(before, after):
        connection.execute(_NOTE_POLL, (*noted_row(after), *about))
        return
    state = state_row(after)
    if refresh.changes is None and refresh.lane is not None:
        unread = state[:_TITLE_AT] + state[_TITLE_AT + 1 :]
        connection.execute(_UPDATE_UNREAD, (*unread, *about))
    else:
        connection.execute(_UPDATE_FEED, (*state, *about))
