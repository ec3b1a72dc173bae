"""What becomes of a job after a step: done, queued again, retried with backoff, or failed."""

from datetime import datetime, timedelta
from typing import assert_never

from msgspec.structs import replace

from feedmill.engine.jobs.kind import JobKind
from feedmill.model.running.job import Again, Done, Failed, Job, JobResult, JobSettlement, Later
from feedmill.publish.webhook_delivery import backoff_sec

_ERROR_CHARS = 500
_NOW = timedelta(0)


def settlement_of(job: Job, result: JobResult, kind: JobKind, now: datetime) -> JobSettlement:
    """The job after a step that ended like this."""
    queued = JobSettlement(
        job_id=job.id,
        epoch=job.epoch,
        at=now,
        state="queued",
        not_before=now,
        attempts=job.attempts,
    )
    match result:
        case Done(progress=progress, reason=reason):
            error = reason[:_ERROR_CHARS]
            return replace(queued, state="done", attempts=0, progress=progress, last_error=error)
        case Again(cursor=cursor, progress=progress, url=url, after=after):
            due = now + max(after, _NOW)
            return replace(
                queued, not_before=due, attempts=0, cursor=cursor, progress=progress, url=url
            )
        case Later(wait=wait, reason=reason):
            due, error = now + max(wait, _NOW), reason[:_ERROR_CHARS]
            return replace(queued, not_before=due, attempts=job.attempts - 1, last_error=error)
        case Failed():
            return _after_failure(job, result, kind, queued)
        case _:
            assert_never(result)


def _after_failure(job: Job, failed: Failed, kind: JobKind, queued: JobSettlement) -> JobSettlement:
    error = f"{failed.reason}: {failed.detail}" if failed.detail else failed.reason
    queued = replace(queued, last_error=error[:_ERROR_CHARS])
    if failed.final or job.attempts >= kind.max_attempts:
        return replace(queued, state="failed")
    own = backoff_sec(
        f"{job.kind}/{job.key}",
        job.id,
        job.attempts,
        base_sec=kind.backoff_base_sec,
        cap_sec=kind.backoff_cap_sec,
    )
    wait = max(timedelta(seconds=own), failed.retry_after or _NOW)
    return replace(queued, not_before=queued.at + wait)
