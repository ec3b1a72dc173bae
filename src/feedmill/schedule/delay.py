"""How an interval becomes the wait until the next poll: jitter, floors, quiet windows (D20).

Nothing here is carried on: a pause or a quiet night must not become the next interval.
"""

from datetime import timedelta

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Hint, Inputs, Step, StepCode
from feedmill.schedule.interval import current_interval, floor_of
from feedmill.schedule.jitter import jitter_share, spread
from feedmill.schedule.quiet_windows import leave_quiet_window

# RFC 9110 10.2.3 and RFC 6585 4: with these two a server says when it will be ready again.
_PAUSING_STATUSES = (429, 503)


def pause_exactly(interval: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """The pause that a 429 or 503 asked for: final, exact, without jitter (002 §4.6)."""
    outcome = inputs.outcome
    if outcome.kind != "failed" or outcome.http_status not in _PAUSING_STATUSES:
        return None
    if outcome.retry_after_sec is None:
        return None
    pause = _pause_sec(outcome.retry_after_sec, config)
    return _step("retry-after", interval, pause)


def add_jitter(delay: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """Moved a little either way, but never through a floor that the interval stands on."""
    if config.jitter_ratio == 0:
        return None
    share = jitter_share(inputs.feed_id, inputs.now)
    # An interval that was stored under a floor is not lifted here; it may only not sink.
    floor = min(delay, _highest_floor(inputs, config))
    moved = max(floor, spread(delay, share=share, ratio=config.jitter_ratio))
    return _step("jitter", delay, moved)


def wait_out_freshness(delay: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """No earlier than the last answer goes stale; a lifetime beyond the ceiling is cut to it."""
    hint = inputs.hints.freshness_sec
    left = _left_of(hint, inputs, config.max_interval_sec)
    if hint is None or delay >= left:
        return None
    return _step("freshness-floor", delay, left)


def wait_out_pause(delay: float, inputs: Inputs, config: ScheduleConfig) -> Step | None:
    """After a failure, no earlier than any Retry-After allows, whatever status it came with."""
    if inputs.outcome.kind != "failed":
        return None
    asked = _pause_sec(inputs.outcome.retry_after_sec or 0, config)
    left = _left_of(inputs.hints.retry_after_sec, inputs, config.retry_after_max_sec)
    pause = max(asked, left)
    if delay >= pause:
        return None
    return _step("retry-after-floor", delay, pause)


def leave_quiet_windows(delay: float, inputs: Inputs, _config: ScheduleConfig) -> Step | None:
    """Later, to the next hour that the publisher's skipHours and skipDays leave open."""
    hours = inputs.hints.skip_hours.value if inputs.hints.skip_hours else ()
    days = inputs.hints.skip_days.value if inputs.hints.skip_days else ()
    if not hours and not days:
        return None
    due = inputs.now + timedelta(seconds=delay)
    opened = leave_quiet_window(due, hours, days)
    if opened is None:
        return _step("quiet-windows-ignored", delay, delay)
    if opened == due:
        return None
    return _step("quiet-window", delay, (opened - inputs.now).total_seconds())


def _highest_floor(inputs: Inputs, config: ScheduleConfig) -> float:
    # After a failure the interval before it is a floor too: an error never shortens.
    failed = inputs.outcome.kind == "failed"
    return max(
        config.min_interval_sec,
        floor_of(inputs.hints.ttl_sec, config),
        floor_of(inputs.hints.update_period_sec, config),
        current_interval(inputs.state, config) if failed else 0,
    )


def _left_of(hint: Hint[int] | None, inputs: Inputs, ceiling: int) -> float:
    """The seconds that remain of a hint which counts from the answer that brought it."""
    if hint is None:
        return 0
    whole = min(hint.value, ceiling)
    end = hint.seen_at + timedelta(seconds=whole)
    # A clock that was set back must not lengthen what the server asked for.
    return min((end - inputs.now).total_seconds(), whole)


def _pause_sec(asked: float, config: ScheduleConfig) -> float:
    return max(0.0, min(asked, config.retry_after_max_sec))


def _step(code: StepCode, before: float, after: float) -> Step:
    return Step(code=code, of="delay", before=float(before), after=float(after))
