"""Handlers of gRPC calls: decoding, limits, errors and the access log."""
# Tested in tests/integration/interfaces/grpc/

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, NoReturn, TypeVar

import grpc
import msgspec
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from feedmill.engine.deliver.read_log import LogNotifier
from feedmill.engine.run.lifecycle import Lifecycle
from feedmill.engine.run.services import Services
from feedmill.engine.subscribe.subscriber import Subscriber
from feedmill.interfaces.grpc import errors
from feedmill.interfaces.grpc.auth import AuthInterceptor
from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.interfaces.grpc.messages import message_of
from feedmill.model.running.webhook import Scope
from feedmill.observe.log import logger

T = TypeVar("T")

PACKAGE = pb.DESCRIPTOR.package


class CallContext(NamedTuple):
    """What a method may need: services, log notifier and lifecycle."""

    services: Services
    notifier: LogNotifier
    watch: Lifecycle
    watchers: set[object]  # who follows the log at the moment
    subscriber: Subscriber  # where subscriptions are taken; it keeps its manners towards hosts


class StreamEnd(Exception):  # noqa: N818  # no error: a stream has no other way to say why it ends
    """Ends a stream early with a refusal."""

    def __init__(self, refusal: errors.RpcRefusal) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal


UnaryHandler = Callable[[Any, CallContext], Awaitable[Any]]
# None: nothing to say for now.
StreamHandler = Callable[[Any, CallContext], AsyncGenerator[Any, None]]


class GrpcMethod(NamedTuple):
    """The function of a method and its scope; it answers a message, a shape of its fields, or None without any."""

    scope: Scope
    answer: UnaryHandler | StreamHandler


GrpcMethods = Mapping[str, GrpcMethod]  # by "Service/Method"


def scopes_of(methods: GrpcMethods) -> dict[str, Scope]:
    """The scope of each method by its path."""
    return {f"/{PACKAGE}.{name}": method.scope for name, method in methods.items()}


def handlers_of(methods: GrpcMethods, room: CallContext, gate: AuthInterceptor) -> list[Any]:
    """One handler per service of the proto file; every method must be implemented."""
    return [
        grpc.method_handlers_generic_handler(
            service.full_name,
            {
                method.name: _handler(method, methods[f"{service.name}/{method.name}"], room, gate)
                for method in service.methods
            },
        )
        for service in pb.DESCRIPTOR.services_by_name.values()
    ]


def _handler(described: Any, method: GrpcMethod, room: CallContext, gate: AuthInterceptor) -> Any:  # noqa: ANN401
    kind = GetMessageClass(described.input_type)
    path = f"/{described.containing_service.full_name}/{described.name}"
    if described.server_streaming:
        stream = _stream(path, kind, method, room, gate)
        return grpc.unary_stream_rpc_method_handler(_logged(path, stream, room))
    return grpc.unary_unary_rpc_method_handler(
        _logged(
            path, _unary(path, (kind, GetMessageClass(described.output_type)), method, room), room
        )
    )


def _unary(
    path: str,
    kinds: tuple[Any, Any],
    method: GrpcMethod,
    room: CallContext,
) -> Callable[..., Awaitable[bytes]]:
    limit = room.services.config.grpc.call_sec
    asked, answered = kinds

    async def call(data: bytes, context: Any) -> bytes:  # noqa: ANN401
        try:
            async with asyncio.timeout(limit):
                reply = await method.answer(asked.FromString(data), room)  # type: ignore[misc]  # unary by its descriptor
        except Exception as problem:  # noqa: BLE001  # the edge of a task
            await _refuse(path, problem, context)
        message = message_of(answered, reply) if isinstance(reply, msgspec.Struct) else reply
        encoded: bytes = (answered() if message is None else message).SerializeToString()
        return encoded

    return call


def _stream(
    path: str,
    kind: Any,  # noqa: ANN401
    method: GrpcMethod,
    room: CallContext,
    gate: AuthInterceptor,
) -> Callable[..., Awaitable[None]]:
    async def call(data: bytes, context: Any) -> None:  # noqa: ANN401
        try:
            replies: AsyncGenerator[Any, None] = method.answer(kind.FromString(data), room)  # type: ignore[assignment]  # a stream by its descriptor
            async with aclosing(replies):
                await _write_all(path, replies, room, gate, context)
        except Exception as problem:  # noqa: BLE001  # the edge of a task
            await _refuse(path, problem, context)

    return call


def _logged(
    path: str, call: Callable[..., Awaitable[T]], room: CallContext
) -> Callable[..., Awaitable[T]]:
    """Run the call and log one line: method and status, never the content."""
    log, clock = logger("grpc"), room.services.clock

    async def logged(data: bytes, context: Any) -> T:  # noqa: ANN401
        begun, left = clock.monotonic(), False
        try:
            return await call(data, context)
        except asyncio.CancelledError:
            left = True
            raise
        finally:
            status = "CANCELLED" if left else _status(context)
            elapsed_ms = round((clock.monotonic() - begun) * 1000, 1)
            log.info("answered", op=path, status=status, elapsed_ms=elapsed_ms)

    return logged


def _status(context: Any) -> str:  # noqa: ANN401
    code = context.code()
    return code.name if isinstance(code, grpc.StatusCode) else "OK"


async def _write_all(
    path: str,
    replies: AsyncGenerator[Any, None],
    room: CallContext,
    gate: AuthInterceptor,
    context: Any,  # noqa: ANN401
) -> None:
    """Send each reply after the previous one; re-check the token from time to time."""
    config, clock = room.services.config.grpc, room.services.clock
    checked = clock.monotonic()
    async for reply in replies:
        if clock.monotonic() - checked >= config.recheck_sec:
            await gate.check(path, context.invocation_metadata())
            checked = clock.monotonic()
        if reply is None:
            continue
        try:
            async with asyncio.timeout(config.stall_sec):
                await context.write(reply.SerializeToString())
        except TimeoutError:
            raise StreamEnd(errors.TOO_SLOW) from None


async def _refuse(path: str, problem: Exception, context: Any) -> NoReturn:  # noqa: ANN401
    """Abort the call with the refusal, unless the client has disconnected."""
    if context.cancelled():
        raise asyncio.CancelledError
    refusal = _refusal(problem)
    if refusal.code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE):
        _log_fault(path, problem, refusal)
    await context.abort(refusal.code, refusal.message, refusal.metadata())
    raise AssertionError(refusal.reason)  # abort has raised


def _refusal(problem: Exception) -> errors.RpcRefusal:
    if isinstance(problem, StreamEnd):
        return problem.refusal
    return errors.MALFORMED if isinstance(problem, DecodeError) else errors.refusal_of(problem)


def _log_fault(path: str, problem: Exception, refusal: errors.RpcRefusal) -> None:
    if refusal is errors.INTERNAL_FAULT:
        logger("grpc").error("unexpected error", op=path, exc_info=problem)
    elif refusal is not errors.SHUTTING_DOWN:
        logger("grpc").error("unavailable", op=path, reason=refusal.reason, detail=str(problem))
