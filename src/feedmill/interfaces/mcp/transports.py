"""Two ways to speak with agents: over the standard streams of this process, and over HTTP."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import check_binding
from feedmill.errors import UsageError
from feedmill.interfaces.mcp.auth import McpAuth
from feedmill.interfaces.mcp.patience import timed_connection_class
from feedmill.interfaces.mcp.server import make_server

MCP_PATH: Final = "/mcp"

_BACKLOG: Final = 128
_MAX_SESSIONS: Final = 100
_IDLE_SEC: Final = 1_800.0


async def serve_stdio(services: Services) -> None:
    """Serve the program that started this one, until it closes the stream."""
    await make_server(services).run_stdio_async()


@asynccontextmanager
async def mcp_http_server(services: Services, host: str, port: int) -> AsyncIterator[str]:
    """Serve while the block runs; the address for clients.

    UsageError when the address is open to others and no token was made (D30), or when it cannot
    be had.
    """
    await check_binding(host, services.store, services.clock)
    listening = _listen(host, port)
    server = make_server(services)
    app = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=services.config.serve.body_bytes,
        session_idle_timeout=_IDLE_SEC,
        max_sessions=_MAX_SESSIONS,
        # The guard looks at Host and Origin, with the settings of every other door.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    guard = McpAuth(app, services, host)
    web = _Server(_settings(guard, services))
    async with asyncio.TaskGroup() as group, server.session_manager.run():
        serving = group.create_task(web.serve(sockets=[listening]))
        try:
            yield _address(listening)
        finally:
            web.should_exit = True
            guard.stop_streams()
            await asyncio.wait({serving})


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves signals to whoever started it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _settings(app: McpAuth, services: Services) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=timed_connection_class(services.config.serve),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=services.config.serve.max_connections,
        timeout_keep_alive=int(services.config.serve.keep_alive_sec),
        timeout_graceful_shutdown=max(1, int(services.config.run.drain_sec)),
    )


def _listen(host: str, port: int) -> socket.socket:
    bare = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    try:
        listening = socket.create_server((bare, port), family=family, backlog=_BACKLOG)
    except OSError as problem:
        # Python adds the address a second time: "… (while attempting to bind on …)".
        words = (problem.strerror or str(problem)).partition(" (while")[0]
        message = f"nothing can listen at {host} on port {port} ({words}); choose another"
        raise UsageError(message) from problem
    # asyncio does this only for sockets whose protocol is named; without it every answer in two
    # pieces waits 40 ms for an acknowledgement. Accepted connections inherit it.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}{MCP_PATH}" if ":" in host else f"http://{host}:{port}{MCP_PATH}"
