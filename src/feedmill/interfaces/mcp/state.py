"""What every tool reaches for: the world, the shelf of windows, and who is asking."""

from typing import Any, Final, NamedTuple

from mcp.server.mcpserver import Context

from feedmill.engine.run.services import Services
from feedmill.engine.two_phase.window_library import WindowLibrary
from feedmill.model.token import Caller

CALLER: Final = "feedmill.caller"  # in the scope of an HTTP request, put there by the guard

_OWNER: Final = Caller(
    token_id="stdio",  # noqa: S106  # a name, no secret
    name="stdio",
    scopes=("admin",),
)
_MAX_NAME_CHARS: Final = 60


class McpState(NamedTuple):
    """One open door: made when a server starts, gone when it ends."""

    services: Services
    window_library: WindowLibrary


Call = Context[McpState, Any]


def mcp_state_of(call: Call) -> McpState:
    """The state that a call came through."""
    return call.request_context.lifespan_context


def caller_of(call: Call) -> Caller | None:
    """Who asks: the token's owner over HTTP; who started the process may do everything."""
    request = call.request_context.request
    if request is None:
        return _OWNER
    caller: Caller | None = request.scope.get(CALLER)
    return caller


def program_of(call: Call) -> str:
    """What the calling program says it is: for the record, and for nothing else."""
    params = call.session.client_params
    said = params.client_info.name if params is not None else "a program"
    visible = "".join(char if char.isprintable() else " " for char in said[:_MAX_NAME_CHARS])
    caller = caller_of(call)
    token = "" if caller is None or caller is _OWNER else f" ({caller.name})"
    return f"{' '.join(visible.split()) or 'a program'}{token}"
