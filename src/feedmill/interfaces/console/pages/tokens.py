"""API tokens: create, rotate, revoke; login by one of them, and logout."""
# Tested in tests/integration/interfaces/console/

from datetime import timedelta
from typing import Any, Final, get_args

from litestar import Response, get, post

from feedmill.engine.service.auth import (
    authenticate,
    close_session,
    get_token,
    issue_token,
    open_session,
    revoke_token,
    rotate_token,
)
from feedmill.errors import AccessError, UsageError
from feedmill.interfaces.console import session
from feedmill.interfaces.console.render import (
    confirm_page,
    go_to,
    local_path,
    page,
    secret_page,
    view,
)
from feedmill.interfaces.console.session import SCOPE, read_form, text_field, unknown_action
from feedmill.interfaces.request_auth import check_rate, is_anonymous
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of
from feedmill.model.running.webhook import Scope

HERE: Final = "/console/tokens"
_OPEN_BYTES: Final = 16_384  # of a form that asks for no login
_OVERLAP: Final = timedelta(days=1)
_MOST_DAYS: Final = 3_650
_FIRST: Final = "`feedmill token create NAME --scope admin`"


@get("/console/login")
async def login(request: AnyRequest) -> Response[bytes]:
    """The form; who is logged in already goes on."""
    target = local_path(request.query_params.get("next", "/"))
    if await session.caller_of(request) is not None:
        return go_to(request, target)
    return page(request, "login.html", title="Log in", target=target, problem="")


@post("/console/login", status_code=200, request_max_body_size=_OPEN_BYTES)
async def log_in(request: AnyRequest) -> Response[bytes]:
    """Open a session for a token that holds."""
    form, state = await session.read_form(request), app_state_of(request)
    services = state.services
    target = local_path(str(form.get("next", "/")))
    caller = await authenticate(str(form.get("token", "")).strip(), services.store, services.clock)
    check_rate(state.limiter, caller, request.client.host if request.client else "")
    if caller is None:
        problem = "This token is not valid: it is mistyped, has expired or was revoked."
        return page(
            request, "login.html", title="Log in", status=403, target=target, problem=problem
        )
    secret = await open_session(caller, session.LASTS, services.store, services.clock)
    cookies = [
        session.private_cookie(request, session.SESSION_COOKIE, secret, lasts=session.LASTS),
        session.private_cookie(request, session.FORM_COOKIE, None),
    ]
    return go_to(request, target, cookies=cookies)


@post("/console/logout", status_code=200, request_max_body_size=_OPEN_BYTES)
async def log_out(request: AnyRequest) -> Response[bytes]:
    """End the session."""
    await session.read_form(request)
    secret = session.session_of(request)
    if secret is not None:
        await close_session(secret, services_of(request).store)
    return go_to(
        request,
        "/console/login",
        cookies=[session.private_cookie(request, session.SESSION_COOKIE, None)],
    )


@view("/console/tokens", "tokens.html", "Tokens", scope="admin")
async def tokens(request: AnyRequest) -> dict[str, Any]:
    """Every token without its secret."""
    services = services_of(request)
    found, now = await services.store.tokens(), services.clock.now()
    return {"tokens": [(one, one.holds(now)) for one in found], "scopes": _scopes(request)}


@post("/console/tokens", status_code=200, opt={SCOPE: "admin"})
async def create(request: AnyRequest) -> Response[bytes]:
    """Make a token; its secret is shown now and never again."""
    form, services = await read_form(request), services_of(request)
    scope = next((one for one in get_args(Scope) if one == form.get("scope")), None)
    days = text_field(form, "days")
    if scope is not None and scope not in _scopes(request):
        message = "without a token no admin token is made here: it would confirm insertions"
        raise AccessError(message, reason="forbidden", hint=f"on a terminal: {_FIRST}")
    if scope is None or (days and not (days.isdecimal() and 0 < int(days) <= _MOST_DAYS)):
        message = f"a token needs a scope, and lasts from 1 to {_MOST_DAYS} days or for ever"
        raise UsageError(message)
    made = await issue_token(
        text_field(form, "name"),
        [scope],
        services.store,
        services.clock,
        expires_in=timedelta(days=int(days)) if days else None,
    )
    words = f"The token {made.token.name} was created."
    return secret_page(request, title="Token created", words=words, secret=made.secret, here=HERE)


@post("/console/tokens/{token_id:str}/change", status_code=200, opt={SCOPE: "admin"})
async def change(request: AnyRequest) -> Response[bytes]:
    """Rotate or revoke a token."""
    form, services = await read_form(request), services_of(request)
    token = await get_token(str(request.path_params["token_id"]), services.store)
    match text_field(form, "action"):
        case "rotate":
            made = await rotate_token(token.id, _OVERLAP, services.store, services.clock)
            words = f"The secret of {token.name} was replaced; the one before is valid for one more day. Its sessions have ended."
            return secret_page(
                request, title="Token rotated", words=words, secret=made.secret, here=HERE
            )
        case "revoke" if form.get("confirmed") == "1":
            await revoke_token(token.id, services.store, services.clock)
            return go_to(request, HERE, f"Revoked {token.name}.")
        case "revoke":
            return confirm_page(
                request,
                title=f"Revoke {token.name}?",
                words="Whoever uses it is refused from now on. This cannot be undone.",
                path=f"{HERE}/{token.id}/change",
                action="revoke",
                here=HERE,
                back=HERE,
            )
        case other:
            raise unknown_action(other)


def _scopes(request: AnyRequest) -> tuple[Scope, ...]:
    """What a token that is made here may do: an agent on loopback could make itself one that confirms (D38)."""
    every: tuple[Scope, ...] = get_args(Scope)
    is_known = not is_anonymous(session.known_caller(request))
    return tuple(one for one in every if is_known or one != "admin")
