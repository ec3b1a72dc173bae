"""The MCP interface. Its packages are an extra: `load_mcp_transports` imports them on demand."""

from importlib import import_module
from typing import Any, Final

from feedmill.errors import MissingExtraError

MCP_EXTRA: Final = "mcp"

_PART: Final = "the MCP server"


def load_mcp_transports() -> Any:  # noqa: ANN401  # a module; its names are checked where it is written
    """The module `interfaces.mcp.server`; MissingExtraError when a package is missing."""
    try:
        import_module("mcp.server.mcpserver")
    except ModuleNotFoundError:
        raise MissingExtraError(MCP_EXTRA, _PART) from None
    return import_module("feedmill.interfaces.mcp.server")
