"""The pulse of a run: which of its parts looked for work lately, and which wait for a trouble to pass.

A run that waits for a full disk is alive and not ready; one that neither looks nor waits has stalled.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from feedmill.engine.ports.clock import Clock
from feedmill.errors import FeedmillError
from feedmill.model.worker import Unready

# A trouble is told again at each wait. One that is not told again may be over (nothing was due since,
# to show it), or a try takes long: then it is no reason any more, and no reason to start anew either.
_TOLD_SEC: Final = 20.0
_TRYING_SEC: Final = 120.0


class _Trouble(NamedTuple):
    problem: FeedmillError
    at: float


class Liveness:
    """Listens to a watch; `parts` are those that have to look for work again and again."""

    def __init__(self, clock: Clock, parts: Sequence[str], *, stall_sec: float) -> None:
        self._clock, self._stall_sec = clock, stall_sec
        self._began = clock.monotonic()
        self._looked: dict[str, float | None] = dict.fromkeys(parts)
        self._troubles: dict[str, _Trouble] = {}

    def record(self, part: str) -> None:
        """Note that a part has looked for work."""
        if part in self._looked:
            self._looked[part] = self._clock.monotonic()

    def record_refresh(self, *_: object) -> None:
        """Note that a feed was polled: with every place taken, nobody looks for more."""
        self.record("polls")

    def record_failure(self, op: str, problem: FeedmillError | None, _: float) -> None:
        """Note that a part of the run waits, or that it works again."""
        if problem is None:
            self._troubles.pop(op, None)
        else:
            self._troubles[op] = _Trouble(problem, self._clock.monotonic())

    def is_alive(self) -> bool:
        """False when a part has neither looked nor said that it waits: starting again may help."""
        is_waiting = bool(self._told_within(_TRYING_SEC))
        return is_waiting or not any(map(self._has_stalled, self._looked))

    def unready(self) -> tuple[Unready, ...]:
        """Why the run is not ready, as far as it knows without asking anybody."""
        waiting = [
            Unready(reason=trouble.problem.reason, part=op, detail=str(trouble.problem))
            for op, trouble in self._told_within(_TOLD_SEC).items()
        ]
        starting = [
            Unready(reason="starting", part=part)
            for part, at in self._looked.items()
            if at is None and not self._has_stalled(part)
        ]
        stalled = [
            Unready(reason="stalled", part=part)
            for part in self._looked
            if self._has_stalled(part) and not self._told_within(_TRYING_SEC)
        ]
        return (*waiting, *starting, *stalled)

    def _told_within(self, seconds: float) -> dict[str, _Trouble]:
        since = self._clock.monotonic() - seconds
        return {op: trouble for op, trouble in self._troubles.items() if trouble.at > since}

    def _has_stalled(self, part: str) -> bool:
        at = self._looked[part]
        return self._clock.monotonic() - (self._began if at is None else at) > self._stall_sec
