"""When the store or a disk fails: what is worth waiting for, and how long.

A full disk becomes free, a foreign program lets go of the database, a mount comes back: a run
waits for that, longer each time, and says so. Anything else ends it, because waiting would only
hide it.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.errors import FeedmillError

T = TypeVar("T")

TRANSIENT_STORE: Final = frozenset(
    {"busy", "disk-full", "io-error", "read-only", "cannot-open", "too-slow", "unreachable"}
)
STORE_AWAY: Final = frozenset({"busy", "cannot-open"})  # it may come back without a write to it
FIRST_WAIT_SEC: Final = 0.25
MAX_WAIT_SEC: Final = 15.0


def is_transient(problem: BaseException | None) -> bool:
    """True for a trouble that may end without us."""
    return isinstance(problem, FeedmillError) and problem.reason in TRANSIENT_STORE


class Backoff:
    """One part of a run, and how it fares: in trouble from a failure until something works."""

    def __init__(self, op: str, watch: Lifecycle) -> None:
        self.op, self.watch = op, watch
        self.active = False
        self.reason = ""  # of the failure that was met last
        self._problem: FeedmillError | None = None  # met since the last rest
        self._wait_sec = FIRST_WAIT_SEC / 2

    def failed(self, problem: FeedmillError) -> None:
        """Note a failure; of many at once the first is told. Raises what waiting cannot mend."""
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
            self.watch.on_store_error(self.op, problem, self._wait_sec)
            await self.watch.sleep_unless_stopping(self._wait_sec)

    def succeeded(self) -> None:
        """Something worked. The next wait begins lower, not at the bottom: troubles come back."""
        if self.active and self._problem is None:
            self.active = False
            self._wait_sec = max(self._wait_sec / 4, FIRST_WAIT_SEC / 2)
            self.watch.on_store_recovered(self.op)


async def retry(
    action: Callable[[], Awaitable[T]], trouble: Backoff, *, has_time: Callable[[], bool]
) -> T:
    """What the action returns, tried again through a passing trouble while there is time."""
    while True:
        try:
            value = await action()
        except FeedmillError as problem:
            if not has_time() or trouble.watch.is_stopping():
                raise
            trouble.failed(problem)
            await trouble.wait()
        else:
            trouble.succeeded()
            return value
