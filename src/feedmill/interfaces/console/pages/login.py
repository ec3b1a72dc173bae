"""Login by token, and logout."""
# Tested in tests/integration/interfaces/console/

from litestar import Response, get, post

from feedmill.engine.service.auth import authenticate, close_session, open_session
from feedmill.interfaces.console import session
from feedmill.interfaces.console.render import go_to, local_path, page
from feedmill.interfaces.request_auth import check_rate
from feedmill.interfaces.server_state import AnyRequest, app_state_of, services_of


@get("/console/login")
async def login(request: AnyRequest) -> Response[bytes]:
    """The form; who is logged in already goes on."""
    target = local_path(request.query_params.get("next", "/"))
    if await session.caller_of(request) is not None:
        return go_to(request, target)
    return page(request, "login.html", title="Log in", target=target, problem="")


@post("/console/login", status_code=200)
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


@post("/console/logout", status_code=200)
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
