"""Error budget and circuit of a feed that flaps: it fails, works, and fails again (002 §7).

Only a failure that follows a success uses up the budget, so that one long outage is one fault. Over the
budget the circuit opens: the feed is polled like a canary, no more often than the longest backoff, until it
has been steady for some polls.
"""

from datetime import datetime
from typing import Final

from feedmill.config import ScheduleConfig
from feedmill.model.schedule import ErrorBudget, Inputs, Outcome, Step

_WEIGHT: Final = 0.2  # of the newest poll
_CLOSES_BELOW: Final = 0.375  # of the budget
_DIGITS: Final = 4


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
