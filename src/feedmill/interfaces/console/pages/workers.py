"""Workers: the processes that share the store, their heartbeats and leases."""
# Tested in tests/integration/interfaces/console/test_workers.py

from datetime import timedelta
from typing import Final

from litestar import Response, get

from feedmill.engine.run.heartbeat import SILENT_AFTER_SEC
from feedmill.interfaces.console.render import page
from feedmill.interfaces.console.session import SCOPE
from feedmill.interfaces.server_state import AnyRequest, services_of

HERE: Final = "/console/workers"
_MOST_LANES: Final = 200


@get("/console/workers", opt={SCOPE: "read"})
async def workers(request: AnyRequest) -> Response[bytes]:
    """Every process, with the hosts that it has leased."""
    services = services_of(request)
    now = services.clock.now()
    silent = now - timedelta(seconds=SILENT_AFTER_SEC)
    found = await services.store.workers()
    return page(
        request,
        "workers.html",
        title="Workers",
        here=HERE,
        workers=[(view, view.worker is None or view.worker.seen_at < silent) for view in found],
        due=await services.store.due_lanes(now),
        most=_MOST_LANES,
    )
