"""What becomes of a job after a step: done, queued again, retried with backoff, or failed."""

from datetime import datetime, timedelta
from typing import assert_never

from feedmill.engine.jobs.kind import JobKind
from feedmill.model.running.job import Again, Done, Failed, Job, JobResult, JobSettlement, Later
from feedmill.publish.webhook_delivery import backoff_sec

_ERROR_CHARS = 500


def settlement_of(job: Job, result: JobResult, kind: JobKind, now: datetime) -> JobSettlement:
    """The job after a step that ended like this."""
    match result:
        case Done(progress=progress, reason=reason):
            return _settlement(job, now, state="done", attempts=0, progress=progress, error=reason)
        case Again():
            return _settlement(
                job,
                now,
                wait=result.after,
                attempts=0,
                cursor=result.cursor,
                progress=result.progress,
                url=result.url,
            )
        case Later(wait=wait, reason=reason):
            return _settlement(job, now, wait=wait, attempts=job.attempts - 1, error=reason)
        case Failed():
            return _after_failure(job, result, kind, now)
        case _:
            assert_never(result)


def _after_failure(job: Job, failed: Failed, kind: JobKind, now: datetime) -> JobSettlement:
    error = f"{failed.reason}: {failed.detail}" if failed.detail else failed.reason
    if failed.final or job.attempts >= kind.max_attempts:
        return _settlement(job, now, state="failed", attempts=job.attempts, error=error)
    own = backoff_sec(
        f"{job.kind}/{job.key}",
        job.id,
        job.attempts,
        base_sec=kind.backoff_base_sec,
        cap_sec=kind.backoff_cap_sec,
    )
    wait = max(timedelta(seconds=own), failed.retry_after or timedelta(0))
    return _settlement(job, now, wait=wait, attempts=job.attempts, error=error)


def _settlement(
    job: Job,
    now: datetime,
    *,
    attempts: int,
    state: str = "queued",
    wait: timedelta = timedelta(0),
    cursor: dict[str, object] | None = None,
    progress: dict[str, object] | None = None,
    url: str | None = None,
    error: str = "",
) -> JobSettlement:
    return JobSettlement(
        job_id=job.id,
        epoch=job.epoch,
        at=now,
        state=state,  # type: ignore[arg-type]  # one of the words above
        not_before=now + max(wait, timedelta(0)),
        attempts=attempts,
        cursor=cursor,
        progress=progress,
        url=url,
        last_error=error[:_ERROR_CHARS],
    )
