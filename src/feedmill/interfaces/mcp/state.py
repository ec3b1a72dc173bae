"""State shared by all tools: services, saved windows and the caller."""

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
    """The state of one server, from its start to its end."""

    services: Services
    window_library: WindowLibrary


Call = Context[McpState, Any]


def mcp_state_of(call: Call) -> McpState:
    """The server state of a call."""
    return call.request_context.lifespan_context


def caller_of(call: Call) -> Caller | None:
    """The caller: the token's owner over HTTP; over stdio an administrator."""
    request = call.request_context.request
    if request is None:
        return _OWNER
    caller: Caller | None = request.scope.get(CALLER)
    return caller


def program_of(call: Call) -> str:
    """The name the client gives itself, for the record only."""
    params = call.session.client_params
    said = params.client_info.name if params is not None else "a program"
    visible = "".join(char if char.isprintable() else " " for char in said[:_MAX_NAME_CHARS])
    caller = caller_of(call)
    token = "" if caller is None or caller is _OWNER else f" ({caller.name})"
    return f"{' '.join(visible.split()) or 'a program'}{token}"
