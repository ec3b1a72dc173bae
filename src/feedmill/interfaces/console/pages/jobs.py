"""Jobs: background work, its progress, cancel and retry; workers: the processes that do it, their heartbeats and leases."""
# Tested in tests/integration/interfaces/console/

from datetime import timedelta
from typing import Any, Final

from litestar import Response, post

from feedmill.engine.run.readiness import SILENT_AFTER_SEC
from feedmill.engine.service.jobs import cancel_job, list_jobs, retry_job
from feedmill.errors import NotFoundError
from feedmill.interfaces.console.render import go_to, view
from feedmill.interfaces.console.session import SCOPE, read_form, text_field, unknown_action
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.running.job import JOB_STATES

HERE: Final = "/console/jobs"
_PER_PAGE: Final = 50
_MOST_DIGITS: Final = 18
_MOST_LANES: Final = 200


@view("/console/jobs", "jobs.html", "Jobs")
async def jobs(request: AnyRequest) -> dict[str, Any]:
    """Jobs, the newest first, and how many of each kind are in which state."""
    services, given = services_of(request), request.query_params
    state = given.get("state")
    kind = str(given.get("kind") or "")[:100] or None
    counts = await services.store.job_counts()
    found = await list_jobs(
        services,
        kind=kind,
        state=state if state in JOB_STATES else None,
        cursor=given.get("cursor") or None,
        limit=_PER_PAGE,
    )
    return {
        "jobs": found,
        "counts": counts,
        "kinds": sorted({one.kind for one in counts}),
        "states": JOB_STATES,
        "kind": kind or "",
        "state": state or "",
    }


@post("/console/jobs/{job_id:str}/change", status_code=200, opt={SCOPE: "write"})
async def change(request: AnyRequest) -> Response[bytes]:
    """Cancel a job, or queue it again."""
    form, services = await read_form(request), services_of(request)
    given = str(request.path_params["job_id"])
    if not given.isdecimal() or len(given) > _MOST_DIGITS:
        message = f"there is no job {given[:40]!r}"
        raise NotFoundError(message)
    match text_field(form, "action"):
        case "cancel":
            await cancel_job(int(given), services)
            words = f"Job {given} is cancelled."
        case "retry":
            await retry_job(int(given), services)
            words = f"Job {given} is queued again."
        case other:
            raise unknown_action(other)
    return go_to(request, HERE, words)


@view("/console/workers", "workers.html", "Workers")
async def workers(request: AnyRequest) -> dict[str, Any]:
    """Every process, with the hosts that it has leased."""
    services = services_of(request)
    now = services.clock.now()
    silent = now - timedelta(seconds=SILENT_AFTER_SEC)
    found = await services.store.workers()
    return {
        "workers": [(view, view.worker is None or view.worker.seen_at < silent) for view in found],
        "due": await services.store.due_lanes(now),
        "most": _MOST_LANES,
    }
