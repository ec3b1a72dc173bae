"""Server-sent events of the console: a tick for pages that refresh themselves."""
# Tested in tests/integration/interfaces/console/

from collections.abc import AsyncIterator
from typing import Final

from litestar import get
from litestar.response import Stream

from feedmill.errors import CrowdedError
from feedmill.interfaces.console.session import SCOPE, caller_of
from feedmill.interfaces.server_state import AnyRequest, app_state_of

SSE: Final = "text/event-stream"
RETRY: Final = b"retry: 3000\n\n"
_TICK_SEC: Final = 5.0


@get("/console/stream", opt={SCOPE: "read"})
async def ticks(request: AnyRequest) -> Stream:
    """Tell a page every few seconds that it may be out of date."""
    return event_stream(request, _ticks(request))


def event_stream(request: AnyRequest, chunks: AsyncIterator[bytes]) -> Stream:
    """A stream that no proxy may buffer; CrowdedError when too many are open."""
    if not app_state_of(request).streams.take(request):
        message = "too many open streams"
        raise CrowdedError(message, reason="too-many-streams", retry_after_sec=10.0)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Stream(chunks, media_type=SSE, headers=headers)


async def is_still_allowed(request: AnyRequest) -> bool:
    """False once the session has ended."""
    caller = await caller_of(request)
    return caller is not None and caller.may("read")


async def _ticks(request: AnyRequest) -> AsyncIterator[bytes]:
    watch = app_state_of(request).watch
    yield RETRY
    while not watch.is_stopping():
        await watch.sleep_unless_stopping(_TICK_SEC)
        if not await is_still_allowed(request):
            return
        yield b"event: tick\ndata:\n\n"
