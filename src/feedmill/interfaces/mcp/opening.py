"""The way in for who composes the doors; the MCP stack is an extra, and loaded only when asked for."""

from importlib import import_module
from typing import Any, Final

from feedmill.errors import MissingExtraError

MCP_EXTRA: Final = "mcp"

_PART: Final = "the door for agents"


def load_mcp_transports() -> Any:  # noqa: ANN401  # a module; its names are checked where it is written
    """The module `doors.mcp.serving`; MissingExtraError with the way out when it cannot be."""
    try:
        import_module("mcp.server.mcpserver")
    except ModuleNotFoundError:
        raise MissingExtraError(MCP_EXTRA, _PART) from None
    return import_module("feedmill.interfaces.mcp.transports")
