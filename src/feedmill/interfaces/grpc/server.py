"""The gRPC server.

    async with grpc_server(services, "127.0.0.1", 50051) as bound:
        ...

Graceful shutdown: health reports NOT_SERVING first, watchers are asked to reconnect, calls get a
grace period, and the rest is cancelled.
"""
# Tested in tests/integration/interfaces/grpc/

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from feedmill.config import GrpcConfig
from feedmill.engine.deliver.read_log import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import check_binding
from feedmill.engine.service.subscriptions import open_subscriber
from feedmill.errors import FeedmillError, UsageError
from feedmill.interfaces.grpc.auth import AuthInterceptor
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.interfaces.grpc.handlers import CallContext, handlers_of, scopes_of
from feedmill.interfaces.grpc.methods import GRPC_METHODS

SERVICES: Final = tuple(one.full_name for one in pb.DESCRIPTOR.services_by_name.values())

_LOOK_SEC: Final = 5.0  # how often health asks whether the store can be read
_FAREWELL_SEC: Final = 0.5  # for telling the watchers of health


class Bound(NamedTuple):
    """Where the server listens."""

    host: str
    port: int


@asynccontextmanager
async def grpc_server(
    services: Services, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Bound]:
    """Serve while the block runs; port 0 takes a free port. UsageError without a token, see D30."""
    await check_binding(host, services.store, services.clock)
    watch = Lifecycle("grpc")
    room = CallContext(
        services, LogNotifier(services.store, watch), watch, set(), open_subscriber(services)
    )
    gate = AuthInterceptor(services, host, scopes_of(GRPC_METHODS))
    server = grpc.aio.server(
        handlers=handlers_of(GRPC_METHODS, room, gate),
        interceptors=(gate,),
        options=options_of(services.config.grpc),
        maximum_concurrent_rpcs=services.config.grpc.max_calls,
    )
    doctor = _Doctor(services, watch)
    health_pb2_grpc.add_HealthServicer_to_server(doctor.servicer, server)
    reflection.enable_server_reflection(
        (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME), server
    )
    bound = Bound(host, _bind(server, host, port))
    await doctor.look()
    await server.start()
    async with asyncio.TaskGroup() as group:
        group.create_task(room.notifier.run())
        group.create_task(doctor.keep_looking())
        try:
            yield bound
        finally:
            await doctor.say_farewell()
            watch.stop()
            await server.stop(services.config.run.drain_sec)


def options_of(config: GrpcConfig) -> tuple[tuple[str, int], ...]:
    """The limits that grpcio enforces."""
    return (
        ("grpc.max_receive_message_length", config.max_request_bytes),
        ("grpc.max_metadata_size", config.max_metadata_bytes),
        ("grpc.absolute_max_metadata_size", config.max_metadata_bytes),
        ("grpc.max_concurrent_streams", config.max_calls),
        ("grpc.keepalive_time_ms", round(config.keepalive_sec * 1000)),
        ("grpc.http2.min_ping_interval_without_data_ms", round(config.min_ping_sec * 1000)),
        ("grpc.http2.max_ping_strikes", 2),
        ("grpc.so_reuseport", 0),  # otherwise two servers share a port without an error
    )


def _bind(server: Any, host: str, port: int) -> int:  # noqa: ANN401  # grpcio has no types
    place = f"[{host}]" if ":" in host and not host.startswith("[") else host
    try:
        bound: int = server.add_insecure_port(f"{place}:{port}")
    except RuntimeError:
        bound = 0
    if not bound:
        message = f"cannot listen on {host} port {port}; choose another"
        raise UsageError(message)
    return bound


class _Doctor:
    """grpc.health.v1: SERVING while the store can be read."""

    def __init__(self, services: Services, watch: Lifecycle) -> None:
        self.servicer = _HealthServicer(watch)
        self._services, self._watch = services, watch

    async def keep_looking(self) -> None:
        """Check the store periodically until the server stops."""
        while not self._watch.is_stopping():
            await self._watch.sleep_unless_stopping(_LOOK_SEC)
            await self.look()

    async def look(self) -> None:
        """Query the store and set the status."""
        status = health_pb2.HealthCheckResponse.SERVING
        try:
            async with asyncio.timeout(_LOOK_SEC):
                await self._services.store.last_seq()
        except (FeedmillError, TimeoutError):
            status = health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", *SERVICES):
            await self.servicer.set(name, status)

    async def say_farewell(self) -> None:
        """Set NOT_SERVING and notify watchers."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_SEC):
                await self.servicer.enter_graceful_shutdown()


class _HealthServicer(health.aio.HealthServicer):  # type: ignore[misc]  # grpcio has no types
    """grpcio's health service, with watchers that do not delay shutdown."""

    def __init__(self, watch: Lifecycle) -> None:
        super().__init__()
        self._watch = watch

    async def Watch(self, request: Any, context: Any) -> None:  # noqa: ANN401, N802  # gRPC's name
        """Every change of the status, until the server stops."""
        with suppress(TimeoutError):
            await self._watch.unless_stopping(super().Watch(request, context), _FAREWELL_SEC)
