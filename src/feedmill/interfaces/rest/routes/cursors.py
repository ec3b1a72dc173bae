"""Routes /cursors: positions of readers in the event log."""
# Tested in tests/integration/interfaces/rest/

from typing import Annotated

from litestar import Response, Router, delete, get
from litestar.params import PathParameter

from feedmill.engine.service import queries
from feedmill.interfaces.rest.openapi import describe
from feedmill.interfaces.rest.responses import json_response
from feedmill.interfaces.server_state import AnyRequest, services_of
from feedmill.publish.shapes import CursorPage

Consumer = Annotated[str, PathParameter(description="The name of a reader.", max_length=500)]


@get("/", **describe("listCursors", "admin", CursorPage))
async def list_cursors(request: AnyRequest) -> Response[bytes]:
    """List readers of the log with how far they are behind."""
    return json_response(request, await queries.list_cursors(services_of(request)))


@delete("/{consumer:str}", **describe("dropCursor", "admin", None, "not-found", status=204))
async def drop_cursor(request: AnyRequest, consumer: Consumer) -> None:
    """Delete the position of a reader that does not read any more."""
    await queries.drop_cursor(consumer, services_of(request))


cursor_routes = Router("/cursors", tags=["events"], route_handlers=[list_cursors, drop_cursor])
