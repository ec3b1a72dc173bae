"""Waiting for a store or a disk that fails."""

import asyncio

import pytest

from feedmill.engine.run.lifecycle import (
    FIRST_WAIT_SEC,
    MAX_WAIT_SEC,
    Backoff,
    Lifecycle,
    is_transient,
    retry,
)
from feedmill.errors import BlobError, FeedmillError, SinkError, StoreError, UsageError

Told = list[tuple[str, str | None, float]]

FULL = BlobError("disk-full", "no space")
BUSY = StoreError("held", reason="busy")
CORRUPT = StoreError("damaged", reason="corrupt")


class HurriedWatch(Lifecycle):
    """Waits for nothing, and writes down how long it would have."""

    def __init__(self) -> None:
        self.told: Told = []
        super().__init__("me", store_error_listeners=(self._note,))

    async def sleep_unless_stopping(self, seconds: float) -> None:
        """No time passes in these stories."""

    def _note(self, op: str, problem: FeedmillError | None, wait_sec: float) -> None:
        self.told.append((op, problem.reason if problem else None, wait_sec))


@pytest.mark.parametrize(
    ("problem", "may_pass"),
    [
        (FULL, True),
        (BUSY, True),
        (SinkError("io-error", "broken"), True),
        (StoreError("a dump is being restored", reason="no-schema"), True),
        (CORRUPT, False),  # waiting does not mend it
        (StoreError("a fault", reason="failed"), False),
        (UsageError("nonsense"), False),
        (OSError("not ours"), False),
        (None, False),
    ],
)
def test_what_may_end_without_us_is_waited_for(
    problem: BaseException | None, *, may_pass: bool
) -> None:
    assert is_transient(problem) is may_pass


async def test_the_wait_doubles_up_to_a_limit_and_each_is_told_once() -> None:
    watch = HurriedWatch()
    trouble = Backoff("run", watch)

    for _ in range(10):
        trouble.failed(FULL)
        trouble.failed(BUSY)
        await trouble.wait()
    await trouble.wait()

    waits = [wait for _, _, wait in watch.told]
    assert waits[:3] == [FIRST_WAIT_SEC, FIRST_WAIT_SEC * 2, FIRST_WAIT_SEC * 4]
    assert waits[-1] == MAX_WAIT_SEC
    assert {reason for _, reason, _ in watch.told} == {"disk-full"}
    assert len(watch.told) == 10


async def test_something_that_works_ends_the_trouble_and_is_told_once() -> None:
    watch = HurriedWatch()
    trouble = Backoff("run", watch)
    trouble.failed(FULL)
    trouble.succeeded()  # too early: the failure has not even been told
    states = [trouble.active]

    await trouble.wait()
    trouble.succeeded()
    trouble.succeeded()

    assert [*states, trouble.active] == [True, False]
    assert [reason for _, reason, _ in watch.told] == ["disk-full", None]


async def test_a_trouble_that_waiting_cannot_mend_is_raised() -> None:
    with pytest.raises(StoreError, match="damaged"):
        Backoff("run", HurriedWatch()).failed(CORRUPT)


async def test_an_action_is_repeated_until_it_works() -> None:
    failures = [FULL, BUSY, FULL]

    async def act() -> str:
        if failures:
            raise failures.pop()
        return "done"

    watch = HurriedWatch()
    assert await retry(act, Backoff("write", watch), has_time=lambda: True) == "done"
    assert [reason for _, reason, _ in watch.told][-1] is None


@pytest.mark.parametrize("stopping", [True, False])
async def test_an_action_is_given_up_when_the_time_is_over_or_the_run_ends(
    *, stopping: bool
) -> None:
    async def act() -> None:
        raise FULL

    watch = HurriedWatch()
    if stopping:
        watch.stop()

    with pytest.raises(BlobError):
        await retry(act, Backoff("write", watch), has_time=lambda: stopping)


async def test_work_is_given_up_a_grace_after_the_run_should_end() -> None:
    watch = Lifecycle("me")
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def hang() -> None:
        watch.stop()
        await never

    with pytest.raises(TimeoutError):
        await watch.unless_stopping(hang(), 0.01)
    await asyncio.sleep(0)  # the task sees that it was cancelled
    assert never.cancelled()


async def test_work_that_ends_in_its_own_time_gives_its_result_although_the_run_should_end() -> (
    None
):
    watch = Lifecycle("me")
    watch.stop()

    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await watch.unless_stopping(work(), 5.0) == "done"
