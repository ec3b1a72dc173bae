"""State that REST and the console of one HTTP server share: services, notifier, limits, metrics."""
# Tested in tests/integration/interfaces/rest/

from typing import Any, Final, NamedTuple, cast

from litestar import Request
from litestar.connection import ASGIConnection

from feedmill.config import ServeConfig
from feedmill.engine.deliver.read_log import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.memory_budget import MemoryBudget
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter
from feedmill.engine.subscribe.subscriber import Subscriber
from feedmill.observe.metrics import Metrics

AnyRequest = Request[Any, Any, Any]

APP_STATE: Final = "feedmill.app_state"  # in a scope's state: that of its server
AT_END: Final = "feedmill.at_end"  # in a scope's state: called when the request is over


class StreamLimit:
    """Limits the number of open streams."""

    def __init__(self, most: int) -> None:
        self._free = most

    def take(self, connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
        """True when there is room; released when the request ends."""
        if self._free <= 0:
            return False
        self._free -= 1
        connection.scope["state"][AT_END] = self._give_back
        return True

    def _give_back(self) -> None:
        self._free += 1


class AppState(NamedTuple):
    """The state of one server, from its start to its end."""

    services: Services
    watch: Lifecycle
    notifier: LogNotifier
    limiter: RateLimiter
    metrics: Metrics
    streams: StreamLimit
    subscriber: Subscriber
    is_local: bool  # bound to loopback: without any token, everybody on this machine may come in
    caches: dict[str, Any]  # what routes keep for later requests
    uploads: MemoryBudget  # large bodies of requests that are held at once

    @property
    def body_limit(self) -> int:
        """One octet more than any request may have: what is refused says so itself."""
        return max(self.config.body_bytes, self.config.import_bytes) + 1

    @property
    def config(self) -> ServeConfig:
        """The settings of the server."""
        return self.services.config.serve


def app_state_of(connection: ASGIConnection[Any, Any, Any, Any]) -> AppState:
    """The application state of a request."""
    return cast("AppState", connection.scope["state"][APP_STATE])


def services_of(connection: ASGIConnection[Any, Any, Any, Any]) -> Services:
    """The services of a request."""
    return app_state_of(connection).services
