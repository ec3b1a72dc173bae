"""The one seam between the command line and the other interfaces, which do not know each other.

REST, gRPC and MCP are loaded here, when a command starts them, and nowhere else in the command
line: so that no other command pays for them. import-linter holds it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feedmill.interfaces.grpc import OpenServer


def load_rest_server() -> Any:  # noqa: ANN401  # a function; it is checked where it is written
    """`rest_server`, with Litestar and uvicorn behind it."""
    from feedmill.interfaces.rest.server import rest_server  # noqa: PLC0415

    return rest_server


def load_grpc_server() -> "OpenServer":
    """`grpc_server`; MissingExtraError when its packages are not installed."""
    from feedmill.interfaces import grpc  # noqa: PLC0415

    return grpc.load_grpc_server()


def load_mcp_transports() -> Any:  # noqa: ANN401  # a module; its names are checked where it is written
    """The module `interfaces.mcp.server`; MissingExtraError when its packages are not installed."""
    from feedmill.interfaces import mcp  # noqa: PLC0415

    return mcp.load_mcp_transports()
