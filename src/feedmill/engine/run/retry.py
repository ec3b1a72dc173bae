"""Retry with backoff for transient store and disk errors.

A full disk becomes free, another program releases the database, a mount comes back: a run waits for
that, longer each time, and reports it. Any other error ends it, because waiting would only hide it.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError

T = TypeVar("T")

TRANSIENT_STORE: Final = frozenset(
    {
        "busy",
        "disk-full",
        "io-error",
        "read-only",
        "cannot-open",
        "too-slow",
        "unreachable",
        "no-schema",
    }
)
STORE_AWAY: Final = frozenset({"busy", "cannot-open"})  # it may come back without a write to it
FIRST_WAIT_SEC: Final = 0.25
MAX_WAIT_SEC: Final = 15.0


def is_transient(problem: BaseException | None) -> bool:
    """True for an error that may pass by itself."""
    return isinstance(problem, FeedmillError) and problem.reason in TRANSIENT_STORE


class Backoff:
    """The backoff of one loop: active from a failure until something works."""

    def __init__(self, op: str, lifecycle: Lifecycle) -> None:
        self.op, self.lifecycle = op, lifecycle
        self.active = False
        self.reason = ""  # of the last failure
        self._problem: FeedmillError | None = None  # since the last wait
        self._wait_sec = FIRST_WAIT_SEC / 2

    def failed(self, problem: FeedmillError) -> None:
        """Note a failure; of several at once the first is reported. Raises one that is not transient."""
        if not is_transient(problem):
            raise problem
        self.active = True
        self.reason = problem.reason
        self._problem = self._problem or problem

    async def wait(self) -> None:
        """Wait when there was a failure, twice as long as the last time."""
        problem, self._problem = self._problem, None
        if problem is not None:
            self._wait_sec = min(self._wait_sec * 2, MAX_WAIT_SEC)
            self.lifecycle.on_store_error(self.op, problem, self._wait_sec)
            await self.lifecycle.sleep_unless_stopping(self._wait_sec)

    def succeeded(self) -> None:
        """Something worked. The next wait begins lower, not at the bottom: errors come back."""
        if self.active and self._problem is None:
            self.active = False
            self._wait_sec = max(self._wait_sec / 4, FIRST_WAIT_SEC / 2)
            self.lifecycle.on_store_recovered(self.op)


async def retry(
    action: Callable[[], Awaitable[T]], backoff: Backoff, *, has_time: Callable[[], bool]
) -> T:
    """What the action returns, retried after transient errors while there is time."""
    while True:
        try:
            value = await action()
        except FeedmillError as problem:
            if not has_time() or backoff.lifecycle.is_stopping():
                raise
            backoff.failed(problem)
            await backoff.wait()
        else:
            backoff.succeeded()
            return value
