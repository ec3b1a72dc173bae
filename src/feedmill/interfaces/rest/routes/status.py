"""Routes /healthz, /readyz, /metrics, /stats, /openapi.json, /docs and /problems."""

import asyncio

from litestar import Response, Router, get

from feedmill.engine.service import queries
from feedmill.interfaces.rest.openapi import RouteDescription, route_options
from feedmill.interfaces.rest.parameters import ProblemCode
from feedmill.interfaces.rest.problems import PROBLEM_KINDS, RequestError
from feedmill.interfaces.rest.responses import bytes_response, json_response
from feedmill.interfaces.rest.state import AnyRequest, app_state_of, services_of
from feedmill.publish.shapes import Counts, Problem, Ready

_PLAIN = "text/plain"
_METRICS = "text/plain; version=0.0.4"
_HTML = "text/html"
_READY_SEC = 5.0


@get(
    "/healthz",
    operation_id="isAlive",
    summary="Liveness: the process answers. No token required.",
    opt=route_options(None, RouteDescription(gives=str, media_type=_PLAIN)),
)
async def healthz() -> Response[bytes]:
    return Response(b"ok\n", media_type=_PLAIN, headers={"Cache-Control": "no-store"})


@get(
    "/readyz",
    operation_id="isReady",
    summary="Readiness: the store answers too. No token required.",
    opt=route_options(None, RouteDescription(gives=Ready, problems=("store-unavailable",))),
)
async def readyz(request: AnyRequest) -> Response[bytes]:
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


@get(
    "/metrics",
    operation_id="getMetrics",
    summary="Metrics of this process for Prometheus.",
    opt=route_options("read", RouteDescription(gives=str, media_type=_METRICS)),
)
async def metrics(request: AnyRequest) -> Response[bytes]:
    page = app_state_of(request).metrics.page()
    return Response(page, media_type=_METRICS, headers={"Cache-Control": "no-store"})


@get(
    "/stats",
    operation_id="getStats",
    summary="Count feeds, entries, fetches and events.",
    opt=route_options("read", RouteDescription(gives=Counts, conditional=True)),
)
async def stats(request: AnyRequest) -> Response[bytes]:
    return json_response(request, await queries.counts(services_of(request)))


@get(
    "/openapi.json",
    operation_id="getDocument",
    summary="This API as an OpenAPI 3.1 document.",
    opt=route_options(None, RouteDescription(gives=dict, conditional=True)),
)
async def openapi(request: AnyRequest) -> Response[bytes]:
    return bytes_response(request, request.app.state.document, "application/json")


@get(
    "/docs",
    operation_id="getPage",
    summary="This API as an HTML page without external assets.",
    opt=route_options(None, RouteDescription(gives=str, media_type=_HTML, conditional=True)),
)
async def docs(request: AnyRequest) -> Response[bytes]:
    policy = {"Content-Security-Policy": request.app.state.page_policy}
    return bytes_response(request, request.app.state.page, _HTML, headers=policy)


@get(
    "/problems/{code:str}",
    operation_id="getProblem",
    summary="Describe a problem type: the target of its `type` URI.",
    opt=route_options(
        None, RouteDescription(gives=Problem, conditional=True, problems=("not-found",))
    ),
)
async def problem(request: AnyRequest, code: ProblemCode) -> Response[bytes]:
    kind = PROBLEM_KINDS.get(code)
    if kind is None:
        raise RequestError(code="not-found", detail="unknown problem code")
    shown = Problem(type=f"/problems/{code}", title=kind.title, status=kind.status)
    return json_response(request, shown)


care_routes = Router(
    "/",
    tags=["care"],
    route_handlers=[healthz, readyz, metrics, stats, openapi, docs, problem],
)
