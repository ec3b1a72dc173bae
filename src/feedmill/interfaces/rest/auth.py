"""Who may come in: a token in every request, its scope for each route, and a pace for each caller.

On loopback, as long as no token was ever made, everybody on the machine may do everything; the
first token closes that. A token comes as `Authorization: Bearer`; where a route says so, also as
the password of Basic, because that is all a feed reader can send. Never in a URL.
"""

import binascii
import math
from base64 import b64decode
from typing import Any, Final, cast

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from feedmill.engine.service.auth import authenticate, require_scope
from feedmill.errors import CrowdedError
from feedmill.interfaces.rest.state import AppState, app_state_of
from feedmill.model.token import Caller, Scope

SCOPE: Final = "scope"  # in a route's `opt`: read, write or admin; a route without one is open
BASIC: Final = "basic"  # in a route's `opt`: the token may also come as a password

_NEIGHBOUR: Final = Caller(
    token_id="loopback",  # noqa: S106  # a name, no secret
    name="loopback",
    scopes=("admin",),
)


async def authorise(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """A guard: nothing when the caller may go on, else a problem of 401, 403 or 429."""
    scope = cast("Scope | None", handler.opt.get(SCOPE))
    if scope is None:
        return
    doorway = app_state_of(connection)
    caller = await _caller(connection, doorway, basic=bool(handler.opt.get(BASIC)))
    # Whoever guesses, or asks for more than the token allows, is slowed down like everybody else.
    client = connection.client
    unknown = f"unknown {client.host if client else ''}"
    _pace(doorway, unknown if caller is None else caller.token_id)
    connection.scope["state"]["caller"] = require_scope(caller, scope).token_id


async def is_still_authorised(
    connection: ASGIConnection[Any, Any, Any, Any], scope: Scope = "read"
) -> bool:
    """Whether the caller of a stream may go on: a token that was revoked meanwhile ends it."""
    caller = await _caller(connection, app_state_of(connection), basic=False)
    return caller is not None and caller.may(scope)


def presented_token(authorization: str | None, *, basic: bool) -> str | None:
    """The token in an Authorization field; None when there is none that is read here."""
    scheme, _, rest = (authorization or "").strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip() or None
    if not basic or scheme.lower() != "basic":
        return None
    try:
        pair = b64decode(rest.strip(), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return pair.partition(":")[2] or None


async def _caller(
    connection: ASGIConnection[Any, Any, Any, Any], doorway: AppState, *, basic: bool
) -> Caller | None:
    given = connection.headers.getall("authorization", [])
    # Two of them are none: whoever stands in between may have looked at the other one.
    token = presented_token(given[0] if len(given) == 1 else None, basic=basic)
    caller = await authenticate(token, doorway.services.store, doorway.services.clock)
    if caller is None and doorway.is_local and not await doorway.services.store.tokens():
        return _NEIGHBOUR
    return caller


def _pace(doorway: AppState, caller_id: str) -> None:
    wait = doorway.limiter.admit(caller_id)
    if wait > 0:
        message = f"try again in {math.ceil(wait)} s"
        raise CrowdedError(message, reason="rate-limited", retry_after_sec=wait)
