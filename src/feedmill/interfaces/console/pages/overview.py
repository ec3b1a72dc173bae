"""Overview: how the engine does, and what needs attention."""
# Tested in tests/integration/interfaces/console/

from litestar import Response, Router, get

from feedmill.engine.service import queries
from feedmill.engine.service.attention import needs_attention
from feedmill.interfaces.console.render import page
from feedmill.interfaces.console.session import SCOPE
from feedmill.interfaces.server_state import AnyRequest, services_of


@get(["/", "/console"], opt={SCOPE: "read"})
async def overview(request: AnyRequest) -> Response[bytes]:
    """The first page."""
    services = services_of(request)
    states = await services.store.feed_states()
    counts = await queries.counts(services)
    unwell = {name: count for name, count in states.items() if name not in ("feeds", "paused")}
    words = [f"{count:,} {name.replace('-', ' ')}" for name, count in unwell.items()]
    words += [f"{states['paused']:,} paused"] if states["paused"] else []
    return page(
        request,
        "overview.html",
        title="Overview",
        here="/",
        attention=await needs_attention(services),
        states=states,
        unwell=sum(unwell.values()),
        states_in_words=" · ".join(words) or "all are well",
        counts=counts.counts,
        last_seq=counts.last_seq,
        next_due_at=counts.next_due_at,
    )


overview_pages = Router("/", route_handlers=[overview])
