"""The gRPC server: opened on an address, closed with everything that is under way.

    async with grpc_server(world, "127.0.0.1", 50051) as bound:
        ...

It ends as it should: health says so first, watchers are told to come back, calls are finished
within a grace, and what is left then is cancelled.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from feedmill.config import GrpcConfig
from feedmill.engine.deliver.log_notifier import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import check_binding
from feedmill.engine.subscribe.subscriber import Subscriber
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
    """Serve until the block ends; port 0 takes a free one. UsageError for a wide one without a token."""
    await check_binding(host, services.store, services.clock)
    watch = Lifecycle("grpc")
    room = CallContext(
        services, LogNotifier(services.store, watch), watch, set(), Subscriber(services)
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
    """The limits that grpcio itself holds."""
    return (
        ("grpc.max_receive_message_length", config.max_request_bytes),
        ("grpc.max_metadata_size", config.max_metadata_bytes),
        ("grpc.absolute_max_metadata_size", config.max_metadata_bytes),
        ("grpc.max_concurrent_streams", config.max_calls),
        ("grpc.keepalive_time_ms", round(config.keepalive_sec * 1000)),
        ("grpc.http2.min_ping_interval_without_data_ms", round(config.min_ping_sec * 1000)),
        ("grpc.http2.max_ping_strikes", 2),
        ("grpc.so_reuseport", 0),  # otherwise two servers share a port, and nobody notices
    )


def _bind(server: Any, host: str, port: int) -> int:  # noqa: ANN401  # grpcio has no types
    place = f"[{host}]" if ":" in host and not host.startswith("[") else host
    try:
        bound: int = server.add_insecure_port(f"{place}:{port}")
    except RuntimeError:
        bound = 0
    if not bound:
        message = f"nothing can listen at {host} on port {port}; choose another"
        raise UsageError(message)
    return bound


class _Doctor:
    """What grpc.health.v1 says: serving as long as the store can be read."""

    def __init__(self, services: Services, watch: Lifecycle) -> None:
        self.servicer = _HealthServicer(watch, max(1, services.config.grpc.max_calls // 2))
        self._world, self._watch = services, watch

    async def keep_looking(self) -> None:
        """Look now and then until the server ends."""
        while not self._watch.is_stopping():
            await self._watch.sleep_unless_stopping(_LOOK_SEC)
            await self.look()

    async def look(self) -> None:
        """Ask the store something, and say whether it answered."""
        status = health_pb2.HealthCheckResponse.SERVING
        try:
            async with asyncio.timeout(_LOOK_SEC):
                await self._world.store.last_seq()
        except (FeedmillError, TimeoutError):
            status = health_pb2.HealthCheckResponse.NOT_SERVING
        for name in ("", *SERVICES):
            await self.servicer.set(name, status)

    async def say_farewell(self) -> None:
        """Nothing is served any more; who watches is told."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_SEC):
                await self.servicer.enter_graceful_shutdown()


class _HealthServicer(health.aio.HealthServicer):  # type: ignore[misc]  # grpcio has no types
    """grpcio's own, except that whoever watches holds up neither the end nor other calls.

    It is open to everybody, so those who watch get half of the places and no more.
    """

    def __init__(self, watch: Lifecycle, most: int) -> None:
        super().__init__()
        self._watch, self._free = watch, most

    async def Watch(self, request: Any, context: Any) -> None:  # noqa: ANN401, N802  # gRPC's name
        """Every change of the status, until the server ends."""
        if self._free <= 0:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many watch already")
        self._free -= 1
        try:
            with suppress(TimeoutError):
                await self._watch.unless_stopping(super().Watch(request, context), _FAREWELL_SEC)
        finally:
            self._free += 1
