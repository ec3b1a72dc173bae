"""Login by token: a session cookie, the scope of each page, and forms that no other site can send.

The cookie holds the secret of a session (HttpOnly, SameSite=Strict, Secure behind https), never the
token. Each form has a token derived from that secret, and the origin of the request is checked too. On
loopback without any token in the store there is no login, as with REST (D30); forms are then bound to a
random cookie instead.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, cast
from urllib.parse import quote, unquote

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie, FormMultiDict
from litestar.handlers import BaseRouteHandler

from feedmill.engine.service.auth import authenticate_session, require_scope
from feedmill.errors import AccessError, UsageError
from feedmill.interfaces.request_auth import check_rate, identify_caller, is_cross_origin
from feedmill.interfaces.server_state import AnyRequest, app_state_of
from feedmill.model.running.webhook import Caller, Scope

SCOPE: Final = "scope"  # in a route's `opt`: a route without one is open
LASTS: Final = timedelta(hours=12)
SESSION_COOKIE: Final = "feedmill_session"
FORM_COOKIE: Final = "feedmill_form"  # binds forms while there is no session
NOTICE_COOKIE: Final = "feedmill_notice"  # what the last form did, shown once
FORM_FIELD: Final = "form_token"
_URL_ENCODED: Final = "application/x-www-form-urlencoded"

_MAX_NOTICE_CHARS: Final = 600
_MAX_COOKIE_CHARS: Final = 200
_MAX_FIELD_CHARS: Final = 200
_MOST_FIELDS: Final = 2_500  # of a form; to read one takes 5 µs of the event loop

Connection = ASGIConnection[Any, Any, Any, Any]


async def authorise(connection: Connection, handler: BaseRouteHandler) -> None:
    """Litestar guard: AccessError or CrowdedError unless the caller may see the page."""
    scope = cast("Scope | None", handler.opt.get(SCOPE))
    if scope is None:
        return
    caller = await caller_of(connection)
    check_rate(
        app_state_of(connection).limiter,
        caller,
        connection.client.host if connection.client else "",
    )
    connection.scope["state"]["caller"] = require_scope(caller, scope).token_id
    connection.scope["state"]["console_caller"] = caller


async def caller_of(connection: Connection) -> Caller | None:
    """The caller of the session; on loopback without any token, an administrator."""
    state = app_state_of(connection)
    services = state.services
    found = await authenticate_session(session_of(connection), services.store, services.clock)
    return found or await identify_caller(None, services, is_local=state.is_local)


def session_of(connection: Connection) -> str | None:
    """The secret in the session cookie."""
    return connection.cookies.get(SESSION_COOKIE)


def known_caller(connection: Connection) -> Caller | None:
    """The caller that the guard found."""
    return cast("Caller | None", connection.scope["state"].get("console_caller"))


def form_token(connection: Connection) -> str:
    """The token that a form of this browser has to send back; empty without any cookie."""
    bound = session_of(connection) or form_cookie_of(connection)
    return "" if bound is None else sha256(f"feedmill-form {bound}".encode()).hexdigest()


def form_cookie_of(connection: Connection) -> str | None:
    """The random value that forms are bound to while there is no session."""
    given = connection.cookies.get(FORM_COOKIE)
    if given is not None and len(given) <= _MAX_COOKIE_CHARS:
        return given
    return cast("str | None", connection.scope["state"].get(FORM_COOKIE))


def new_form_cookie(connection: Connection) -> list[Cookie]:
    """The cookie that forms are bound to, unless the browser has one."""
    if session_of(connection) is not None or form_cookie_of(connection) is not None:
        return []
    value = app_state_of(connection).services.clock.new_secret()
    connection.scope["state"][FORM_COOKIE] = value
    return [private_cookie(connection, FORM_COOKIE, value)]


async def read_form(request: AnyRequest) -> FormMultiDict:
    """The fields of a form that this console showed to this browser; AccessError for any other."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in (_URL_ENCODED, "multipart/form-data"):
        message = "a form is expected"
        raise UsageError(message)
    headers = {name: value.decode("latin-1") for name, value in request.scope["headers"]}
    if given == _URL_ENCODED and (await request.body()).count(b"&") >= _MOST_FIELDS:
        message = f"a form has at most {_MOST_FIELDS:,} fields"
        raise UsageError(message)
    form = await request.form()
    expected = form_token(request)
    sent = form.get(FORM_FIELD)
    is_ours = (
        bool(expected)
        and isinstance(sent, str)
        and sent.isascii()
        and compare_digest(sent, expected)
    )
    if is_cross_origin(headers) or not is_ours:
        message = "the form is too old, or was not sent by this page"
        hint = "open the page again and repeat; cookies have to be allowed"
        raise AccessError(message, reason="forbidden", hint=hint)
    return form


def private_cookie(
    connection: Connection, name: str, value: str | None, *, lasts: timedelta | None = None
) -> Cookie:
    """A cookie that scripts and other sites do not see; None deletes it."""
    return Cookie(
        key=name,
        value=value or "",
        path="/",
        httponly=True,
        samesite="strict",
        secure=is_https(connection),
        max_age=0 if value is None else None if lasts is None else int(lasts.total_seconds()),
    )


def is_https(connection: Connection) -> bool:
    """Whether the browser speaks https, to a proxy in front of this server."""
    return (
        connection.headers.get("origin", "").startswith("https://")
        or connection.headers.get("x-forwarded-proto", "") == "https"
    )


def notice_cookie(connection: Connection, words: str) -> Cookie:
    """What was done, for the next page to show once."""
    return private_cookie(connection, NOTICE_COOKIE, quote(words[:_MAX_NOTICE_CHARS]))


def notice_of(connection: Connection) -> str:
    """What the last form did."""
    return unquote(connection.cookies.get(NOTICE_COOKIE, ""))[:_MAX_NOTICE_CHARS]


def text_field(given: Mapping[str, Any], name: str, most: int = _MAX_FIELD_CHARS) -> str:
    """A text of a form or a query without white space around it; empty when it is missing or a file."""
    text = given.get(name, "")
    return text.strip()[:most] if isinstance(text, str) else ""


def number_field(given: Mapping[str, Any], name: str, usual: int, digits: int = 7) -> int:
    """A whole number of a query; the usual one when it is missing, too long or something else."""
    text = str(given.get(name) or "")
    return int(text) if text.isdecimal() and len(text) <= digits else usual


def unknown_action(name: str) -> UsageError:
    """The error of a form with an action that its page does not have."""
    return UsageError(f"unknown action {name[:40]!r}")


def tags_of(text: str) -> tuple[str, ...]:
    """Tags that are separated by commas, each once."""
    return tuple(dict.fromkeys(one.strip()[:100] for one in text.split(",") if one.strip()))


def digest_of(things: Iterable[str]) -> str:
    """A digest of what a question shows, in any order: its answer is for exactly these."""
    return sha256("\n".join(sorted(things)).encode()).hexdigest()
