"""Starts the walk through a feed's archive, and says beforehand where it would go."""
# Tested in tests/integration/engine/jobs/test_backfill.py

from feedmill.archive.walk import BACKFILL, ArchiveWalk, backfill_job, first_page
from feedmill.engine.jobs.backfill import stored_page
from feedmill.engine.run.services import Services
from feedmill.engine.service.jobs import job_shape
from feedmill.errors import ConflictError, UsageError
from feedmill.fetch.guard import printable_url
from feedmill.model.feed import Feed
from feedmill.publish.shapes import BackfillShape


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
