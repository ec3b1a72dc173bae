"""Dates a poll by the clock that is valid when it is committed: the clock may be set while it runs (H32)."""
# Tested in tests/integration/engine/poll/

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from feedmill.model.refresh import Refresh

_CLOCK_JITTER: Final = timedelta(seconds=1)  # between two readings of a clock that was not set


def redate(result: Refresh, now: datetime, elapsed: timedelta) -> Refresh:
    """The result, moved to now when its date cannot be one of the last `elapsed`: the clock was set (H32).

    Dated by a clock that was ahead, a feed would be silent for as long as that clock was ahead.
    """
    fetch, feed, decision = result.fetch, result.feed, result.decision
    by = now - fetch.fetched_at
    if -_CLOCK_JITTER <= by <= elapsed + _CLOCK_JITTER:
        return result
    next_poll_at = feed.next_poll_at + by
    return replace(
        result,
        fetch=replace(fetch, fetched_at=now),
        feed=replace(
            feed,
            next_poll_at=next_poll_at,
            last_fetch_at=now,
            last_decision_at=None if feed.last_decision_at is None else now,
        ),
        decision=None if decision is None else replace(decision, next_poll_at=next_poll_at),
    )
