"""Workers: the processes that share the store, their heartbeats and leases."""
# Tested in tests/integration/interfaces/console/test_workers.py

from datetime import timedelta
from typing import Any, Final

from feedmill.engine.run.readiness import SILENT_AFTER_SEC
from feedmill.interfaces.console.render import view
from feedmill.interfaces.server_state import AnyRequest, services_of

HERE: Final = "/console/workers"
_MOST_LANES: Final = 200


@view("/console/workers", "workers.html", "Workers")
async def workers(request: AnyRequest) -> dict[str, Any]:
    """Every process, with the hosts that it has leased."""
    services = services_of(request)
    now = services.clock.now()
    silent = now - timedelta(seconds=SILENT_AFTER_SEC)
    found = await services.store.workers()
    return {
        "workers": [(view, view.worker is None or view.worker.seen_at < silent) for view in found],
        "due": await services.store.due_lanes(now),
        "most": _MOST_LANES,
    }
