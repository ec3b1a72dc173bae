"""Starts the servers of `serve`, `api` and `mcp`, and the background tasks beside them.

This is the one seam between the command line and the other interfaces, which do not know each
other: REST, gRPC and MCP are loaded here, when a command starts them, and nowhere else in the
command line, so that no other command pays for them. import-linter holds it.
"""
# Tested in tests/integration/interfaces/cli/

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from importlib import import_module
from typing import Any, NamedTuple

import click

from feedmill.app.services import announce_settings, file_sinks
from feedmill.config import Config
from feedmill.engine.deliver.to_webhooks import run_webhooks
from feedmill.engine.jobs.runner import run_jobs
from feedmill.engine.maintain.retention import run_maintenance
from feedmill.engine.poll.scheduler import run_forever
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.report import RefreshReport
from feedmill.engine.run.services import Services
from feedmill.errors import MissingExtraError
from feedmill.interfaces.cli import long_running
from feedmill.interfaces.cli.exit import is_json
from feedmill.interfaces.cli.options import option
from feedmill.interfaces.cli.output import show_json_line
from feedmill.interfaces.cli.run_command import SignalHandler
from feedmill.model.running.worker import WorkerRole
from feedmill.observe.metrics import Metrics

_PORT = click.IntRange(0, 65_535)


class ListenOptions(NamedTuple):
    """Addresses to listen on; None: as the settings say."""

    host: str | None
    port: int | None
    grpc_port: int | None


def listen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options --host, --port and --grpc."""
    for one in (
        option("--grpc PORT", "grpc_port", "Also serve gRPC on this port.", type=_PORT),
        option("--port PORT", "Port to listen on [FEEDMILL_SERVE_PORT, 8642].", type=_PORT),
        option("--host ADDRESS", "Address to listen on [FEEDMILL_SERVE_HOST, 127.0.0.1]."),
    ):
        command = one(command)
    return command


def serve_until_stopped(config: Config, wanted: ListenOptions, *, with_mill: bool) -> None:
    """Serve REST, and gRPC when asked for, until SIGTERM or Ctrl-C; with_mill polls as well."""
    if with_mill:
        announce_settings(config)

    async def action(services: Services) -> SignalHandler:
        watch, report, stopping = long_running.watch_role()
        async with AsyncExitStack() as stack:
            addresses = await _open(stack, services, watch, report.metrics, wanted)
            await listen_for_hubs(stack, services)
            _print_addresses(addresses)
            await _work(services, watch, report, with_mill=with_mill)
        return stopping

    long_running.run_role(config, "apply" if with_mill else "await", action)


def rest_and_console(
    services: Services,
    watch: Lifecycle,
    metrics: Metrics,
    *,
    host: str | None = None,
    port: int | None = None,
) -> AbstractAsyncContextManager[str]:
    """The REST server with the console, which serves while its block runs; its address."""
    from feedmill.interfaces.console.app import make_console  # noqa: PLC0415  # with its templates
    from feedmill.interfaces.rest.server import rest_server  # noqa: PLC0415  # with Litestar and uvicorn

    return rest_server(services, watch, host=host, port=port, metrics=metrics, console=make_console)


def start_upkeep(
    group: asyncio.TaskGroup,
    services: Services,
    watch: Lifecycle,
    report: RefreshReport,
    *,
    webhooks: bool,
) -> None:
    """Start what every process that polls does beside it: maintenance, background jobs, and webhooks if wanted."""
    group.create_task(run_maintenance(services, watch))
    group.create_task(run_jobs(services, watch, listeners=(report.job_ran,)))
    if webhooks:
        group.create_task(run_webhooks(services, watch, listeners=(report.delivered,)))


def port_or_any(host: str, port: int) -> int:
    """The port when it is free, else 0: any."""
    try:
        socket.create_server((host, port)).close()
    except OSError:
        return 0
    return port


async def listen_for_hubs(stack: AsyncExitStack, services: Services) -> None:
    """Start the listener for WebSub hubs when push is on; it ends with the stack."""
    if services.config.push.public_url is not None:
        from feedmill.interfaces.push_listener import push_listener  # noqa: PLC0415

        await stack.enter_async_context(push_listener(services))


def load_grpc() -> Any:  # noqa: ANN401  # a module; its names are checked where it is written
    """The module `interfaces.grpc.server`; MissingExtraError when its packages are not installed."""
    packages = ("grpc", "grpc_health", "grpc_reflection", "google.protobuf")
    return _loaded("grpc", "the gRPC API", packages)


def load_mcp() -> Any:  # noqa: ANN401  # a module; its names are checked where it is written
    """The module `interfaces.mcp.server`; MissingExtraError when its packages are not installed."""
    return _loaded("mcp", "the MCP server", ("mcp.server.mcpserver",))


def _loaded(name: str, part: str, packages: Sequence[str]) -> Any:  # noqa: ANN401  # a module
    """The server of an interface whose packages are an extra of the same name."""
    try:
        for package in packages:
            import_module(package)
    except ModuleNotFoundError:
        raise MissingExtraError(name, part) from None
    return import_module(f"feedmill.interfaces.{name}.server")


async def _open(
    stack: AsyncExitStack,
    services: Services,
    watch: Lifecycle,
    metrics: Metrics,
    wanted: ListenOptions,
) -> dict[str, str]:
    """Start the servers that are wanted; their addresses."""
    host, port, grpc_port = wanted
    addresses: dict[str, str] = {}
    if grpc_port is not None:
        bound = host or services.config.serve.host
        name, number = await stack.enter_async_context(
            load_grpc().grpc_server(services, bound, grpc_port)
        )
        addresses["grpc"] = f"{name}:{number}"
    serving = rest_and_console(services, watch, metrics, host=host, port=port)
    addresses["rest"] = await stack.enter_async_context(serving)
    return addresses


async def _work(
    services: Services, watch: Lifecycle, report: RefreshReport, *, with_mill: bool
) -> None:
    """Run the background tasks until the lifecycle is stopped."""
    role: WorkerRole = "run" if with_mill else "api"
    parts = ("polls",) if with_mill else ()
    role_tasks = long_running.role_services(services, watch, role, report.metrics, parts=parts)
    sinks = await file_sinks(services) if with_mill else ()
    delivery = long_running.deliver_to_sinks(services, sinks, watch)
    async with role_tasks, delivery, asyncio.TaskGroup() as group:
        counting = group.create_task(long_running.count_polls(services, watch, report.metrics))
        if with_mill:
            start_upkeep(group, services, watch, report, webhooks=True)
            group.create_task(run_forever(services, watch))
        try:
            await long_running.wait_until_stopped(watch)
        finally:
            counting.cancel()


def _print_addresses(addresses: dict[str, str]) -> None:
    if is_json():
        show_json_line(addresses)
        return
    click.echo(f"console at {addresses['rest']}/, REST API described at {addresses['rest']}/docs")
    if "grpc" in addresses:
        click.echo(f"gRPC at {addresses['grpc']}")
