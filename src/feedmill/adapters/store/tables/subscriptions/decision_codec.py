"""A decision as compact JSON and back: every poll has one, so names and defaults are left out.

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
"""
# Tested in tests/contracts/store/

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from feedmill.adapters.store.tables.codec import instant, instant_or_none, micros, micros_or_none
from feedmill.model import schedule

_State = tuple[float, int, schedule.Health, int | None, tuple[float, int | None] | None]
_Step = str | tuple[Any, ...]


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
_encode: Final = msgspec.json.Encoder().encode
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
        0 if inputs.now == fetched_at else micros(inputs.now),
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
        0 if is_timely else micros(decision.next_poll_at),
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
    now = instant(one.now or fetched_at)
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
        next_poll_at=instant(one.next_poll_at) if one.next_poll_at else now + wait,
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
        micros_or_none(state.gone_seen_at),
        None if cadence is None else (cadence.ewma_sec, micros_or_none(cadence.last_published_at)),
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
        gone_seen_at=instant_or_none(gone_seen_at),
        cadence=None if cadence is None else _cadence_of(*cadence),
        arrivals=arrivals,
        errors=errors,
    )


def _cadence_of(ewma_sec: float, last_published_at: int | None) -> schedule.Cadence:
    published: datetime | None = instant_or_none(last_published_at)
    return schedule.Cadence(ewma_sec=ewma_sec, last_published_at=published)
