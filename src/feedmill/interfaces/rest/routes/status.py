"""Routes /healthz, /readyz, /metrics, /stats, /openapi.json, /docs and /problems."""
# Tested in tests/integration/interfaces/rest/

import asyncio

from litestar import Response, Router, get

from feedmill.engine.service import queries
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.openapi_page import POLICY
from feedmill.interfaces.rest.parameters import ProblemCode
from feedmill.interfaces.rest.problems import PROBLEM_KINDS, RequestError
from feedmill.interfaces.rest.responses import bytes_response, json_response
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.observe.metrics import METRICS_TYPE
from feedmill.publish.shapes import Counts, Problem, Ready

_PLAIN = "text/plain"
_HTML = "text/html"
_READY_SEC = 5.0


@get("/healthz", **describe("isAlive", None, str, media_type=_PLAIN, conditional=False))
async def healthz() -> Response[bytes]:
    """Liveness: the process answers. No token required."""
    return Response(b"ok\n", media_type=_PLAIN, headers={"Cache-Control": "no-store"})


@get("/readyz", **describe("isReady", None, Ready, "store-unavailable", conditional=False))
async def readyz(request: AnyRequest) -> Response[bytes]:
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


@get("/metrics", **describe("getMetrics", "read", str, media_type=METRICS_TYPE, conditional=False))
async def metrics(request: AnyRequest) -> Response[bytes]:
    """Metrics of this process for Prometheus; OpenMetrics with exemplars for a client that accepts it."""
    page, kind = app_state_of(request).metrics.page_for(request.headers.get("accept", ""))
    return Response(page, media_type=kind, headers={"Cache-Control": "no-store", "Vary": "Accept"})


@get("/stats", **describe("getStats", "read", Counts))
async def stats(request: AnyRequest) -> Response[bytes]:
    """Count feeds, entries, fetches and events."""
    return json_response(request, await queries.counts(services_of(request)))


@get("/openapi.json", **describe("getDocument", None, dict))
async def openapi(request: AnyRequest) -> Response[bytes]:
    """This API as an OpenAPI 3.1 document."""
    return bytes_response(request, request.app.state.openapi().document, "application/json")


@get("/docs", **describe("getPage", None, str, media_type=_HTML))
async def docs(request: AnyRequest) -> Response[bytes]:
    """This API as an HTML page without external assets."""
    page = request.app.state.openapi().page
    return bytes_response(request, page, _HTML, headers={"Content-Security-Policy": POLICY})


@get("/problems/{code:str}", **describe("getProblem", None, Problem, "not-found"))
async def problem(request: AnyRequest, code: ProblemCode) -> Response[bytes]:
    """Describe a problem type: the target of its `type` URI."""
    kind = PROBLEM_KINDS.get(code)
    if kind is None:
        raise RequestError(code="not-found", detail="unknown problem code")
    shown = Problem(type=f"/problems/{code}", title=kind.title, status=kind.status)
    return json_response(request, shown)


care_routes = Router(
    "/", tags=["care"], route_handlers=[healthz, readyz, metrics, stats, openapi, docs, problem]
)
