"""The interval between polls and the health of a feed: how a poll changes them (002 §6.2, D20).

Each rule looks at the interval in seconds and answers with the step it takes, or with None when it
leaves the interval alone. The cadence is measured from the feed's own entries (002 §6.3, D21).
Nothing is silently dead (D24): a feed that is gone keeps being probed at the longest interval, and
one success makes any feed active again.

A feed that flaps fails, works, and fails again (002 §7). Only a failure that follows a success uses up its
error budget, so that one long outage is one fault. Over the budget the circuit opens: the feed is polled like
a canary, no more often than the longest backoff, until it has been steady for some polls.

The budget policy: poll when the entries not seen yet have together waited for the price (D34).

A request has a price in seconds of waiting. It is higher for a feed that sends its whole document each
time, and while the lane of its host is late: then every request delays those behind it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from heapq import nlargest
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import (
    Arrivals,
    Cadence,
    ErrorBudget,
    Health,
    Hint,
    Inputs,
    Outcome,
    ScheduleState,
    Step,
    StepCode,
)
from feedmill.schedule.arrivals import Forecast, forecast

_GONE = 410  # RFC 9110 15.5.11
_WEIGHT: Final = 0.2  # of the newest poll
_CLOSES_BELOW: Final = 0.375  # of the budget
_DIGITS: Final = 4
_QUIET_SHARE: Final = 0.1  # of the silence so far: how long a quiet feed may wait


def measure_cadence(
    publications: Iterable[datetime], *, now: datetime, config: ScheduleConfig
) -> Cadence | None:
    """The cadence over the newest publication times; None when there are fewer than two.

    A time that lies ahead of the clock is a promise or a mistake, and never counts (002 §7).
    """
    past = nlargest(config.ewma_window, (at for at in publications if at <= now))
    ewma_sec = ewma_of_gaps(past, alpha=config.ewma_alpha, window=config.ewma_window)
    return None if ewma_sec is None else Cadence(ewma_sec=ewma_sec, last_published_at=past[0])


def extend_cadence(
    known: Cadence | None, events: Sequence[datetime], *, now: datetime, config: ScheduleConfig
) -> Cadence | None:
    """The cadence with further events counted in, in their order; what came out together is one."""
    if known is None or known.last_published_at is None:
        return measure_cadence(events, now=now, config=config)
    ewma, last = known.ewma_sec, known.last_published_at
    for at in events:
        gap = max(0.0, (at - last).total_seconds())
        ewma = config.ewma_alpha * gap + (1 - config.ewma_alpha) * ewma
        last = max(last, at)
    return Cadence(ewma_sec=ewma, last_published_at=last)


def ewma_of_gaps(
    publications: Iterable[datetime], *, alpha: float, window: int = 20
) -> float | None:
    """The EWMA in seconds of the gaps between the newest times, oldest gap first.

    Equal times are kept: entries that came out together are a gap of nought.
    """
    times = sorted(nlargest(window, publications))
    ewma: float | None = None
    for earlier, later in pairwise(times):
        gap = (later - earlier).total_seconds()
        ewma = gap if ewma is None else alpha * gap + (1 - alpha) * ewma
    return ewma


def silence_sec(cadence: Cadence, *, now: datetime) -> float | None:
    """The open gap since the last entry, once it is longer than the usual one."""
    if cadence.last_published_at is None:
        return None
    gap = (now - cadence.last_published_at).total_seconds()
    return gap if gap > cadence.ewma_sec else None


def expected_gap_sec(cadence: Cadence, *, now: datetime, alpha: float) -> float:
    """The EWMA with the silence counted in, so that a feed which stops is asked less (D21)."""
    silence = silence_sec(cadence, now=now)
    if silence is None:
        return cadence.ewma_sec
    return alpha * silence + (1 - alpha) * cadence.ewma_sec


def current_interval(state: ScheduleState, config: ScheduleConfig) -> float:
    """The stored interval; one that is not positive is none, and would never grow again."""
    return state.interval_sec if state.interval_sec > 0 else config.initial_interval_sec


def step_by_outcome(
    interval: float,
    outcome: Outcome,
    health: Health,
    config: ScheduleConfig,
    *,
    moves: bool = True,
) -> Step:
    """The first step: longer when nothing came, shorter when something did, back off on failure.

    Unless the outcome `moves` the interval, a success is only named: a forecast follows.
    """
    if outcome.kind == "failed":
        return _gone(interval, config) if health == "gone" else _backed_off(interval, config)
    if outcome.kind == "fresh" and outcome.new_entries > 0:
        shorter = max(interval * config.down_factor, config.min_interval_sec)
        return _step("new-entries", interval, shorter if moves else interval)
    longer = min(interval * config.up_factor, config.max_interval_sec) if moves else interval
    code: StepCode = "not-modified" if outcome.kind == "unchanged" else "no-new-entries"
    return _step(code, interval, longer)


def blend_cadence(
    interval: float, cadence: Cadence, inputs: Inputs, config: ScheduleConfig
) -> Step:
    """Half way (λ) towards the pace at which the feed publishes; never after a failure (G2)."""
    gap = expected_gap_sec(cadence, now=inputs.now, alpha=config.ewma_alpha)
    target = _clamp(gap, config)
    blended = config.blend_lambda * target + (1 - config.blend_lambda) * interval
    code: StepCode = "cadence" if silence_sec(cadence, now=inputs.now) is None else "silence"
    return _step(code, interval, _clamp(blended, config))


def raise_to_ttl(interval: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """Up to the publisher's ttl, which never lifts anything over the ceiling (002 §4.6, G3)."""
    return _raise_to("ttl-floor", interval, inputs.hints.ttl_sec, config)


def raise_to_update_period(interval: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """Up to the update period of the syndication module, which is read like a ttl."""
    return _raise_to("update-period-floor", interval, inputs.hints.update_period_sec, config)


def floor_of(hint: Hint[int] | None, config: ScheduleConfig) -> int:
    """The floor that a hint sets, capped by the ceiling; nought without a hint."""
    return 0 if hint is None else min(hint.value, config.max_interval_sec)


def initial_state(config: ScheduleConfig) -> ScheduleState:
    """The state of a feed that was never polled."""
    return ScheduleState(interval_sec=_clamp(config.initial_interval_sec, config))


def advance_state(
    state: ScheduleState, outcome: Outcome, *, now: datetime, config: ScheduleConfig
) -> ScheduleState:
    """The state after a poll: failures counted and health judged, the interval as it was."""
    errors = spend_budget(
        state.errors,
        outcome,
        failed_before=state.consecutive_failures > 0,
        now=now,
        config=config,
    )
    if outcome.kind != "failed":
        if (
            state.health == "active"
            and not state.consecutive_failures
            and not state.gone_seen_at
            and errors == state.errors
        ):
            return state
        return replace(
            state, consecutive_failures=0, health="active", gone_seen_at=None, errors=errors
        )
    failures = state.consecutive_failures + 1
    return replace(
        state,
        errors=errors,
        consecutive_failures=failures,
        health=_health_after_failure(state, outcome, failures, now, config),
        gone_seen_at=state.gone_seen_at or (now if outcome.http_status == _GONE else None),
    )


def _backed_off(interval: float, config: ScheduleConfig) -> Step:
    # G1: beyond the cap `min(I * base, cap)` alone would shorten the interval, and an
    # overloaded host would be asked more often than before.
    longer = min(interval * config.backoff_base, config.backoff_cap_sec)
    longer = max(interval, longer, config.min_interval_sec)
    return _step("error-backoff", interval, longer)


def _gone(interval: float, config: ScheduleConfig) -> Step:
    return _step("gone", interval, max(interval, config.max_interval_sec))


def _raise_to(
    code: StepCode, interval: float, hint: Hint[int] | None, config: ScheduleConfig
) -> Step | None:
    floor = floor_of(hint, config)
    if hint is None or interval >= floor:
        return None
    return _step(code, interval, floor)


def _clamp(seconds: float, config: ScheduleConfig) -> float:
    return max(config.min_interval_sec, min(seconds, config.max_interval_sec))


def _step(code: StepCode, before: float, after: float) -> Step:
    return Step(code=code, of="interval", before=float(before), after=float(after))


def _health_after_failure(
    state: ScheduleState, outcome: Outcome, failures: int, now: datetime, config: ScheduleConfig
) -> Health:
    said_gone = outcome.http_status == _GONE
    if state.health == "gone" or (said_gone and _was_gone_before(state, now, config)):
        return "gone"
    if said_gone or state.gone_seen_at or failures >= config.suspect_after_failures:
        return "suspect"
    return "backing-off"


def _was_gone_before(state: ScheduleState, now: datetime, config: ScheduleConfig) -> bool:
    # One 410 may be a deployment; two of them a day apart are meant.
    first = state.gone_seen_at
    return first is not None and now - first >= timedelta(seconds=config.gone_after_sec)


def spend_budget(
    known: ErrorBudget | None,
    outcome: Outcome,
    *,
    failed_before: bool,
    now: datetime,
    config: ScheduleConfig,
) -> ErrorBudget | None:
    """The error budget after a poll; None while nothing was ever spent."""
    failed = outcome.kind == "failed"
    if known is None and not failed:
        return None
    spent, opened_at = (0.0, None) if known is None else (known.spent, known.opened_at)
    if not (failed and failed_before):
        spent = round(spent * (1 - _WEIGHT) + _WEIGHT * failed, _DIGITS)
    if opened_at is None and spent > config.error_budget:
        opened_at = now
    elif opened_at is not None and spent < config.error_budget * _CLOSES_BELOW:
        opened_at = None
    if spent < 10**-_DIGITS * 10 and opened_at is None:
        return None
    return ErrorBudget(spent=spent, opened_at=opened_at)


def poll_like_canary(
    interval: float, budget: ErrorBudget | None, inputs: Inputs, config: ScheduleConfig
) -> Step | None:
    """While the circuit is open, a success does not make polls frequent again."""
    if budget is None or budget.opened_at is None or inputs.outcome.kind == "failed":
        return None
    floor = min(config.backoff_cap_sec, config.max_interval_sec)
    if interval >= floor:
        return None
    return Step(code="circuit-open", of="interval", before=float(interval), after=float(floor))


def known_arrivals(inputs: Inputs, config: ScheduleConfig) -> Arrivals | None:
    """What the policy forecasts from; None under `seed`, and while no event of the feed is known."""
    arrivals = inputs.state.arrivals
    return arrivals if config.policy == "budget" and arrivals and arrivals.events else None


def wait_for_price(
    interval: float, arrivals: Arrivals, inputs: Inputs, config: ScheduleConfig
) -> Step:
    """The interval after which a poll is worth its price, within the floor and the ceiling."""
    expected = forecast_of(arrivals, inputs, config)
    ceiling = ceiling_sec(inputs, config)
    wait = max(expected.wait_sec, config.min_interval_sec)
    if expected.limit != "window" and wait < ceiling and ceiling > config.max_interval_sec:
        return _step("quiet-ceiling", interval, ceiling)
    return _step(expected.limit, interval, min(wait, ceiling))


def forecast_of(arrivals: Arrivals, inputs: Inputs, config: ScheduleConfig) -> Forecast:
    """What is expected of the feed from now on, at the price that holds for this decision."""
    return forecast(
        arrivals,
        now=inputs.now.timestamp(),
        price_sec=price_sec(inputs, config),
        ceiling_sec=config.max_interval_sec,
    )


def price_sec(inputs: Inputs, config: ScheduleConfig) -> float:
    """The price of a request, with what makes this one dearer."""
    price = config.price_sec
    if inputs.whole_documents:
        price *= config.whole_document_price
    return price * late_factor(inputs, config)


def late_factor(inputs: Inputs, config: ScheduleConfig) -> float:
    """By how much a late lane raises the price: so that the wait grows by the time it was late.

    At a constant rate the wait grows with the root of the price.
    """
    if inputs.late_sec <= 0:
        return 1.0
    usual = max(inputs.state.interval_sec, config.min_interval_sec)
    return min((1.0 + inputs.late_sec / usual) ** 2, config.late_price_max)


def ceiling_sec(inputs: Inputs, config: ScheduleConfig) -> float:
    """The longest interval: longer for a feed that has been silent for long, where that is set."""
    usual = float(config.max_interval_sec)
    arrivals = known_arrivals(inputs, config)
    if arrivals is None or config.quiet_max_interval_sec <= usual:
        return usual
    silence = inputs.now.timestamp() - arrivals.last
    return max(usual, min(silence * _QUIET_SHARE, config.quiet_max_interval_sec))
