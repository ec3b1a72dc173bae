"""Authorisation of REST requests: a token, its scope for each route, and a rate limit per caller.

A token comes as `Authorization: Bearer`; where a route says so, also as the password of Basic,
because that is all a feed reader can send. Never in a URL.
"""

import binascii
from base64 import b64decode
from typing import Any, Final, cast

from litestar.connection import ASGIConnection

from feedmill.engine.service.auth import require_scope
from feedmill.interfaces.request_auth import bearer_token, check_rate, identify_caller
from feedmill.interfaces.server_state import AnyRequest, AppState, app_state_of
from feedmill.model.running.webhook import Caller, Scope

SCOPE: Final = "scope"  # in a route's `opt`: read, write or admin; a route without one is open
BASIC: Final = "basic"  # in a route's `opt`: the token may also come as a password


async def authorise(request: AnyRequest) -> None:
    """Raise a problem of 401, 403 or 429 unless the caller is allowed."""
    opt = request.route_handler.opt
    scope = cast("Scope | None", opt.get(SCOPE))
    if scope is None:
        return
    state = app_state_of(request)
    caller = await _caller(request, state, basic=bool(opt.get(BASIC)))
    # The limit holds for wrong tokens and missing scopes too.
    check_rate(state.limiter, caller, request.client.host if request.client else "")
    request.scope["state"]["caller"] = require_scope(caller, scope).token_id


async def is_still_authorised(
    connection: ASGIConnection[Any, Any, Any, Any], scope: Scope = "read"
) -> bool:
    """True while the caller of a stream is authorised; a revoked token ends the stream."""
    caller = await _caller(connection, app_state_of(connection), basic=False)
    return caller is not None and caller.may(scope)


def presented_token(authorization: str | None, *, basic: bool) -> str | None:
    """The token in an Authorization header; None when there is none."""
    scheme, _, rest = (authorization or "").strip().partition(" ")
    if not basic or scheme.lower() != "basic":
        return bearer_token([authorization or ""])
    try:
        pair = b64decode(rest.strip(), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return pair.partition(":")[2] or None


async def _caller(
    connection: ASGIConnection[Any, Any, Any, Any], state: AppState, *, basic: bool
) -> Caller | None:
    given = connection.headers.getall("authorization", [])
    # Two of them are none: a proxy in between may have looked at the other one.
    token = presented_token(given[0] if len(given) == 1 else None, basic=basic)
    return await identify_caller(token, state.services, is_local=state.is_local)
