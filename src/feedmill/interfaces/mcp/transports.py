"""MCP over the standard streams of this process, and over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.transport_security import TransportSecuritySettings

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import check_binding
from feedmill.interfaces.http_server import BadRequestAnswer, http_server, listen
from feedmill.interfaces.mcp.auth import JSON, McpAuth, error_body
from feedmill.interfaces.mcp.server import make_server

MCP_PATH: Final = "/mcp"

_MAX_SESSIONS: Final = 100
_IDLE_SEC: Final = 1_800.0


async def serve_stdio(services: Services) -> None:
    """Serve the program that started this one, until it closes the stream."""
    await make_server(services).run_stdio_async()


@asynccontextmanager
async def mcp_http_server(services: Services, host: str, port: int) -> AsyncIterator[str]:
    """Serve MCP over HTTP while the block runs; the URL for clients.

    UsageError when the address is reachable from other machines and no token exists (D30), or when
    it cannot be bound.
    """
    await check_binding(host, services.store, services.clock)
    listening = listen(host, port)
    config = services.config
    server = make_server(services)
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=config.serve.body_bytes,
        session_idle_timeout=_IDLE_SEC,
        max_sessions=_MAX_SESSIONS,
        # McpAuth checks Host and Origin, with the same settings as REST.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    auth = McpAuth(app, services, host)
    serving = http_server(
        auth,
        listening,
        config.serve,
        drain_sec=max(1.0, config.run.drain_sec),
        bad_request=BadRequestAnswer(JSON, error_body("bad-request")),
    )
    async with server.session_manager.run(), serving as address:
        try:
            yield address + MCP_PATH
        finally:
            auth.stop_streams()
