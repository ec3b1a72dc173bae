"""Liveness: when each background loop last ran, and which of them wait to retry.

A run that waits for a full disk is alive and not ready; one that neither runs nor waits has
stalled.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from feedmill.engine.ports.clock import Clock
from feedmill.errors import FeedmillError
from feedmill.model.running.worker import Unready

# An error is reported again at each wait. One that is not reported again may be over (nothing was due
# since, to show it), or a try takes long: then it is no reason any more, and no reason to restart either.
_REPORTED_SEC: Final = 20.0
_TRYING_SEC: Final = 120.0


class _Failure(NamedTuple):
    problem: FeedmillError
    at: float


class Liveness:
    """Listens to a lifecycle; `parts` are the loops that have to look for work again and again."""

    def __init__(self, clock: Clock, parts: Sequence[str], *, stall_sec: float) -> None:
        self._clock, self._stall_sec = clock, stall_sec
        self._began = clock.monotonic()
        self._looked: dict[str, float | None] = dict.fromkeys(parts)
        self._failures: dict[str, _Failure] = {}

    def record(self, part: str) -> None:
        """Note that a loop has looked for work."""
        if part in self._looked:
            self._looked[part] = self._clock.monotonic()

    def record_refresh(self, *_: object) -> None:
        """Note that a feed was polled: while all workers are busy, no lane is claimed."""
        self.record("polls")

    def record_failure(self, op: str, problem: FeedmillError | None, _: float) -> None:
        """Note that a loop waits to retry, or that it works again."""
        if problem is None:
            self._failures.pop(op, None)
        else:
            self._failures[op] = _Failure(problem, self._clock.monotonic())

    def is_alive(self) -> bool:
        """False when a loop has neither run nor reported that it waits: a restart may help."""
        is_waiting = bool(self._failed_within(_TRYING_SEC))
        return is_waiting or not any(map(self._has_stalled, self._looked))

    def unready(self) -> tuple[Unready, ...]:
        """Why the run is not ready, as far as its loops have reported."""
        waiting = [
            Unready(reason=failure.problem.reason, part=op, detail=str(failure.problem))
            for op, failure in self._failed_within(_REPORTED_SEC).items()
        ]
        starting = [
            Unready(reason="starting", part=part)
            for part, at in self._looked.items()
            if at is None and not self._has_stalled(part)
        ]
        stalled = [
            Unready(reason="stalled", part=part)
            for part in self._looked
            if self._has_stalled(part) and not self._failed_within(_TRYING_SEC)
        ]
        return (*waiting, *starting, *stalled)

    def _failed_within(self, seconds: float) -> dict[str, _Failure]:
        since = self._clock.monotonic() - seconds
        return {op: failure for op, failure in self._failures.items() if failure.at > since}

    def _has_stalled(self, part: str) -> bool:
        at = self._looked[part]
        return self._clock.monotonic() - (self._began if at is None else at) > self._stall_sec
