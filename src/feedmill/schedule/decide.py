"""Decides when a feed is polled next: the one decision of the scheduler, as a pure function.

The order is the policy (D20): outcome, cadence, ttl make the interval that is carried on;
jitter, freshness and quiet windows make the delay of this once. A Retry-After goes before all.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import cast

from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.errors import UsageError
from feedmill.model.schedule import (
    Decision,
    DecisionReason,
    Health,
    Hints,
    Inputs,
    Outcome,
    ScheduleState,
    Step,
)
from feedmill.schedule.delay import (
    add_jitter,
    leave_quiet_windows,
    pause_exactly,
    wait_out_freshness,
    wait_out_pause,
)
from feedmill.schedule.interval import (
    advance_state,
    blend_cadence,
    current_interval,
    measure_cadence,
    raise_to_ttl,
    raise_to_update_period,
    step_by_outcome,
)

_NO_HINTS = Hints()
_DEFAULTS = ScheduleConfig()

Rule = Callable[[float, Inputs, ScheduleConfig], Step | None]

_INTERVAL_RULES: tuple[Rule, ...] = (blend_cadence, raise_to_ttl, raise_to_update_period)
_DELAY_RULES: tuple[Rule, ...] = (
    add_jitter,
    wait_out_freshness,
    wait_out_pause,
    leave_quiet_windows,
)
_RULES = _INTERVAL_RULES + _DELAY_RULES


def outcome_of_status(
    http_status: int | None,
    *,
    new_entries: int = 0,
    retry_after_sec: float | None = None,
    reason: str = "",
) -> Outcome:
    """The outcome that an HTTP status alone stands for; None is "no answer came"."""
    answered = http_status or 0
    return Outcome(
        kind="unchanged" if answered == 304 else "fresh" if 200 <= answered <= 299 else "failed",
        http_status=http_status,
        new_entries=new_entries,
        retry_after_sec=retry_after_sec,
        reason=reason,
    )


def decide_next_poll(
    state: ScheduleState,
    outcome: Outcome,
    hints: Hints = _NO_HINTS,
    *,
    now: datetime,
    feed_id: str,
    config: ScheduleConfig = _DEFAULTS,
    publications: Iterable[datetime] | None = None,
) -> Decision:
    """When the feed is polled next, what is carried to that poll, and why, step by step.

    `now` is aware. `publications` are the feed's publication times when the poll brought new
    ones; without them the cadence in `state` stands, with the silence since then counted in.
    """
    if now.tzinfo is None:
        msg = f"now is {now.isoformat()}, which has no time zone; pass an aware datetime"
        raise UsageError(msg)
    if publications is not None:
        cadence = measure_cadence(publications, now=now, config=config)
        state = replace(state, cadence=cadence)
    inputs = Inputs(feed_id=feed_id, now=now, state=state, outcome=outcome, hints=hints)
    return decide_again(inputs, config)


def decide_again(inputs: Inputs, config: ScheduleConfig) -> Decision:
    """The decision that these inputs lead to under this policy; what `simulate` replays."""
    after = advance_state(inputs.state, inputs.outcome, now=inputs.now, config=config)
    interval = current_interval(inputs.state, config)
    pause = pause_exactly(interval, inputs, config)
    steps = (pause,) if pause else _steps(interval, inputs, after.health, config)
    delay_sec = steps[-1].after
    carried = next((step.after for step in reversed(steps) if step.of == "interval"), interval)
    return Decision(
        inputs=inputs,
        state=replace(after, interval_sec=carried),
        delay_sec=delay_sec,
        next_poll_at=inputs.now + timedelta(seconds=delay_sec),
        reason=cast("DecisionReason", steps[0].code),
        steps=steps,
    )


def _steps(
    interval: float, inputs: Inputs, health: Health, config: ScheduleConfig
) -> tuple[Step, ...]:
    steps = [step_by_outcome(interval, inputs.outcome, health, config)]
    for rule in _RULES:
        step = rule(steps[-1].after, inputs, config)
        if step is not None:
            steps.append(step)
    return tuple(steps)
