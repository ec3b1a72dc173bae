"""The console as an ASGI application: its routes under / and /console, inside the REST server's middleware;
its own style sheet and script, with a validator.
"""
# Tested in tests/integration/interfaces/console/

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from litestar import Litestar, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from feedmill.errors import NotFoundError
from feedmill.interfaces.console.errors import HANDLERS
from feedmill.interfaces.console.pages import (
    entries,
    feed,
    feeds,
    fetch,
    hosts,
    jobs,
    log,
    login,
    overview,
    review,
    simulate,
    tokens,
    webhooks,
    workers,
)
from feedmill.interfaces.console.session import authorise
from feedmill.interfaces.server_state import AnyRequest

_PAGES: Final = (
    login, overview, feeds, feed, fetch, hosts, entries, review, jobs, simulate, log, workers, webhooks, tokens,
)  # fmt: skip
_TYPES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_FILES: Final = {
    name: (files("feedmill.interfaces.console") / "static" / name).read_bytes() for name in _TYPES
}


@cache
def make_console(body_limit: int) -> ASGIApp:
    """The console, the same for every server with this limit: every route handler of its pages."""
    return Litestar(
        route_handlers=[
            static_file,
            *(
                one
                for page in _PAGES
                for one in vars(page).values()
                if isinstance(one, HTTPRouteHandler)
            ),
        ],
        guards=[authorise],
        exception_handlers=HANDLERS,
        request_max_body_size=body_limit,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )


@get("/console/static/{name:str}")
async def static_file(request: AnyRequest) -> Response[bytes]:
    """One file; no token required."""
    name = str(request.path_params["name"])
    body = _FILES.get(name)
    if body is None:
        message = f"there is no file {name[:100]!r}"
        raise NotFoundError(message)
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers, media_type=_TYPES[name])
    return Response(body, headers=headers, media_type=_TYPES[name])
