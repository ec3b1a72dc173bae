"""The health of a feed: active, backing off, suspect or gone, and back again (D24).

Nothing is silently dead. A feed that is gone keeps being probed at the longest interval, and
one success makes any feed active again.
"""

from datetime import datetime, timedelta

from msgspec.structs import replace

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import Health, Outcome, ScheduleState

_GONE = 410  # RFC 9110 15.5.11


def initial_state(config: ScheduleConfig) -> ScheduleState:
    """The state of a feed that was never polled."""
    return ScheduleState(interval_sec=config.initial_interval_sec)


def advance_state(
    state: ScheduleState, outcome: Outcome, *, now: datetime, config: ScheduleConfig
) -> ScheduleState:
    """The state after a poll: failures counted and health judged, the interval as it was."""
    if outcome.kind != "failed":
        if state.health == "active" and not state.consecutive_failures and not state.gone_seen_at:
            return state
        return replace(state, consecutive_failures=0, health="active", gone_seen_at=None)
    failures = state.consecutive_failures + 1
    return replace(
        state,
        consecutive_failures=failures,
        health=_health_after_failure(state, outcome, failures, now, config),
        gone_seen_at=state.gone_seen_at or (now if outcome.http_status == _GONE else None),
    )


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
