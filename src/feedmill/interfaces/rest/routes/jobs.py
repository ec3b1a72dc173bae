"""Routes /jobs: background work, its progress, cancellation and retry."""
# Tested in tests/integration/interfaces/rest/

from functools import partial
from typing import Annotated

from litestar import Response, Router, get, post
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from feedmill.engine.service import jobs
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.parameters import Cursor, Limit
from feedmill.interfaces.rest.responses import json_response, list_response
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.running.job import JobState
from feedmill.publish.shapes import MAX_SEQ, JobPage, JobShape

JobId = Annotated[int, PathParameter(description="The number of a job.", ge=1, le=MAX_SEQ)]
Kind = Annotated[str | None, QueryParameter(description="Only jobs of this kind.", max_length=100)]
OfFeed = Annotated[
    str | None, QueryParameter(description="Only jobs of this feed.", max_length=100)
]


@get("/", **describe("listJobs", "read", JobPage, "bad-cursor", lines=True, conditional=False))
async def list_jobs(
    request: AnyRequest,
    kind: Kind = None,
    state_is: Annotated[
        JobState | None, QueryParameter(name="state", description="Only jobs in this state.")
    ] = None,
    feed: OfFeed = None,
    cursor: Cursor = None,
    limit: Limit = None,
) -> Response[bytes] | Stream:
    """List background jobs, newest first."""
    ask = partial(jobs.list_jobs, services_of(request), kind=kind, state=state_is, feed_id=feed)
    return await list_response(request, lambda after: ask(cursor=after, limit=limit), cursor)


@get("/{job_id:int}", **describe("getJob", "read", JobShape, "not-found"))
async def get_job(request: AnyRequest, job_id: JobId) -> Response[bytes]:
    """Get one job."""
    return json_response(request, await jobs.get_job(job_id, services_of(request)))


@post(
    "/{job_id:int}/cancel",
    **describe("cancelJob", "write", JobShape, "not-found", "conflict", status=200),
)
async def cancel_job(request: AnyRequest, job_id: JobId) -> Response[bytes]:
    """Cancel a job that waits or runs; what it has stored stays."""
    return json_response(request, await jobs.cancel_job(job_id, services_of(request)))


@post(
    "/{job_id:int}/retry",
    **describe("retryJob", "write", JobShape, "not-found", "conflict", status=200),
)
async def retry_job(request: AnyRequest, job_id: JobId) -> Response[bytes]:
    """Queue a job again that has ended; it continues where it was."""
    return json_response(request, await jobs.retry_job(job_id, services_of(request)))


job_routes = Router(
    "/jobs", tags=["jobs"], route_handlers=[list_jobs, get_job, cancel_job, retry_job]
)
