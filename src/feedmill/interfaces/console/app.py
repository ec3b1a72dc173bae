"""The console as an ASGI application: its routes under / and /console, inside the REST server's middleware;
its own style sheet and script, with a validator; and its errors as pages: what is wrong, and how to fix it.
"""
# Tested in tests/integration/interfaces/console/

from functools import cache
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from litestar import Litestar, Response, get
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from feedmill import errors
from feedmill.errors import NotFoundError
from feedmill.interfaces.console.pages import (
    entries,
    feed,
    feeds,
    fetch,
    hosts,
    jobs,
    log,
    overview,
    review,
    simulate,
    tokens,
    webhooks,
)
from feedmill.interfaces.console.render import go_to, page
from feedmill.interfaces.console.session import authorise
from feedmill.interfaces.server_state import AnyRequest
from feedmill.observe.log import logger

_PAGES: Final = (
    overview, feeds, feed, fetch, hosts, entries, review, jobs, simulate, log, webhooks, tokens,
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


LOGIN: Final = "/console/login"

_STATUSES: Final[tuple[tuple[type[errors.FeedmillError], HTTPStatus], ...]] = (
    (errors.CrowdedError, HTTPStatus.TOO_MANY_REQUESTS),
    (errors.NotFoundError, HTTPStatus.NOT_FOUND),
    (errors.ConflictError, HTTPStatus.CONFLICT),
    (errors.TicketError, HTTPStatus.CONFLICT),
    (errors.CandidateError, HTTPStatus.CONFLICT),
    (errors.UsageError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.NoFeedError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.AccessError, HTTPStatus.FORBIDDEN),
    (errors.StoreError, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.BlobError, HTTPStatus.SERVICE_UNAVAILABLE),
)
_HTTP_WORDS: Final = {
    HTTPStatus.BAD_REQUEST: ("The form cannot be read.", "Open the page again and repeat."),
    HTTPStatus.REQUEST_TIMEOUT: ("The form did not arrive in time.", "Send it again."),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "The form is larger than this server accepts.",
        "Split a long list, import it with `feedmill import`, or raise [serve] import_bytes.",
    ),
}


def on_error(request: AnyRequest, error: errors.FeedmillError) -> Response[bytes]:
    """The page of an error of the engine."""
    if isinstance(error, errors.AccessError) and error.reason == "unauthenticated":
        query = request.scope["query_string"].decode("ascii", "replace")
        wanted = request.scope["path"] + (f"?{query}" if query else "")
        path = wanted if request.method == "GET" else "/"
        return go_to(request, f"{LOGIN}?next={quote(path)}")
    status = next((code for kind, code in _STATUSES if isinstance(error, kind)), None)
    if status is None:
        return on_unexpected_error(request, error)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:  # the words may name a path of the server
        logger("console").error("unavailable", reason=error.reason, detail=str(error))
        words, hint = f"The store does not answer ({error.reason}).", "Try again in a moment."
    else:
        words, hint = str(error), error.hint
    answer = _error_page(request, status, words, hint)
    if isinstance(error, errors.CrowdedError):
        answer.headers["Retry-After"] = str(int(error.retry_after_sec) + 1)
    return answer


def on_http(request: AnyRequest, error: HTTPException) -> Response[bytes]:
    """The page of an unknown path, of a method that a path does not have, and of a form that cannot be read."""
    status = HTTPStatus(error.status_code if error.status_code < 500 else 400)
    return _error_page(request, status, *_HTTP_WORDS.get(status, ("There is no such page.", "")))


def on_unexpected_error(request: AnyRequest, error: Exception) -> Response[bytes]:
    """The page of an unexpected exception; its traceback goes to the log."""
    logger("console").error(
        "unexpected error", op=f"{request.method} {request.scope['path']}", exc_info=error
    )
    return _error_page(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "An unexpected error happened.",
        "The log of the server has the details.",
    )


def _error_page(request: AnyRequest, status: HTTPStatus, words: str, hint: str) -> Response[bytes]:
    return page(
        request,
        "error.html",
        title=status.phrase,
        status=status.value,
        words=words[:1_000],
        hint=hint,
    )


HANDLERS: Final[dict[type[Exception] | int, Any]] = {
    errors.FeedmillError: on_error,
    HTTPException: on_http,
    Exception: on_unexpected_error,
}
