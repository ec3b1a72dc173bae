"""The REST server: the application, its log notifier and the HTTP server around it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from feedmill.engine.deliver.log_notifier import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import check_binding
from feedmill.interfaces.http_server import BadRequestAnswer, http_server, listen
from feedmill.interfaces.rest.app import make_app, open_app_state
from feedmill.interfaces.rest.problems import MEDIA_TYPE, problem_bytes
from feedmill.observe.metrics import Metrics


@asynccontextmanager
async def rest_server(
    services: Services,
    watch: Lifecycle,
    *,
    host: str | None = None,
    port: int | None = None,
    metrics: Metrics | None = None,
    notifier: LogNotifier | None = None,
) -> AsyncIterator[str]:
    """Serve the REST API while the block runs; its base URL. Requests under way are answered first.

    UsageError when the address is reachable from other machines and no token exists (D30), or when
    it cannot be bound. The lifecycle is stopped at the end of the block: streams end with it.
    """
    config = services.config.serve
    name = config.host if host is None else host
    await check_binding(name, services.store, services.clock)
    own_notifier = notifier or LogNotifier(services.store, watch, every_sec=config.look_ms / 1000)
    state = open_app_state(services, watch, own_notifier, metrics=metrics, host=name)
    app = make_app(state)
    serving = http_server(
        app,
        listen(name, config.port if port is None else port),
        config,
        drain_sec=max(1.0, services.config.run.drain_sec),
        bad_request=BadRequestAnswer(
            MEDIA_TYPE, problem_bytes("bad-request", "the request is not valid HTTP")
        ),
    )
    async with asyncio.TaskGroup() as group, serving as address:
        if notifier is None:
            group.create_task(own_notifier.run())
        try:
            yield address
        finally:
            watch.stop()
