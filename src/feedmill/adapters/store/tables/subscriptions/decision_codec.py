"""A decision as compact JSON and back: every poll has one, so names and defaults are left out.

[now, state, outcome, hints or null, state after, delay, next poll, reason, steps, settings, arrivals,
whole documents, late, error budgets before and after]; what comes behind the steps is missing in decisions of earlier versions. The
state after is its interval alone where the rest stayed the same, as it does for a 304. SQLite keeps the arrivals beside it, once as
long as they stay the same (`header_blocks`).
"""
# Tested in tests/contracts/store/

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from feedmill.adapters.store.tables.codec import instant, instant_or_none, micros, micros_or_none
from feedmill.model import schedule

_State = tuple[float, int, schedule.Health, int | None, tuple[float, int | None] | None]
_Step = tuple[schedule.StepCode, Any, float, float]


class _Compact(msgspec.Struct, array_like=True, omit_defaults=True, gc=False):
    now: int
    before: _State
    outcome: tuple[Any, int | None, int, float | None, str]
    hints: schedule.Hints | None
    after: tuple[Any, ...]  # a state, or its interval alone: the rest is that of before
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
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Compact).decode
_decode_arrivals: Final = msgspec.json.Decoder(schedule.Arrivals).decode


def arrivals_text(decision: schedule.Decision | None) -> str | None:
    """What the decision knew of the feed's pace, where it stands in a block of its own."""
    known = None if decision is None else decision.inputs.state.arrivals
    return None if known is None else _encode(known).decode()


def decision_text(decision: schedule.Decision, *, with_arrivals: bool = True) -> str:
    """Everything about the decision but the feed, whose row it stands in, and the arrivals of a block."""
    inputs, outcome = decision.inputs, decision.inputs.outcome
    before, after = _state_row(inputs.state), _state_row(decision.state)
    compact = _Compact(
        micros(inputs.now),
        before,
        (
            outcome.kind,
            outcome.http_status,
            outcome.new_entries,
            outcome.retry_after_sec,
            outcome.reason,
        ),
        None if inputs.hints == _NO_HINTS else inputs.hints,
        after[:1] if after[1:] == before[1:] else after,
        decision.delay_sec,
        micros(decision.next_poll_at),
        decision.reason,
        tuple([(one.code, one.of, one.before, one.after) for one in decision.steps]),
        decision.settings,
        inputs.state.arrivals if with_arrivals else None,
        inputs.whole_documents,
        inputs.late_sec,
        _errors_of(inputs.state, decision.state),
    )
    return _encode(compact).decode()


def decision_of(feed_id: str, text: str, arrivals: str | None = None) -> schedule.Decision:
    """The decision of its JSON, and of the block that holds its arrivals."""
    one = _decode(text)
    known = one.arrivals if arrivals is None else _decode_arrivals(arrivals)
    kind, http_status, new_entries, retry_after_sec, failure = one.outcome
    return schedule.Decision(
        inputs=schedule.Inputs(
            feed_id=feed_id,
            now=instant(one.now),
            state=_state_of(one.before, known, one.errors[0] if one.errors else None),
            outcome=schedule.Outcome(
                kind=kind,
                http_status=http_status,
                new_entries=new_entries,
                retry_after_sec=retry_after_sec,
                reason=failure,
            ),
            hints=one.hints or _NO_HINTS,
            whole_documents=one.whole_documents,
            late_sec=one.late_sec,
        ),
        state=_state_of(
            (*one.after, *one.before[len(one.after) :]),
            known,
            one.errors[1] if one.errors else None,
        ),
        delay_sec=one.delay_sec,
        next_poll_at=instant(one.next_poll_at),
        reason=one.reason,
        steps=tuple(
            schedule.Step(code=code, of=of, before=was, after=became)
            for code, of, was, became in one.steps
        ),
        settings=one.settings,
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
