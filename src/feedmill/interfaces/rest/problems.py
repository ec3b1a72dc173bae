"""Problem documents of the REST API (RFC 9457).

The table lists every `/problems/<code>`: a code never changes its meaning. Exceptions of the engine
are mapped to problems here and nowhere else; an unexpected exception shows nothing but its code.
"""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException

from feedmill import errors
from feedmill.observe.log import logger
from feedmill.publish.shapes import Problem

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SEC: Final = "5"
_MOST_WORDS: Final = 1_000


class ProblemKind(NamedTuple):
    """A kind of problem: its HTTP status and its title."""

    status: int
    title: str


PROBLEM_KINDS: Final[dict[str, ProblemKind]] = {
    "bad-request": ProblemKind(400, "The request is malformed"),
    "bad-parameter": ProblemKind(400, "A parameter is invalid"),
    "bad-cursor": ProblemKind(400, "The cursor does not belong to this list"),
    "unauthenticated": ProblemKind(401, "A token is required"),
    "forbidden": ProblemKind(403, "The token lacks the required scope"),
    "cross-origin": ProblemKind(403, "Cross-origin requests are not allowed"),
    "not-found": ProblemKind(404, "Not found"),
    "no-such-route": ProblemKind(404, "Unknown path"),
    "method-not-allowed": ProblemKind(405, "Method not allowed for this path"),
    "too-slow": ProblemKind(408, "The request did not arrive in time"),
    "paused": ProblemKind(409, "The feed is paused"),
    "several-feeds": ProblemKind(409, "The page has several feeds; choose one"),
    "log-rewound": ProblemKind(409, "The log does not have this position: it went back"),
    "search-off": ProblemKind(409, "Search is off"),
    "conflict": ProblemKind(409, "The request conflicts with the current state"),
    "not-kept": ProblemKind(410, "Deleted by retention"),
    "too-large": ProblemKind(413, "The body is too large"),
    "unsupported-media-type": ProblemKind(415, "The media type of the body is not supported"),
    "bad-host": ProblemKind(421, "The Host header names another host"),
    "invalid-body": ProblemKind(422, "The body is invalid"),
    "bad-address": ProblemKind(422, "The address may not be fetched"),
    "no-feed-found": ProblemKind(422, "No feed was found at the address"),
    "bad-list": ProblemKind(422, "The subscription list cannot be parsed"),
    "rate-limited": ProblemKind(429, "Too many requests"),
    "surprise": ProblemKind(500, "Internal error"),
    "store-unavailable": ProblemKind(503, "The store is unavailable"),
    "too-many-connections": ProblemKind(503, "Too many connections are open"),
    "too-many-streams": ProblemKind(503, "Too many streams are open"),
}

# The first that fits; what is below in the tree of errors stands above it here.
_OF_ERRORS: Final[tuple[tuple[type[errors.FeedmillError], str], ...]] = (
    (errors.CursorError, "bad-cursor"),
    (errors.FilterError, "bad-parameter"),
    (errors.AddressError, "bad-address"),
    (errors.ListError, "bad-list"),
    (errors.UsageError, "invalid-body"),
    (errors.NoFeedError, "no-feed-found"),
    (errors.NotKeptError, "not-kept"),
    (errors.NotFoundError, "not-found"),
    (errors.StoreError, "store-unavailable"),
    (errors.BlobError, "store-unavailable"),
)
_OF_STATUSES: Final = {
    400: "bad-request",
    404: "no-such-route",
    405: "method-not-allowed",
    408: "too-slow",
    413: "too-large",
    415: "unsupported-media-type",
}


class RequestError(Exception):
    """A problem raised by a route."""

    def __init__(
        self,
        *,
        code: str,
        detail: str = "",
        headers: Mapping[str, str] | None = None,
        **more: Any,  # noqa: ANN401  # reason, hint, errors, choices
    ) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail
        self.headers, self.more = dict(headers or {}), more


def problem_bytes(code: str, detail: str = "", **more: Any) -> bytes:  # noqa: ANN401
    """The problem document."""
    kind = PROBLEM_KINDS[code]
    detail = detail[:_MOST_WORDS]
    problem = Problem(
        type=f"/problems/{code}", title=kind.title, status=kind.status, detail=detail, **more
    )
    return msgspec.json.encode(problem)


def on_problem(_: Request[Any, Any, Any], problem: RequestError) -> Response[bytes]:
    """The response to a RequestError."""
    return _response(problem.code, problem.detail, problem.headers, **problem.more)


def on_error(request: Request[Any, Any, Any], error: errors.FeedmillError) -> Response[bytes]:
    """The response to an error of the engine, with its reason and hint."""
    code, headers = code_of(error), _headers_of(error)
    if code == "surprise":
        return on_unexpected_error(request, error)
    if code == "store-unavailable":
        logger("rest").error("unavailable", reason=error.reason, detail=str(error))
        # Clients must not see a path of the server.
        return _response(code, "", headers, reason=error.reason)
    choices = error.choices if isinstance(error, errors.SeveralFeedsError) else ()
    hint = error.hint or None
    return _response(code, str(error), headers, reason=error.reason, hint=hint, choices=choices)


def code_of(error: errors.FeedmillError) -> str:
    """The problem code of an engine error."""
    if isinstance(error, errors.AccessError | errors.ConflictError | errors.CrowdedError):
        return error.reason if error.reason in PROBLEM_KINDS else "conflict"
    return next((code for kind, code in _OF_ERRORS if isinstance(error, kind)), "surprise")


def on_http(_: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """The response to a Litestar error: unknown route, body too large. An invalid parameter is answered in `parameters`."""
    headers = _allow((error.headers or {}).get("allow"))
    if error.status_code >= 500:
        # Only a client that left in the middle of its body gets here; the answer is not read.
        return _response("bad-request", "the request was incomplete", {})
    return _response(_OF_STATUSES.get(error.status_code, "bad-request"), "", headers)


def on_unexpected_error(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """The response to an unexpected exception; its traceback goes to the log."""
    logger("rest").error(
        "unexpected error", op=f"{request.method} {request.scope['path']}", exc_info=error
    )
    return _response("surprise", "see the log of the server", {})


def _headers_of(error: errors.FeedmillError) -> dict[str, str]:
    if isinstance(error, errors.CrowdedError):
        return {"Retry-After": str(math.ceil(error.retry_after_sec))}
    if isinstance(error, errors.StoreError | errors.BlobError):
        return {"Retry-After": _RETRY_SEC}
    if isinstance(error, errors.AccessError) and error.reason == "unauthenticated":
        return {"WWW-Authenticate": 'Bearer realm="feedmill"'}
    return {}


def _allow(methods: str | None) -> dict[str, str]:
    """The Allow header; HEAD is allowed wherever GET is."""
    if methods is None:
        return {}
    known = set(methods.split(", ")) - {"OPTIONS"}
    return {"Allow": ", ".join(sorted(known | ({"HEAD"} if "GET" in known else set())))}


def _response(
    code: str,
    detail: str,
    headers: Mapping[str, str],
    **more: Any,  # noqa: ANN401
) -> Response[bytes]:
    return Response(
        problem_bytes(code, detail, **more),
        status_code=PROBLEM_KINDS[code].status,
        media_type=MEDIA_TYPE,
        headers={**headers, "Cache-Control": "no-store"},
    )


HANDLERS: Final[dict[type[Exception] | int, Any]] = {
    RequestError: on_problem,
    errors.FeedmillError: on_error,
    HTTPException: on_http,
    Exception: on_unexpected_error,
}
