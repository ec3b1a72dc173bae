"""Routes /cursors: positions of readers in the event log."""
# Tested in tests/integration/interfaces/rest/

from typing import Annotated

from feedmill.engine.service import queries
from feedmill.interfaces.rest.parameters import path
from feedmill.interfaces.rest.routing import Routes
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import CursorPage

Consumer = Annotated[str, path("The name of a reader.", max_length=500)]
routes = Routes("/cursors", "events")


@routes.get("/", "admin")
async def list_cursors(request: AnyRequest) -> CursorPage:
    """List readers of the log with how far they are behind."""
    return await queries.list_cursors(services_of(request))


@routes.delete("/{consumer:str}", "admin", "not-found", status=204)
async def drop_cursor(request: AnyRequest, consumer: Consumer) -> None:
    """Delete the position of a reader that does not read any more."""
    await queries.drop_cursor(consumer, services_of(request))
