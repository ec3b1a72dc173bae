"""Routes /jobs: background work, its progress, cancellation and retry."""
# Tested in tests/integration/interfaces/rest/

from functools import partial
from typing import Annotated

from feedmill.engine.service import jobs
from feedmill.interfaces.rest.parameters import Cursor, Limit, path, query
from feedmill.interfaces.rest.responses import ListAnswer, list_response
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.running.job import JobState
from feedmill.publish.shapes import MAX_SEQ, JobPage, JobShape

JobId = Annotated[int, path("The number of a job.", ge=1, le=MAX_SEQ)]
Kind = Annotated[str | None, query("Only jobs of this kind.", max_length=100)]
OfFeed = Annotated[str | None, query("Only jobs of this feed.", max_length=100)]
routes = Routes("/jobs", "jobs")


@routes.get("/", "read", "bad-cursor", gives=JobPage, lines=True, conditional=False)
async def list_jobs(
    request: AnyRequest,
    kind: Kind = None,
    state_is: Annotated[JobState | None, query("Only jobs in this state.", name="state")] = None,
    feed: OfFeed = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> ListAnswer:
    """List background jobs, newest first."""
    ask = partial(
        jobs.list_jobs, services_of(request), kind=kind, state=state_is, feed_id=feed, limit=limit
    )
    return await list_response(request, ask, cursor)


@routes.get("/{job_id:int}", "read", "not-found")
async def get_job(request: AnyRequest, job_id: JobId) -> JobShape:
    """Get one job."""
    return await jobs.get_job(job_id, services_of(request))


@routes.post("/{job_id:int}/cancel", "write", "not-found conflict", status=200)
async def cancel_job(request: AnyRequest, job_id: JobId) -> JobShape:
    """Cancel a job that waits or runs; what it has stored stays."""
    return await jobs.cancel_job(job_id, services_of(request))


@routes.post("/{job_id:int}/retry", "write", "not-found conflict", status=200)
async def retry_job(request: AnyRequest, job_id: JobId) -> JobShape:
    """Queue a job again that has ended; it continues where it was."""
    return await jobs.retry_job(job_id, services_of(request))
