"""Pages: Jinja templates with autoescaping, formats for people, and a strict content policy."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from litestar import Response, get
from litestar.datastructures import Cookie
from litestar.handlers import HTTPRouteHandler
from markupsafe import Markup

from feedmill.interfaces.console import session
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.model.addresses import mask_address
from feedmill.model.running.webhook import Scope
from feedmill.schedule.explain import duration_in_words
from feedmill.version import __version__

HTML: Final = "text/html"
# Nothing from elsewhere, nothing inline: scripts and styles are two files of this server.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with no-referrer a form's Origin would be null
}
# Path, name, and the scope that a page needs.
_NAVIGATION: Final[tuple[tuple[str, str, Scope], ...]] = (
    ("/", "Overview", "read"),
    ("/console/feeds", "Feeds", "read"),
    ("/console/hosts", "Hosts", "read"),
    ("/console/entries", "Entries", "read"),
    ("/console/review", "Review", "read"),
    ("/console/log", "Log", "read"),
    ("/console/webhooks", "Webhooks", "admin"),
    ("/console/workers", "Workers", "read"),
    ("/console/jobs", "Jobs", "read"),
    ("/console/simulate", "Simulate", "read"),
    ("/console/tokens", "Tokens", "admin"),
)
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
_NOW_SEC: Final = 1.0


def page(
    request: AnyRequest,
    template: str,
    *,
    title: str,
    here: str = "",
    status: int = 200,
    cookies: Sequence[Cookie] = (),
    **context: Any,  # noqa: ANN401  # what the template shows
) -> Response[bytes]:
    """A page of the console; `here` is the path of its place in the navigation."""
    notice = session.notice_of(request)
    own = [*cookies, *session.new_form_cookie(request)]
    if notice:
        own.append(session.private_cookie(request, session.NOTICE_COOKIE, None))
    caller = session.known_caller(request)
    text = ENVIRONMENT.get_template(template).render(
        title=title,
        here=here,
        navigation=[
            (path, name)
            for path, name, scope in _NAVIGATION
            if caller is not None and caller.may(scope)
        ],
        notice=notice,
        caller=caller,
        may_write=caller is not None and caller.may("write"),
        may_admin=caller is not None and caller.may("admin"),
        has_session=session.session_of(request) is not None,
        form_field=session.FORM_FIELD,
        form_token=session.form_token(request),
        now=services_of(request).clock.now(),
        version=__version__,
        **context,
    )
    return Response(
        text.encode(), media_type=HTML, status_code=status, headers=HEADERS, cookies=own
    )


def view(
    path: str, template: str, title: str = "", *, here: str | None = None, scope: Scope = "read"
) -> Callable[[Callable[..., Awaitable[dict[str, Any]]]], HTTPRouteHandler]:
    """A route for a page: the function returns what the template shows, with a `title` if it differs by request.

    `here` is the path of its place in the navigation, usually its own.
    """

    def routed(function: Callable[..., Awaitable[dict[str, Any]]]) -> HTTPRouteHandler:
        @wraps(function)
        async def answer(request: AnyRequest) -> Response[bytes]:
            shown = {"title": title, **await function(request)}
            return page(request, template, here=path if here is None else here, **shown)

        answer.__annotations__["return"] = Response[bytes]
        return get(path, opt={session.SCOPE: scope})(answer)

    return routed


def confirm_page(
    request: AnyRequest, *, title: str, words: str, path: str, action: str, here: str, back: str
) -> Response[bytes]:
    """The question before an action that cannot be undone; yes sends the action again, confirmed."""
    fields = {"action": action, "confirmed": "1"}
    return page(
        request,
        "confirm.html",
        title=title,
        here=here,
        words=words,
        path=path,
        fields=fields,
        back=back,
    )


def secret_page(
    request: AnyRequest, *, title: str, words: str, secret: str, here: str, back: str = ""
) -> Response[bytes]:
    """A secret that is shown now and never again; back is the place in the navigation, unless another one is given."""
    back = back or here
    return page(
        request, "secret.html", title=title, here=here, words=words, secret=secret, back=back
    )


def go_to(
    request: AnyRequest, path: str, words: str = "", *, cookies: Sequence[Cookie] = ()
) -> Response[bytes]:
    """See another page after a form (303), which shows these words once."""
    own = [*cookies, *([session.notice_cookie(request, words)] if words else [])]
    return Response(
        b"", media_type=HTML, status_code=303, headers=HEADERS | {"Location": path}, cookies=own
    )


def local_path(path: str) -> str:
    """A path of this console to return to; that of the overview for anything else."""
    is_own = path.startswith("/console/") and path.isascii() and path.isprintable()
    return path if is_own and "\\" not in path else "/"


def number(value: float) -> str:
    """1234567 as 1,234,567."""
    return f"{value:,.0f}"


def size(count: float | None) -> str:
    """A number of octets in the unit that suits it."""
    if count is None:
        return "–"
    left = float(count)
    for unit in _UNITS:
        if abs(left) < 1000 or unit == _UNITS[-1]:
            return f"{left:.0f} {unit}" if unit == "B" else f"{left:.1f} {unit}"
        left /= 1000
    return ""  # not reached


def percent(ratio: float | None, digits: int = 1) -> str:
    """0.992 as 99.2 %."""
    return "–" if ratio is None else f"{ratio * 100:.{digits}f} %"


def duration(value: float | timedelta | None) -> str:
    """Seconds in the two largest units."""
    if value is None:
        return "–"
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return f"{round(seconds * 1000)} ms" if 0 < seconds < 1 else duration_in_words(max(seconds, 0))


def relative(moment: datetime, now: datetime) -> str:
    """An instant as a person says it: 5 min ago, in 2 h."""
    wait = (moment - now).total_seconds()
    if abs(wait) < _NOW_SEC:
        return "now"
    words = duration_in_words(abs(wait))
    return f"in {words}" if wait > 0 else f"{words} ago"


@pass_context
def _when(context: Context, moment: datetime | None) -> Markup | str:
    """An instant relative to now, with the exact time in the title."""
    if moment is None:
        return "never"
    at = moment.astimezone(UTC)
    return Markup('<time datetime="{}" title="{:%Y-%m-%d %H:%M:%S} UTC">{}</time>').format(
        at.isoformat(), at, relative(at, context["now"])
    )


def _clock_time(moment: datetime | None) -> Markup | str:
    """An instant to the second."""
    if moment is None:
        return "–"
    at = moment.astimezone(UTC)
    return Markup('<time datetime="{}">{:%Y-%m-%d %H:%M:%S}</time>').format(at.isoformat(), at)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("feedmill.interfaces.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "number": number,
        "size": size,
        "percent": percent,
        "duration": duration,
        "when": _when,
        "clock": _clock_time,
        "address": mask_address,
    }
    return environment


ENVIRONMENT: Final = _environment()
