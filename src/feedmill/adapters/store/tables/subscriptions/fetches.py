"""Table `fetches` and its view `schedule_decisions`: requests, and the decisions after them.

A row is compact: most fetches are 304s, and they are the volume of the whole store. Headers repeat from
one fetch of a feed to the next, save a Date or an Age. A block of headers is kept once; a fetch names
the block that it resembles and the values that differ, so that nothing is lost and a 304 costs some
forty bytes of headers. The URL asked for and the final URL lead the blocks like two more header fields.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from feedmill.adapters.store.statements import Query, one_of, rows, write
from feedmill.adapters.store.tables.codec import NEVER, Column, Row, RowCodec
from feedmill.adapters.store.tables.paging import page_of, position
from feedmill.adapters.store.tables.subscriptions.decision_codec import decision_of
from feedmill.model.feed import FetchRecord
from feedmill.model.fetch import Headers
from feedmill.model.page import Page
from feedmill.model.schedule import Decision

_FETCH: Final = RowCodec(
    FetchRecord,
    "fetch_id scheduled_at fetched_at outcome http_status elapsed_ms detail hops body_sha256 content_type"
    " content_length wire_length entries_seen entries_new entries_updated repairs truncated trace_id interval_sec"
    " saved_bytes retries",
    *("feed_id", "url", "final_url", "request_headers", "response_headers"),
    table="fetches",
    detail=Column(empty=""),
)
_fetch_row: Final = _FETCH.writer()
FETCH_COLUMNS: Final = (*_FETCH.columns, "request_delta", "response_delta")

FETCH_SELECT: Final = (
    f"SELECT f.id, q.block, r.block, {', '.join(f'x.{name}' for name in FETCH_COLUMNS)}"
    " FROM fetches x JOIN feeds f ON f.feed_no = x.feed_no"
    " JOIN header_blocks q ON q.block_id = x.request_block"
    " JOIN header_blocks r ON r.block_id = x.response_block"
)

# A block `h` that no fetch needs any more.
UNUSED_BLOCK: Final = (
    " NOT EXISTS (SELECT 1 FROM feeds f WHERE f.feed_no = h.feed_no"
    " AND h.block_id IN (f.request_block, f.response_block, f.arrivals_block))"
    " AND NOT EXISTS (SELECT 1 FROM fetches x WHERE x.feed_no = h.feed_no"
    " AND h.block_id IN (x.request_block, x.response_block, x.arrivals_block))"
)
_FEED_NO: Final = "(SELECT feed_no FROM feeds WHERE id = $1)"
_PAGE: Final = (
    f"{FETCH_SELECT.replace('SELECT ', 'SELECT x.scheduled_at, ', 1)} WHERE x.feed_no = {_FEED_NO}"
    " AND x.scheduled_at < $2 ORDER BY x.scheduled_at DESC LIMIT $3"
)


_URL: Final = ":url"

_FINAL_URL: Final = ":final_url"

_encode: Final = msgspec.json.Encoder().encode

_block: Final = msgspec.json.Decoder(Headers).decode

_delta: Final = msgspec.json.Decoder(tuple[tuple[int, str], ...]).decode


def fetches(
    feed_id: str, *, after: str | None = None, limit: int = 100
) -> Query[Page[FetchRecord]]:
    """Fetches of a feed, the newest first."""
    (scheduled_at,) = position(after, 1) or (NEVER,)
    found = yield from rows(_PAGE, feed_id, scheduled_at, limit + 1)
    return page_of(found, limit, lambda one: fetch_of(one[1:]), lambda one: f"{one[0]}")


def fetch(fetch_id: str) -> Query[FetchRecord | None]:
    """The fetch of that id."""
    return one_of(fetch_of, f"{FETCH_SELECT} WHERE x.fetch_id = $1", fetch_id)


def thin_decisions(feed_ids: Sequence[str], keep: int) -> Query[int]:
    """Delete the decisions of these feeds but the last ones of each; how many went."""
    return write(
        "UPDATE fetches SET decision = NULL, arrivals_block = NULL WHERE decision IS NOT NULL AND feed_no IN"
        " (SELECT feed_no FROM feeds WHERE id @in($1)) AND scheduled_at <="
        " (SELECT d.scheduled_at FROM fetches d WHERE d.feed_no = fetches.feed_no"
        " AND d.decision IS NOT NULL ORDER BY d.scheduled_at DESC LIMIT 1 OFFSET $2)",
        list(feed_ids),
        keep,
    )


def decisions(feed_id: str, limit: int = 20) -> Query[tuple[Decision, ...]]:
    """Why the feed is polled as it is, the newest decision first (D23)."""
    found = yield from rows(
        "SELECT x.fetched_at, x.decision, h.block FROM fetches x"
        " LEFT JOIN header_blocks h ON h.block_id = x.arrivals_block"
        f" WHERE x.feed_no = {_FEED_NO} AND x.decision IS NOT NULL"
        " ORDER BY x.scheduled_at DESC LIMIT $2",
        feed_id,
        limit,
    )
    return tuple(decision_of(feed_id, *one) for one in found)


class Blocks(msgspec.Struct):
    """The header blocks of a feed's last fetch, for the next one to be compared with."""

    request_id: int | None
    response_id: int | None
    request: str | None
    response: str | None
    arrivals_id: int | None = None  # the last decision's arrivals (SQLite)
    arrivals: str | None = None


def request_of(fetch: FetchRecord) -> Headers:
    """What was sent, as a block keeps it."""
    return ((_URL, fetch.url), *fetch.request_headers)


def response_of(fetch: FetchRecord) -> Headers:
    """What came back, as a block keeps it."""
    return ((_FINAL_URL, fetch.final_url), *fetch.response_headers)


def difference(block: str | None, headers: Headers) -> str | None:
    """The values that differ from the block as JSON, empty for none; None for another block."""
    if block is None:
        return None
    if _encode(headers).decode() == block:
        return ""
    base = _block(block)
    if len(base) != len(headers):
        return None
    changed: list[tuple[int, str]] = []
    for at, (before, now) in enumerate(zip(base, headers, strict=True)):
        if before[0] != now[0]:
            return None
        if before[1] != now[1]:
            changed.append((at, now[1]))
    return _encode(changed).decode() if len(changed) * 2 <= len(headers) + 1 else None


def restored(block: str, delta: str | None) -> Headers:
    """The headers of a block with the values that differed."""
    headers = list(_block(block))
    for at, value in _delta(delta) if delta else ():
        headers[at] = (headers[at][0], value)
    return tuple(headers)


def fetch_of(row: Row) -> FetchRecord:
    """The fetch of a row of FETCH_SELECT."""
    feed_id, request_block, response_block, *own, request_delta, response_delta = row
    (_, url), *request = restored(request_block, request_delta)
    (_, final_url), *response = restored(response_block, response_delta)
    return _FETCH.value(own, feed_id, url, final_url, tuple(request), tuple(response))


def fetch_row(fetch: FetchRecord, request_delta: str | None, response_delta: str | None) -> Row:
    """The FETCH_COLUMNS of a fetch."""
    return (*_fetch_row(fetch), request_delta or None, response_delta or None)
