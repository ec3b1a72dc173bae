"""Routes /healthz, /readyz, /metrics, /stats, /service-levels, /status, /simulation, /openapi.json, /docs and /problems."""
# Tested in tests/integration/interfaces/rest/

import asyncio

from litestar import Response

from feedmill.engine.service import figures, queries
from feedmill.engine.service.simulate import DEFAULT_DAYS, simulate_store
from feedmill.engine.service.status import service_levels as levels
from feedmill.engine.service.status import status as engine_status
from feedmill.interfaces.rest import parameters
from feedmill.interfaces.rest.openapi import POLICY
from feedmill.interfaces.rest.problems import PROBLEM_KINDS, RequestError
from feedmill.interfaces.rest.responses import bytes_response, json_response
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.observe.metrics import METRICS_TYPE
from feedmill.publish import figure_shapes
from feedmill.publish.shapes import Problem, Ready

_PLAIN = "text/plain"
_HTML = "text/html"
_READY_SEC = 5.0
routes = Routes("/", "care")


@routes.get("/healthz", None, gives=str, media_type=_PLAIN, conditional=False)
async def is_alive() -> Response[bytes]:
    """Liveness: the process answers. No token required."""
    return Response(b"ok\n", media_type=_PLAIN, headers={"Cache-Control": "no-store"})


@routes.get("/readyz", None, "store-unavailable", gives=Ready, conditional=False)
async def is_ready(request: AnyRequest) -> Response[bytes]:
    """Readiness: the store answers too. No token required."""
    if app_state_of(request).watch.is_stopping():
        raise RequestError(code="store-unavailable", detail="the server is shutting down")
    try:
        async with asyncio.timeout(_READY_SEC):
            ready = await queries.ready(services_of(request))
    except TimeoutError:
        raise RequestError(
            code="store-unavailable", detail="the store did not answer in time"
        ) from None
    return json_response(request, ready, headers={"Cache-Control": "no-store"})


@routes.get("/metrics", "read", gives=str, media_type=METRICS_TYPE, conditional=False)
async def get_metrics(request: AnyRequest) -> Response[bytes]:
    """Metrics of this process for Prometheus; OpenMetrics with exemplars for a client that accepts it."""
    page, kind = app_state_of(request).metrics.page_for(request.headers.get("accept", ""))
    return Response(page, media_type=kind, headers={"Cache-Control": "no-store", "Vary": "Accept"})


@routes.get("/stats", "read", "bad-parameter")
async def get_stats(
    request: AnyRequest,
    since: parameters.RangeSince = None,
    until: parameters.RangeUntil = None,
    granularity: parameters.GranularityQuery = "hour",
) -> figure_shapes.Stats:
    """Count feeds, entries, fetches and events; figures of all feeds by the hour or day."""
    return await figures.stats(
        services_of(request),
        since=parameters.moment(since, "since"),
        until=parameters.moment(until, "until"),
        granularity=granularity,
    )


@routes.get("/stats/top", "read", "bad-parameter")
async def get_top_feeds(
    request: AnyRequest,
    by: parameters.TopByQuery = "new",
    since: parameters.RangeSince = None,
    until: parameters.RangeUntil = None,
    limit: parameters.TopLimit = None,
) -> figure_shapes.TopFeeds:
    """Rank feeds by new entries, bytes, errors, latency or lag, over whole days."""
    return await figures.top_feeds(
        by,
        services_of(request),
        since=parameters.moment(since, "since"),
        until=parameters.moment(until, "until"),
        limit=limit,
    )


@routes.get("/service-levels", "read", "bad-parameter")
async def get_service_levels(
    request: AnyRequest, day: parameters.DayQuery = None
) -> figure_shapes.ServiceLevels:
    """Service levels of a day: latency, failed fetches, feeds polled on time."""
    return await levels(services_of(request), day=parameters.moment(day, "day"))


@routes.get("/status", "read", gives=figure_shapes.StatusShape, conditional=False)
async def get_status(request: AnyRequest) -> Response[bytes]:
    """The whole engine at a glance: feeds, recent polls, resting hosts, sizes, what to do next."""
    found = await engine_status(services_of(request))
    return json_response(request, found, headers={"Cache-Control": "no-store"})


@routes.get("/simulation", "read", "bad-parameter")
async def simulate(
    request: AnyRequest,
    policy: parameters.PolicyQuery = None,
    settings: parameters.SettingsQuery = None,
    days: parameters.DaysQuery = DEFAULT_DAYS,
) -> figure_shapes.SimulationShape:
    """Replay the recorded past of all feeds, or an even sample, under another scheduling policy."""
    services = services_of(request)
    config = parameters.candidate_policy(services.config.schedule, policy, settings)
    return (await simulate_store(services, config, days=days)).shape


@routes.get("/openapi.json", None, gives=dict)
async def get_document(request: AnyRequest) -> Response[bytes]:
    """This API as an OpenAPI 3.1 document."""
    return bytes_response(request, request.app.state.openapi().document, "application/json")


@routes.get("/docs", None, gives=str, media_type=_HTML)
async def get_page(request: AnyRequest) -> Response[bytes]:
    """This API as an HTML page without external assets."""
    page = request.app.state.openapi().page
    return bytes_response(request, page, _HTML, headers={"Content-Security-Policy": POLICY})


@routes.get("/problems/{code:str}", None, "not-found")
async def get_problem(request: AnyRequest, code: parameters.ProblemCode) -> Problem:  # noqa: ARG001  # for its answer
    """Describe a problem type: the target of its `type` URI."""
    kind = PROBLEM_KINDS.get(code)
    if kind is None:
        raise RequestError(code="not-found", detail="unknown problem code")
    return Problem(type=f"/problems/{code}", title=kind.title, status=kind.status)
