"""/healthz, /readyz, /metrics, /stats, and what the door says about itself."""

import asyncio

from litestar import Response, Router, get

from feedmill.engine.service import queries
from feedmill.interfaces.rest.openapi import ProblemCode, RouteDescription, route_options
from feedmill.interfaces.rest.problems import PROBLEM_KINDS, RequestError
from feedmill.interfaces.rest.responses import AnyRequest, bytes_response, json_response
from feedmill.interfaces.rest.state import app_state_of, services_of
from feedmill.publish.shapes import Counts, Problem, Ready

_PLAIN = "text/plain"
_METRICS = "text/plain; version=0.0.4"
_HTML = "text/html"
_READY_SEC = 5.0


@get(
    "/healthz",
    operation_id="isAlive",
    summary="The process answers. Open to everybody who reaches the door.",
    opt=route_options(None, RouteDescription(gives=str, media_type=_PLAIN)),
)
async def healthz() -> Response[bytes]:
    return Response(b"ok\n", media_type=_PLAIN, headers={"Cache-Control": "no-store"})


@get(
    "/readyz",
    operation_id="isReady",
    summary="The store answers too. Open to everybody who reaches the door.",
    opt=route_options(None, RouteDescription(gives=Ready, problems=("store-unavailable",))),
)
async def readyz(request: AnyRequest) -> Response[bytes]:
    if app_state_of(request).watch.is_stopping():
        raise RequestError(code="store-unavailable", detail="the server is about to end")
    try:
        async with asyncio.timeout(_READY_SEC):
            ready = await queries.ready(services_of(request))
    except TimeoutError:
        raise RequestError(code="store-unavailable", detail="it takes too long") from None
    return json_response(request, ready, headers={"Cache-Control": "no-store"})


@get(
    "/metrics",
    operation_id="getMetrics",
    summary="Counters of this process for Prometheus.",
    opt=route_options("read", RouteDescription(gives=str, media_type=_METRICS)),
)
async def metrics(request: AnyRequest) -> Response[bytes]:
    page = app_state_of(request).metrics.page()
    return Response(page, media_type=_METRICS, headers={"Cache-Control": "no-store"})


@get(
    "/stats",
    operation_id="getStats",
    summary="How many feeds, entries, fetches and events there are.",
    opt=route_options("read", RouteDescription(gives=Counts, conditional=True)),
)
async def stats(request: AnyRequest) -> Response[bytes]:
    return json_response(request, await queries.counts(services_of(request)))


@get(
    "/openapi.json",
    operation_id="getDocument",
    summary="This interface as OpenAPI 3.1.",
    opt=route_options(None, RouteDescription(gives=dict, conditional=True)),
)
async def openapi(request: AnyRequest) -> Response[bytes]:
    return bytes_response(request, request.app.state.document, "application/json")


@get(
    "/docs",
    operation_id="getPage",
    summary="The same for people; nothing on the page comes from elsewhere.",
    opt=route_options(None, RouteDescription(gives=str, media_type=_HTML, conditional=True)),
)
async def docs(request: AnyRequest) -> Response[bytes]:
    policy = {"Content-Security-Policy": request.app.state.page_policy}
    return bytes_response(request, request.app.state.page, _HTML, headers=policy)


@get(
    "/problems/{code:str}",
    operation_id="getProblem",
    summary="What a kind of problem means: the place that its `type` leads to.",
    opt=route_options(
        None, RouteDescription(gives=Problem, conditional=True, problems=("not-found",))
    ),
)
async def problem(request: AnyRequest, code: ProblemCode) -> Response[bytes]:
    kind = PROBLEM_KINDS.get(code)
    if kind is None:
        raise RequestError(code="not-found", detail="there is no problem of that name")
    shown = Problem(type=f"/problems/{code}", title=kind.title, status=kind.status)
    return json_response(request, shown)


care_routes = Router(
    "/",
    tags=["care"],
    route_handlers=[healthz, readyz, metrics, stats, openapi, docs, problem],
)
