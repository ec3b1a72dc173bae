"""Tables `fetches` and `arrival_times`, view `schedule_decisions`: requests, the decisions after them, and when entries came out.

A row is compact: most fetches are 304s, and they are the volume of the whole store. Headers repeat from
one fetch of a feed to the next, save a Date or an Age. A block of headers is kept once; a fetch names
the block that it resembles and the values that differ, so that nothing is lost and a 304 costs some
forty bytes of headers. The URL asked for and the final URL lead the blocks like two more header fields.

A decision is compact JSON: every poll has one, so names and defaults are left out.

[now, state, outcome, hints or null, state after, delay, next poll, reason, steps, settings, arrivals,
whole documents, late, error budgets before and after]; what comes behind the steps is missing in decisions of earlier versions, and so are
the short forms (the view `decisions_view` reads them too):

    now             0: the instant of the fetch, whose row it stands in
    state           [interval, cadence or null]: of a healthy feed
    outcome         0: a 304
    state after     [interval]: the rest stayed the same, as it does for a 304; []: all of it did
    next poll       0: when the delay is over
    a step          "code": the rule left the interval as it is afterwards, "" being the reason;
                    ["code"]: it made the delay of the interval

SQLite keeps the arrivals beside it, once as long as they stay the same (`header_blocks`).

`arrival_times` has when the entries of a feed came out, for simulations (D23). One row holds a month of a feed: six hexadecimal digits per entry, the seconds since the month began. They
are appended as they come and sorted when they are read.
"""
# Tested in tests/contracts/store/

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from feedmill.adapters.store import statements as sql
from feedmill.adapters.store.tables import codec
from feedmill.model import schedule
from feedmill.model.feed import FetchRecord
from feedmill.model.fetch import Headers
from feedmill.model.page import Page
from feedmill.model.schedule import Decision, StoredArrival

_FETCH: Final = codec.RowCodec(
    FetchRecord,
    "fetch_id scheduled_at fetched_at outcome http_status elapsed_ms detail hops body_sha256 content_type"
    " content_length wire_length entries_seen entries_new entries_updated repairs truncated trace_id interval_sec"
    " saved_bytes retries",
    *("feed_id", "url", "final_url", "request_headers", "response_headers"),
    table="fetches",
    detail=codec.Column(empty=""),
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

_State = tuple[float, int, schedule.Health, int | None, tuple[float, int | None] | None]
_Step = str | tuple[Any, ...]

_MONTH_DIGITS: Final = 6  # a month has fewer than 0x28de81 seconds
MONTH_CHARS: Final = 120_000  # of one row: 20,000 entries in a month; then the feed's pace is known
ARRIVAL_COLUMNS: Final = ("feed_no", "month", "times")
APPEND_ARRIVALS: Final = (
    "ON CONFLICT (feed_no, month) DO UPDATE SET times = arrival_times.times || excluded.times"
    f" WHERE length(arrival_times.times) < {MONTH_CHARS}"
)
_INSERT_ARRIVALS: Final = (
    f"INSERT INTO arrival_times (feed_no, month, times) VALUES ($1, $2, $3) {APPEND_ARRIVALS}"
)
_STORED_ARRIVALS: Final = """
SELECT e.published, e.updated, e.first_seen,
       (SELECT max(x.fetched_at) FROM fetches x WHERE x.feed_no = e.feed_no
          AND x.fetched_at < e.first_seen AND x.outcome IN ('fresh', 'unchanged', 'same-body'))
  FROM entries e WHERE e.feed_no = (SELECT feed_no FROM feeds WHERE id = $1) AND e.backfill = 0
 ORDER BY e.first_seen DESC, e.entry_id DESC LIMIT $2"""
_MERGE_ARRIVALS: Final = f"""
INSERT INTO arrival_times (feed_no, month, times)
SELECT $1, a.month, a.times FROM arrival_times a WHERE a.feed_no = $2 {APPEND_ARRIVALS}"""


def fetches(
    feed_id: str, *, after: str | None = None, limit: int = 100
) -> sql.Query[Page[FetchRecord]]:
    """Fetches of a feed, the newest first."""
    (scheduled_at,) = sql.position(after, 1) or (codec.NEVER,)
    found = yield from sql.rows(_PAGE, feed_id, scheduled_at, limit + 1)
    return sql.page_of(found, limit, lambda one: fetch_of(one[1:]), lambda one: f"{one[0]}")


def fetch(fetch_id: str) -> sql.Query[FetchRecord | None]:
    """The fetch of that id."""
    return sql.one_of(fetch_of, f"{FETCH_SELECT} WHERE x.fetch_id = $1", fetch_id)


def thin_decisions(feed_ids: Sequence[str], keep: int) -> sql.Query[int]:
    """Delete the decisions of these feeds but the last ones of each; how many went."""
    return sql.write(
        "UPDATE fetches SET decision = NULL, arrivals_block = NULL WHERE decision IS NOT NULL AND feed_no IN"
        " (SELECT feed_no FROM feeds WHERE id @in($1)) AND scheduled_at <="
        " (SELECT d.scheduled_at FROM fetches d WHERE d.feed_no = fetches.feed_no"
        " AND d.decision IS NOT NULL ORDER BY d.scheduled_at DESC LIMIT 1 OFFSET $2)",
        list(feed_ids),
        keep,
    )


def decisions(feed_id: str, limit: int = 20) -> sql.Query[tuple[Decision, ...]]:
    """Why the feed is polled as it is, the newest decision first (D23)."""
    found = yield from sql.rows(
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


def fetch_of(row: codec.Row) -> FetchRecord:
    """The fetch of a row of FETCH_SELECT."""
    feed_id, request_block, response_block, *own, request_delta, response_delta = row
    (_, url), *request = restored(request_block, request_delta)
    (_, final_url), *response = restored(response_block, response_delta)
    return _FETCH.value(own, feed_id, url, final_url, tuple(request), tuple(response))


def fetch_row(
    fetch: FetchRecord, request_delta: str | None, response_delta: str | None
) -> codec.Row:
    """The FETCH_COLUMNS of a fetch."""
    return (*_fetch_row(fetch), request_delta or None, response_delta or None)


class _Compact(msgspec.Struct, array_like=True, gc=False):
    now: int
    before: tuple[Any, ...]
    outcome: tuple[Any, int | None, int, float | None, str] | int
    hints: schedule.Hints | None
    after: tuple[Any, ...]
    delay_sec: float
    next_poll_at: int
    reason: schedule.DecisionReason
    steps: tuple[_Step, ...]
    settings: Mapping[str, schedule.Setting] | None = None
    arrivals: schedule.Arrivals | None = None  # before and after: a decision learns nothing
    whole_documents: bool = False
    late_sec: float = 0.0
    errors: tuple[schedule.ErrorBudget | None, schedule.ErrorBudget | None] | None = None


_NO_HINTS: Final = schedule.Hints()
_NOT_MODIFIED: Final = schedule.Outcome(kind="unchanged", http_status=304)
_HEALTHY: Final = (0, "active", None)  # failures, health, when it was gone
_decode: Final = msgspec.json.Decoder(_Compact).decode
_decode_arrivals: Final = msgspec.json.Decoder(schedule.Arrivals).decode


def arrivals_text(decision: schedule.Decision | None) -> str | None:
    """What the decision knew of the feed's pace, where it stands in a block of its own."""
    known = None if decision is None else decision.inputs.state.arrivals
    return None if known is None else _encode(known).decode()


def decision_text(
    decision: schedule.Decision, fetched_at: datetime, *, with_arrivals: bool = True
) -> str:
    """Everything about the decision but what its row of `fetches` says, and the arrivals of a block."""
    inputs, outcome = decision.inputs, decision.inputs.outcome
    before = after = _state_row(inputs.state)
    if decision.state is not inputs.state:
        after = _state_row(decision.state)
    same = after[1:] == before[1:]
    is_timely = inputs.now + timedelta(seconds=decision.delay_sec) == decision.next_poll_at
    parts = [
        0 if inputs.now == fetched_at else codec.micros(inputs.now),
        (before[0], before[4]) if before[1:4] == _HEALTHY else before,
        0
        if outcome == _NOT_MODIFIED
        else (
            outcome.kind,
            outcome.http_status,
            outcome.new_entries,
            outcome.retry_after_sec,
            outcome.reason,
        ),
        None if inputs.hints == _NO_HINTS else inputs.hints,
        () if after == before else after[:1] if same else after,
        decision.delay_sec,
        0 if is_timely else codec.micros(decision.next_poll_at),
        decision.reason,
        tuple([_step_row(one, decision) for one in decision.steps]),
        decision.settings,
        inputs.state.arrivals if with_arrivals else None,
        inputs.whole_documents,
        inputs.late_sec,
        _errors_of(inputs.state, decision.state),
    ]
    while parts[-1] in (None, False):  # as it is when it is missing
        parts.pop()
    return _encode(parts).decode()


def decision_of(
    feed_id: str, fetched_at: int, text: str, arrivals: str | None = None
) -> schedule.Decision:
    """The decision of its JSON, of its fetch, and of the block that holds its arrivals."""
    one = _decode(text)
    known = one.arrivals if arrivals is None else _decode_arrivals(arrivals)
    before = one.before if len(one.before) != 2 else (one.before[0], *_HEALTHY, one.before[1])
    after = (*one.after, *before[len(one.after) :])
    now = codec.instant(one.now or fetched_at)
    wait = timedelta(seconds=one.delay_sec)
    return schedule.Decision(
        inputs=schedule.Inputs(
            feed_id=feed_id,
            now=now,
            state=_state_of(before, known, one.errors[0] if one.errors else None),
            outcome=_outcome_of(one.outcome),
            hints=one.hints or _NO_HINTS,
            whole_documents=one.whole_documents,
            late_sec=one.late_sec,
        ),
        state=_state_of(after, known, one.errors[1] if one.errors else None),
        delay_sec=one.delay_sec,
        next_poll_at=codec.instant(one.next_poll_at) if one.next_poll_at else now + wait,
        reason=one.reason,
        steps=tuple(_step_of(step, one, after[0]) for step in one.steps),
        settings=one.settings,
    )


def _step_row(step: schedule.Step, decision: schedule.Decision) -> _Step:
    interval_sec = decision.state.interval_sec
    if step.before == interval_sec:
        if step.of == "interval" and step.after == interval_sec:
            return "" if step.code == decision.reason else step.code
        if step.of == "delay" and step.after == decision.delay_sec:
            return (step.code,)
    return (step.code, step.of, step.before, step.after)


def _step_of(step: _Step, one: _Compact, interval_sec: float) -> schedule.Step:
    code: Any
    of: Any
    if isinstance(step, str):
        code, of, before, after = step or one.reason, "interval", interval_sec, interval_sec
    elif len(step) == 1:
        (code,), of, before, after = step, "delay", interval_sec, one.delay_sec
    else:
        code, of, before, after = step
    return schedule.Step(code=code, of=of, before=before, after=after)


def _outcome_of(row: tuple[Any, ...] | int) -> schedule.Outcome:
    if isinstance(row, int):
        return _NOT_MODIFIED
    kind, http_status, new_entries, retry_after_sec, reason = row
    return schedule.Outcome(
        kind=kind,
        http_status=http_status,
        new_entries=new_entries,
        retry_after_sec=retry_after_sec,
        reason=reason,
    )


def _state_row(state: schedule.ScheduleState) -> _State:
    cadence = state.cadence
    return (
        state.interval_sec,
        state.consecutive_failures,
        state.health,
        codec.micros_or_none(state.gone_seen_at),
        None
        if cadence is None
        else (cadence.ewma_sec, codec.micros_or_none(cadence.last_published_at)),
    )


def _errors_of(
    before: schedule.ScheduleState, after: schedule.ScheduleState
) -> tuple[schedule.ErrorBudget | None, schedule.ErrorBudget | None] | None:
    if before.errors is None and after.errors is None:
        return None
    return before.errors, after.errors


def _state_of(
    row: tuple[Any, ...], arrivals: schedule.Arrivals | None, errors: schedule.ErrorBudget | None
) -> schedule.ScheduleState:
    interval_sec, failures, health, gone_seen_at, cadence = row
    return schedule.ScheduleState(
        interval_sec=interval_sec,
        consecutive_failures=failures,
        health=health,
        gone_seen_at=codec.instant_or_none(gone_seen_at),
        cadence=None if cadence is None else _cadence_of(*cadence),
        arrivals=arrivals,
        errors=errors,
    )


def _cadence_of(ewma_sec: float, last_published_at: int | None) -> schedule.Cadence:
    published: datetime | None = codec.instant_or_none(last_published_at)
    return schedule.Cadence(ewma_sec=ewma_sec, last_published_at=published)


def month_rows(feed_no: int, times: Sequence[float]) -> list[tuple[int, int, str]]:
    """The rows that keep these times: Unix seconds."""
    months: dict[int, list[str]] = {}
    for seconds in times:
        at = datetime.fromtimestamp(seconds, UTC)
        into = ((at.day - 1) * 24 + at.hour) * 3600 + at.minute * 60 + at.second
        months.setdefault(at.year * 100 + at.month, []).append(f"{into:06x}")
    return [(feed_no, month, "".join(digits)) for month, digits in sorted(months.items())]


def append_times(feed_no: int, times: Sequence[float]) -> sql.Query[None]:
    """Keep when entries came out."""
    yield from sql.write_many(_INSERT_ARRIVALS, month_rows(feed_no, times))


def arrival_times(feed_id: str, since: datetime | None = None) -> sql.Query[tuple[float, ...]]:
    """When the entries of a feed came out, in order, in Unix seconds."""
    first = 0 if since is None else since.year * 100 + since.month
    found = yield from sql.rows(
        "SELECT month, times FROM arrival_times"
        " WHERE feed_no = (SELECT feed_no FROM feeds WHERE id = $1) AND month >= $2 ORDER BY month",
        feed_id,
        first,
    )
    times: list[float] = []
    for month, digits in found:
        began = datetime(month // 100, month % 100, 1, tzinfo=UTC).timestamp()
        times += [
            began + int(digits[at : at + _MONTH_DIGITS], 16)
            for at in range(0, len(digits), _MONTH_DIGITS)
        ]
    after = float("-inf") if since is None else since.timestamp()
    return tuple(sorted(at for at in times if at >= after))


def stored_arrivals(feed_id: str, limit: int) -> sql.Query[tuple[StoredArrival, ...]]:
    """What stored entries and fetches say about when the newest entries came out; the oldest first."""
    found = yield from sql.rows(_STORED_ARRIVALS, feed_id, limit)
    return tuple(
        StoredArrival(
            stated_at=codec.instant_or_none(published if published is not None else updated),
            first_seen=codec.instant(first_seen),
            previous_at=codec.instant_or_none(previous),
        )
        for published, updated, first_seen, previous in reversed(found)
    )


def merge_times(winner: int, loser: int) -> sql.Query[None]:
    """Give the times of one feed to another."""
    yield from sql.write(_MERGE_ARRIVALS, winner, loser)


def purge_times(before: datetime) -> sql.Query[int]:
    """Forget the months that ended before; how many rows went."""
    return sql.write("DELETE FROM arrival_times WHERE month < $1", before.year * 100 + before.month)
