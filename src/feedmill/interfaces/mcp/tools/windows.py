"""Tool list_windows: the collected windows of the home folder."""
# Tested in tests/integration/interfaces/mcp/

from typing import Final

from feedmill.engine.two_phase.sidecar_files import read_screenings
from feedmill.engine.two_phase.window_library import SavedWindow, WindowLibrary
from feedmill.errors import CursorError, FeedmillError
from feedmill.interfaces.mcp.shapes import WindowList, WindowRow
from feedmill.interfaces.mcp.tool import Call, ToolCursor, ToolLimit, mcp_state_of, page_size, tool
from feedmill.publish.cursors import read_cursor, write_cursor

_CURSOR: Final = "mcp-windows"


@tool("List windows", "read", reads=True)
async def list_windows(
    call: Call, cursor: ToolCursor = None, limit: ToolLimit = None
) -> WindowList:
    """List collected windows, the newest first: span, candidates, how many were screened."""
    state = mcp_state_of(call)
    after = read_cursor(_CURSOR, cursor) or "0"
    if not after.isdecimal():
        raise CursorError(cursor or "")
    return await windows_page(state.window_library, int(after), page_size(limit, state.services))


async def windows_page(library: WindowLibrary, after: int, size: int) -> WindowList:
    """One page of the windows that can be read."""
    ids = await library.ids()
    rows: list[WindowRow] = []
    for window_id in ids[after : after + size]:
        try:
            rows.append(_row(await library.window(window_id)))
        except FeedmillError:  # changed or deleted meanwhile: it cannot be worked with
            continue
    following = str(after + size) if after + size < len(ids) else None
    return WindowList(windows=rows, next_cursor=write_cursor(_CURSOR, following))


def _row(kept: SavedWindow) -> WindowRow:
    file = kept.file
    return WindowRow(
        window_id=kept.id,
        collected_at=file.created_at,
        start=file.window.start,
        end=file.window.end,
        sources=len(file.sources),
        candidates=len(file.candidates),
        screened=len(read_screenings(kept.path, file)),
        topics=list(file.topics),
    )
