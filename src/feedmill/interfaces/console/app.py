"""The console as an ASGI application: its routes under / and /console, inside the REST server's middleware."""
# Tested in tests/integration/interfaces/console/

from functools import cache
from typing import Final

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from feedmill.interfaces.console import static_files, stream
from feedmill.interfaces.console.errors import HANDLERS
from feedmill.interfaces.console.pages import (
    diff,
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

_PAGES: Final = (
    login, overview, feeds, feed, fetch, diff, hosts, entries, review, jobs, simulate, log, workers, webhooks, tokens,
    stream, static_files,
)  # fmt: skip


@cache
def make_console(body_limit: int) -> ASGIApp:
    """The console, the same for every server with this limit: every route handler of its pages."""
    return Litestar(
        route_handlers=[
            one
            for page in _PAGES
            for one in vars(page).values()
            if isinstance(one, HTTPRouteHandler)
        ],
        guards=[authorise],
        exception_handlers=HANDLERS,
        request_max_body_size=body_limit,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
