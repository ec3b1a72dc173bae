"""The console as an ASGI application: its routes under / and /console, inside the REST server's middleware."""
# Tested in tests/integration/interfaces/console/

from functools import cache

from litestar import Litestar
from litestar.types import ASGIApp

from feedmill.interfaces.console.errors import HANDLERS
from feedmill.interfaces.console.pages.diff import diff_pages
from feedmill.interfaces.console.pages.entries import entry_pages
from feedmill.interfaces.console.pages.feed import one_feed_pages
from feedmill.interfaces.console.pages.feeds import feed_pages
from feedmill.interfaces.console.pages.fetch import fetch_pages
from feedmill.interfaces.console.pages.hosts import host_pages
from feedmill.interfaces.console.pages.jobs import job_pages
from feedmill.interfaces.console.pages.log import log_pages
from feedmill.interfaces.console.pages.login import login_pages
from feedmill.interfaces.console.pages.overview import overview_pages
from feedmill.interfaces.console.pages.review import review_pages
from feedmill.interfaces.console.pages.simulate import simulate_pages
from feedmill.interfaces.console.pages.tokens import token_pages
from feedmill.interfaces.console.pages.webhooks import webhook_pages
from feedmill.interfaces.console.pages.workers import worker_pages
from feedmill.interfaces.console.session import authorise
from feedmill.interfaces.console.static_files import static_routes
from feedmill.interfaces.console.stream import stream_routes


@cache
def make_console(body_limit: int) -> ASGIApp:
    """The console, the same for every server with this limit."""
    return Litestar(
        route_handlers=[
            login_pages,
            overview_pages,
            feed_pages,
            one_feed_pages,
            fetch_pages,
            diff_pages,
            host_pages,
            entry_pages,
            review_pages,
            job_pages,
            simulate_pages,
            log_pages,
            worker_pages,
            webhook_pages,
            token_pages,
            stream_routes,
            static_routes,
        ],
        guards=[authorise],
        exception_handlers=HANDLERS,
        request_max_body_size=body_limit,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
