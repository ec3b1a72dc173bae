"""What becomes of a job after a step."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from feedmill.engine.jobs.kind import JobKind, JobRun, settlement_of
from feedmill.model.running.job import Again, Done, Failed, Job, JobResult, Later

NOON = datetime(2025, 10, 14, 12, 0, tzinfo=UTC)
JOB = Job(
    id=7,
    kind="walk",
    key="a",
    state="running",
    created_at=NOON,
    updated_at=NOON,
    not_before=NOON,
    attempts=1,
    epoch=4,
)


async def _never(_: JobRun) -> JobResult:
    raise AssertionError


KIND = JobKind("walk", _never, max_attempts=3, backoff_base_sec=60.0, backoff_cap_sec=100.0)
MINUTE = timedelta(minutes=1)


def test_done_ends_the_job() -> None:
    after = settlement_of(JOB, Done(progress={"pages": 2}, reason="no-link"), KIND, NOON)

    assert (after.job_id, after.epoch, after.state, after.attempts) == (7, 4, "done", 0)
    assert (after.progress, after.last_error) == ({"pages": 2}, "no-link")


def test_again_queues_the_next_step_and_forgets_failed_attempts() -> None:
    result = Again(
        cursor={"page": 2}, progress={"pages": 1}, url="https://a.example/2", after=MINUTE
    )

    after = settlement_of(replace(JOB, attempts=3), result, KIND, NOON)

    assert (after.state, after.attempts, after.not_before) == ("queued", 0, NOON + MINUTE)
    assert (after.cursor, after.url) == ({"page": 2}, "https://a.example/2")


def test_later_counts_no_attempt() -> None:
    after = settlement_of(JOB, Later(wait=MINUTE, reason="robots"), KIND, NOON)

    assert (after.state, after.attempts, after.not_before) == ("queued", 0, NOON + MINUTE)
    assert after.last_error == "robots"


def test_wait_in_the_past_means_now() -> None:
    after = settlement_of(JOB, Later(wait=-MINUTE), KIND, NOON)

    assert after.not_before == NOON


@pytest.mark.parametrize(
    ("attempts", "least", "most"),
    [
        pytest.param(1, 45, 60, id="first failure"),
        pytest.param(2, 75, 100, id="doubled, up to the cap"),
    ],
)
def test_failure_is_retried_with_backoff(attempts: int, least: float, most: float) -> None:
    after = settlement_of(
        replace(JOB, attempts=attempts), Failed(reason="timeout", detail="too slow"), KIND, NOON
    )

    assert (after.state, after.attempts) == ("queued", attempts)
    assert least <= (after.not_before - NOON).total_seconds() <= most
    assert after.last_error == "timeout: too slow"


def test_retry_after_of_a_failure_is_the_least_wait() -> None:
    result = Failed(reason="rate-limited", retry_after=10 * MINUTE)

    assert settlement_of(JOB, result, KIND, NOON).not_before == NOON + 10 * MINUTE


@pytest.mark.parametrize(
    ("attempts", "final"),
    [
        pytest.param(3, False, id="attempts are used up"),
        pytest.param(1, True, id="a retry would be useless"),
    ],
)
def test_job_fails_in_the_end(attempts: int, final: bool) -> None:
    result = Failed(reason="not-found", final=final)

    after = settlement_of(replace(JOB, attempts=attempts), result, KIND, NOON)

    assert (after.state, after.last_error) == ("failed", "not-found")
