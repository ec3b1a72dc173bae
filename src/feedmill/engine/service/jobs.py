"""Background jobs for every interface: list, show, cancel, retry; and the walk through a feed's archive."""
# Tested in tests/integration/engine/jobs/

from feedmill.archive import ArchiveWalk, first_page
from feedmill.engine.jobs.backfill import stored_page
from feedmill.engine.run.services import Services
from feedmill.engine.service.queries import clamp_limit, one_of
from feedmill.errors import ConflictError, UsageError, required
from feedmill.fetch.guard import printable_url
from feedmill.model.base import filled
from feedmill.model.feed import Feed
from feedmill.model.running.job import JOB_STATES, Job, JobFilter
from feedmill.publish.shapes import BackfillShape, JobPage, JobShape
from feedmill.publish.to_json import read_cursor, write_cursor
from feedmill.schedule.follow_up import BACKFILL, backfill_job


async def list_jobs(
    services: Services,
    *,
    kind: str | None = None,
    state: str | None = None,
    feed_id: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> JobPage:
    """Jobs, the newest first."""
    wanted = one_of(state, JOB_STATES, "state of a job")
    page = await services.store.jobs(
        JobFilter(kind=kind, state=wanted, feed_id=feed_id),
        after=read_cursor("jobs", cursor),
        limit=clamp_limit(limit),
    )
    return JobPage(
        items=tuple(job_shape(one) for one in page.items), next=write_cursor("jobs", page.next)
    )


async def get_job(job_id: int, services: Services) -> JobShape:
    """One job."""
    return job_shape(await _require(job_id, services))


async def cancel_job(job_id: int, services: Services) -> JobShape:
    """End a job that waits or runs; what it has stored so far stays."""
    job = await _require(job_id, services)
    if not await services.store.cancel_job(job_id, now=services.clock.now()):
        message = f"job {job_id} has ended already ({job.state})"
        raise ConflictError(message, reason="job-ended", hint="nothing is left to cancel")
    return await get_job(job_id, services)


async def retry_job(job_id: int, services: Services) -> JobShape:
    """Queue a job again that has ended; it continues where it was."""
    job = await _require(job_id, services)
    if not await services.store.retry_job(job_id, now=services.clock.now()):
        message = f"job {job_id} has not ended ({job.state})"
        raise ConflictError(message, reason="job-not-ended", hint="cancel it first, or wait")
    return await get_job(job_id, services)


def job_shape(job: Job) -> JobShape:
    """The job without its payload; its address without credentials."""
    return filled(JobShape, job, url=None if job.url is None else printable_url(job.url))


async def _require(job_id: int, services: Services) -> Job:
    found = await services.store.job(job_id)
    return required(found, f"there is no job {job_id}", "list them: feedmill jobs")


async def start_backfill(
    feed: Feed, services: Services, *, pages: int | None = None
) -> BackfillShape:
    """Queue the walk; one that has ended begins anew, one that is under way goes on."""
    if pages is not None and pages < 1:
        message = f"{pages} pages cannot be read; use 1 or more"
        raise UsageError(message)
    now = services.clock.now()
    job, _ = await services.store.add_job(
        backfill_job(feed, max_pages=pages), now=now, restart=True
    )
    return BackfillShape(feed_id=feed.id, state=job.state, job=job_shape(job))


async def backfill_status(feed: Feed, services: Services) -> BackfillShape:
    """How far the walk through the feed's archive has come."""
    job = await services.store.find_job(BACKFILL, feed.id)
    if job is None:
        return await plan_backfill(feed, services)
    return BackfillShape(feed_id=feed.id, state=job.state, job=job_shape(job))


async def plan_backfill(feed: Feed, services: Services) -> BackfillShape:
    """What a walk would begin with; nothing is requested and nothing is queued."""
    page = await stored_page(feed, services)
    if page is None:
        return BackfillShape(feed_id=feed.id, state="unknown", reason="never-polled")
    found = first_page(page, wordpress=services.config.backfill.wordpress)
    if isinstance(found, ArchiveWalk):
        return BackfillShape(
            feed_id=feed.id, state="possible", kind=found.kind, first_url=printable_url(found.url)
        )
    return BackfillShape(feed_id=feed.id, state="impossible", reason=found.reason)


async def cancel_backfill(feed: Feed, services: Services) -> BackfillShape:
    """End the walk; the entries that it has stored stay."""
    job = await services.store.find_job(BACKFILL, feed.id)
    if job is None or not await services.store.cancel_job(job.id, now=services.clock.now()):
        message = f"no backfill of {printable_url(feed.url)} is under way"
        raise ConflictError(message, reason="job-ended", hint="start one: feedmill backfill FEED")
    return await backfill_status(feed, services)
