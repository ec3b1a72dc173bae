"""Decides when a feed is polled next: the one decision of the scheduler, as a pure function.

The order is the policy (D20): outcome, forecast or cadence, ttl make the interval that is carried on;
jitter, freshness and quiet windows make the delay of this once. A Retry-After goes before all.
The two policies (D34) differ in one place: `budget` asks the forecast for the interval, `seed` moves it
by the outcome and towards the cadence, as it does for `budget` while nothing is known of the feed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import cast

import msgspec
from msgspec.structs import asdict, replace

from feedmill.config import ScheduleConfig
from feedmill.errors import UsageError
from feedmill.model.feed import FeedOverrides
from feedmill.model.schedule import (
    Decision,
    DecisionReason,
    Hints,
    Inputs,
    Outcome,
    ScheduleState,
    Setting,
    Step,
    StoredArrival,
)
from feedmill.schedule.arrivals import distinct_events, event_times, learn_arrivals
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
    extend_cadence,
    known_arrivals,
    measure_cadence,
    poll_like_canary,
    raise_to_ttl,
    raise_to_update_period,
    step_by_outcome,
    wait_for_price,
)

_NO_HINTS = Hints()
_DEFAULTS = ScheduleConfig()

Rule = Callable[[float, Inputs, ScheduleConfig], Step | None]

_FLOORS: tuple[Rule, ...] = (raise_to_ttl, raise_to_update_period)
_DELAY_RULES: tuple[Rule, ...] = (
    add_jitter,
    wait_out_freshness,
    wait_out_pause,
    leave_quiet_windows,
)
_RULES = _FLOORS + _DELAY_RULES


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
    whole_documents: bool = False,
    late_sec: float = 0.0,
) -> Decision:
    """When the feed is polled next, what is carried to that poll, and why, step by step.

    `now` is aware. `publications` are the feed's publication times when the poll brought new
    ones; without them the cadence in `state` stands, with the silence since then counted in. Who
    polls a feed calls `learn_entries` instead, which trusts no date.
    """
    if now.tzinfo is None:
        msg = f"now is {now.isoformat()}, which has no time zone; pass an aware datetime"
        raise UsageError(msg)
    if publications is not None:
        cadence = measure_cadence(publications, now=now, config=config)
        state = replace(state, cadence=cadence)
    inputs = Inputs(
        feed_id=feed_id,
        now=now,
        state=state,
        outcome=outcome,
        hints=hints,
        whole_documents=whole_documents,
        late_sec=late_sec,
    )
    return decide_again(inputs, config)


def learn_entries(
    state: ScheduleState,
    dates: Iterable[datetime | None],
    *,
    previous_at: datetime | None,
    now: datetime,
    window: int,
    config: ScheduleConfig = _DEFAULTS,
) -> tuple[ScheduleState, tuple[float, ...]]:
    """The state after entries were found that were not there before, and when they came out.

    `dates` are what the entries say, None for one without a date; `previous_at` is the last poll
    that succeeded, None for the first; `window` is how many entries a document holds. Every entry
    came out between that poll and `now`, whatever its date says (D34).
    """
    times = event_times(dates, previous_at=previous_at, now=now)
    return learn_times(state, times, now=now, window=window, config=config), times


def learn_stored(
    state: ScheduleState,
    stored: Sequence[StoredArrival],
    *,
    now: datetime,
    window: int,
    config: ScheduleConfig = _DEFAULTS,
) -> tuple[ScheduleState, tuple[float, ...]]:
    """The same from what the store has kept of a feed, for one that was polled before."""
    times = sorted(
        time
        for one in stored
        for time in event_times((one.stated_at,), previous_at=one.previous_at, now=one.first_seen)
    )
    return learn_times(state, times, now=now, window=window, config=config), tuple(times)


def learn_times(
    state: ScheduleState,
    times: Sequence[float],
    *,
    now: datetime,
    window: int,
    config: ScheduleConfig = _DEFAULTS,
) -> ScheduleState:
    """The state after entries came out at these times: Unix seconds, in order, all known to be true."""
    known = state.arrivals
    last = known.last if known is not None and known.events else None
    events = distinct_events(times, last)
    if last is not None and state.cadence is None:
        events.insert(0, last)  # the first gap needs two events
    dates = [datetime.fromtimestamp(at, UTC) for at in events]
    return replace(
        state,
        arrivals=learn_arrivals(known, times, now=now.timestamp(), window=window),
        cadence=extend_cadence(state.cadence, dates, now=now, config=config),
    )


def decide_again(inputs: Inputs, config: ScheduleConfig) -> Decision:
    """The decision that these inputs lead to under this policy; what `simulate` replays."""
    after = advance_state(inputs.state, inputs.outcome, now=inputs.now, config=config)
    interval = current_interval(inputs.state, config)
    pause = pause_exactly(interval, inputs, config)
    steps = (pause,) if pause else _steps(interval, inputs, after, config)
    delay_sec = steps[-1].after
    carried = next((step.after for step in reversed(steps) if step.of == "interval"), interval)
    return Decision(
        inputs=inputs,
        state=after if carried == after.interval_sec else replace(after, interval_sec=carried),
        delay_sec=delay_sec,
        next_poll_at=inputs.now + timedelta(seconds=delay_sec),
        reason=cast("DecisionReason", steps[0].code),
        steps=steps,
        settings=settings_of(config),
    )


@lru_cache(maxsize=256)
def settings_of(config: ScheduleConfig) -> Mapping[str, Setting]:
    """The settings that differ from their defaults: what a decision keeps of its policy."""
    usual = asdict(_DEFAULTS)
    return {name: value for name, value in asdict(config).items() if value != usual[name]}


def own_schedule(overrides: FeedOverrides, config: ScheduleConfig) -> ScheduleConfig:
    """The policy with a feed's own shortest and longest interval."""
    return config.with_limits(overrides.min_interval_sec, overrides.max_interval_sec)


def config_of(decision: Decision) -> ScheduleConfig:
    """The policy that a decision was made under; the default one where that was not kept."""
    return msgspec.convert(dict(decision.settings or {}), ScheduleConfig)


def _steps(
    interval: float, inputs: Inputs, after: ScheduleState, config: ScheduleConfig
) -> tuple[Step, ...]:
    arrivals = known_arrivals(inputs, config)
    steps = [
        step_by_outcome(interval, inputs.outcome, after.health, config, moves=arrivals is None)
    ]
    if inputs.outcome.kind == "failed":
        pass
    elif arrivals is not None:
        steps.append(wait_for_price(interval, arrivals, inputs, config))
    elif inputs.state.cadence is not None:
        steps.append(blend_cadence(steps[0].after, inputs.state.cadence, inputs, config))
    canary = poll_like_canary(steps[-1].after, after.errors, inputs, config)
    if canary is not None:
        steps.append(canary)
    for rule in _RULES:
        step = rule(steps[-1].after, inputs, config)
        if step is not None:
            steps.append(step)
    return tuple(steps)
