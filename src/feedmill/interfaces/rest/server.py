"""The REST server: routes, middleware and OpenAPI document, and the HTTP server around them."""
# Tested in tests/integration/interfaces/rest/

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import ValidationException
from litestar.openapi.config import OpenAPIConfig
from litestar.types import ASGIApp, Receive, Send

from feedmill.engine.deliver.read_log import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.memory_budget import MemoryBudget
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter, check_binding, is_loopback
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.interfaces.http_server import BadRequestAnswer, http_server, listen
from feedmill.interfaces.rest.auth import authorise
from feedmill.interfaces.rest.middleware import Middleware
from feedmill.interfaces.rest.openapi import openapi_document, render_openapi_page
from feedmill.interfaces.rest.parameters import (
    note_parameters,
    on_invalid_parameter,
    refuse_unknown_parameters,
)
from feedmill.interfaces.rest.problems import HANDLERS, MEDIA_TYPE, problem_bytes
from feedmill.interfaces.rest.routes import (
    entries,
    events,
    feeds,
    hosts,
    import_export,
    jobs,
    media,
    metafeeds,
    status,
    webhooks,
)
from feedmill.interfaces.server_state import AnyRequest, AppState, StreamLimit
from feedmill.observe.metrics import Metrics
from feedmill.version import __version__

_UPLOADS: Final = 4  # of the largest size that are held at once; the others wait
_SMALL_UPLOAD: Final = 64 * 1024  # never waits: a thousand connections may hold 64 MB so
# In the order of the document.
_GROUPS: Final = (
    feeds.routes, entries.routes, events.routes, events.cursors, import_export.routes, webhooks.routes, hosts.routes,
    jobs.routes, entries.clusters, media.routes, hosts.push, metafeeds.hub, metafeeds.routes, status.routes,
)  # fmt: skip


class OpenApi(NamedTuple):
    """The description of the routes, as it is served."""

    document: bytes
    page: bytes


@asynccontextmanager
async def rest_server(
    services: Services,
    watch: Lifecycle,
    *,
    host: str | None = None,
    port: int | None = None,
    metrics: Metrics | None = None,
    console: Callable[[int], ASGIApp] | None = None,
) -> AsyncIterator[str]:
    """Serve the REST API while the block runs; its base URL. Requests under way are answered first.

    `console` makes the application that answers at `/` and under `/console`. UsageError when the address is reachable from other machines and no token exists (D30), or when
    it cannot be bound. The lifecycle is stopped at the end of the block: streams end with it.
    """
    config = services.config.serve
    name = config.host if host is None else host
    await check_binding(name, services.store, services.clock)
    notifier = LogNotifier(services.store, watch, every_sec=config.look_ms / 1000)
    state = open_app_state(services, watch, notifier, metrics=metrics, host=name)
    app = make_app(state, console)
    serving = http_server(
        app,
        listen(name, config.port if port is None else port),
        config,
        drain_sec=max(1.0, services.config.run.drain_sec),
        bad_request=BadRequestAnswer(
            MEDIA_TYPE, problem_bytes("bad-request", "the request is not valid HTTP")
        ),
    )
    async with asyncio.TaskGroup() as group, serving as address:
        group.create_task(notifier.run())
        try:
            yield address
        finally:
            watch.stop()


def open_app_state(
    services: Services,
    watch: Lifecycle,
    notifier: LogNotifier,
    *,
    metrics: Metrics | None = None,
    host: str | None = None,
) -> AppState:
    """The state that the routes share; `host` is the address the server is bound to."""
    config = services.config
    return AppState(
        services=services,
        watch=watch,
        notifier=notifier,
        limiter=RateLimiter(config.access, services.clock),
        metrics=metrics or Metrics(),
        streams=StreamLimit(config.serve.max_streams),
        subscriber=open_subscriber(services),
        is_local=is_loopback(host or config.serve.host),
        caches={},
        uploads=MemoryBudget(_UPLOADS * config.serve.import_bytes, small_bytes=_SMALL_UPLOAD),
    )


def make_app(state: AppState, console: Callable[[int], ASGIApp] | None = None) -> ASGIApp:
    """The ASGI application: the routes, and the console if there is one, inside the middleware."""
    routes = make_routes(state.body_limit)
    if console is None:
        return Middleware(routes, state)
    pages = console(state.body_limit)

    async def either(scope: Any, receive: Receive, send: Send) -> None:  # noqa: ANN401  # ASGI's own type
        path = scope["path"]
        is_page = path in ("/", "/console") or path.startswith("/console/")
        await (pages if is_page else routes)(scope, receive, send)

    return Middleware(either, state)


@cache
def make_routes(body_limit: int) -> Litestar:
    """The routes, which serve the OpenAPI document and its page too; the same for every server."""
    return _routes(None, state=State({"openapi": openapi}), request_max_body_size=body_limit)


@cache
def openapi() -> OpenApi:
    """The OpenAPI document and its page: the same for every server, built when first requested."""
    # The framework would serve the document too, on pages that load their parts from elsewhere;
    # so it describes the routes without serving them, and serves them without describing them.
    shown = OpenAPIConfig(title="feedmill", version=__version__, create_examples=False)
    document = openapi_document(_routes(shown))
    return OpenApi(msgspec.json.encode(document), render_openapi_page(document))


async def _check(request: AnyRequest) -> None:
    """Refuse what is not allowed, then what has no meaning. A guard of the framework would copy the route each time."""
    await authorise(request)
    refuse_unknown_parameters(request)


def _routes(shown: OpenAPIConfig | None, **settings: Any) -> Litestar:  # noqa: ANN401  # Litestar's
    app = Litestar(
        route_handlers=[group.router() for group in _GROUPS],
        before_request=_check,
        exception_handlers={**HANDLERS, ValidationException: on_invalid_parameter},
        openapi_config=shown,
        logging_config=None,
        debug=False,
        **settings,
    )
    return note_parameters(app)
