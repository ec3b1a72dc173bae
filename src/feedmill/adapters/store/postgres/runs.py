"""The runs of a group: one fetch per feed and scheduled moment, and those that are there already.

Headers are kept as on SQLite: a fetch names the block that it resembles and the values that differ.
Most groups bring no new block, and are one statement here.
"""

# ruff: noqa: S608  # names come from the lists below and beside; values are parameters

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from feedmill.adapters.store.postgres.change_batches import Document
from feedmill.adapters.store.postgres.pool import Connection
from feedmill.adapters.store.postgres.unnest import columns_of, rows_of, write_rows
from feedmill.adapters.store.tables.codec import Row, json_text
from feedmill.adapters.store.tables.decision_codec import decision_text
from feedmill.adapters.store.tables.fetch_codec import (
    FETCH_COLUMNS,
    Blocks,
    difference,
    fetch_row,
    request_of,
    response_of,
)
from feedmill.model.refresh import Refresh

_KEEP_BLOCKS: Final = (
    f"INSERT INTO header_blocks (feed_no, block) SELECT * FROM {rows_of(('feed_no', 'block'))}"
    " RETURNING feed_no, block, block_id"
)
_RUN_COLUMNS: Final = ("feed_no", "request_block", "response_block", "decision", *FETCH_COLUMNS)
_KEEP_RUNS: Final = (
    f"INSERT INTO fetches ({', '.join(_RUN_COLUMNS)}) SELECT * FROM {rows_of(_RUN_COLUMNS)}"
    " ON CONFLICT (feed_no, scheduled_at) DO NOTHING RETURNING feed_no"
)
_BLOCK_COLUMNS: Final = ("request_block", "request_headers", "response_block", "response_headers")
_KEEP_LAST_BLOCKS: Final = (
    f"UPDATE feeds f SET {', '.join(f'{name} = n.{name}' for name in _BLOCK_COLUMNS)}"
    f" FROM {rows_of(('feed_no', *_BLOCK_COLUMNS))} WHERE f.feed_no = n.feed_no"
)


class Writing(msgspec.Struct):
    """A refresh whose feed is locked, on its way into the database."""

    refresh: Refresh
    feed_no: int
    confirmations: int
    confirmed_at: int
    blocks: Blocks
    document: Document | None = None


async def keep_runs(connection: Connection, writings: Sequence[Writing]) -> Collection[int]:
    """Write the fetches; the feeds whose run was not there yet (D26)."""
    if not writings:
        return ()
    deltas = [_compare(one) for one in writings]
    strange = [(one, *delta) for one, delta in zip(writings, deltas, strict=True) if None in delta]
    if strange:
        await _keep_blocks(connection, strange)
    rows = [_run_row(one, *delta) for one, delta in zip(writings, deltas, strict=True)]
    ran = {row[0] for row in await connection.fetch(_KEEP_RUNS, *columns_of(rows))}
    news = [_block_row(one) for one, *_ in strange if one.feed_no in ran]
    await write_rows(connection, _KEEP_LAST_BLOCKS, news)
    return ran


def _compare(writing: Writing) -> tuple[str | None, str | None]:
    """How the headers differ from those of the fetch before; None: too much."""
    blocks, fetch = writing.blocks, writing.refresh.fetch
    request = difference(blocks.request, request_of(fetch))
    return request, difference(blocks.response, response_of(fetch))


async def _keep_blocks(
    connection: Connection, strange: Sequence[tuple[Writing, str | None, str | None]]
) -> None:
    """Write the blocks that later fetches are compared with."""
    rows: list[tuple[int, str]] = []
    for one, asked, answered in strange:
        if asked is None:
            one.blocks.request = json_text(request_of(one.refresh.fetch))
            rows.append((one.feed_no, one.blocks.request))
        if answered is None:
            one.blocks.response = json_text(response_of(one.refresh.fetch))
            rows.append((one.feed_no, one.blocks.response))
    made = await connection.fetch(_KEEP_BLOCKS, *columns_of(rows))
    ids = {(feed_no, block): block_id for feed_no, block, block_id in made}
    for one, asked, answered in strange:
        if asked is None:
            one.blocks.request_id = ids[one.feed_no, one.blocks.request]
        if answered is None:
            one.blocks.response_id = ids[one.feed_no, one.blocks.response]


def _run_row(writing: Writing, asked: str | None, answered: str | None) -> Row:
    blocks, decision = writing.blocks, writing.refresh.decision
    return (
        writing.feed_no,
        blocks.request_id,
        blocks.response_id,
        None if decision is None else decision_text(decision),
        *fetch_row(writing.refresh.fetch, asked, answered),
    )


def _block_row(writing: Writing) -> Row:
    blocks = writing.blocks
    pairs = (blocks.request_id, blocks.request, blocks.response_id, blocks.response)
    return (writing.feed_no, *pairs)
