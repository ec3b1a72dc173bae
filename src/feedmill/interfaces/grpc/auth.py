"""Authorisation of gRPC calls: a token and its scope for every method but health, a rate limit, and a time for the request."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import grpc

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter, is_loopback, require_scope
from feedmill.errors import FeedmillError
from feedmill.interfaces.grpc.errors import DEADLINE_EXCEEDED, RpcRefusal, refusal_of
from feedmill.interfaces.request_auth import bearer_token, check_rate, identify_caller
from feedmill.model.running.webhook import Caller, Scope

_Call: TypeAlias = Callable[[object, Any], Awaitable[None]]
Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]

_OPEN: Final = "/grpc.health.v1.Health/"
_UNLISTED: Final[Scope] = "read"  # reflection


class AuthInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpcio has no types
    """Checks every call of every service on the server, those of grpcio included."""

    def __init__(self, services: Services, host: str, scopes: Mapping[str, Scope]) -> None:
        self._services = services
        self._is_local = is_loopback(host)
        self._scopes = scopes
        self._limiter = RateLimiter(services.config.access, services.clock)
        self._call_sec = services.config.grpc.call_sec
        # Health needs no token, so it gets at most half of the places for calls.
        self._free = max(1, services.config.grpc.max_calls // 2)

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,  # noqa: ANN401  # grpcio has no types
    ) -> Any:  # noqa: ANN401
        """The method itself, or one that refuses the call."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None:
            return None
        call = self._in_time(handler)
        if method.startswith(_OPEN):
            return _streaming(self._one_of_half(call), handler)
        try:
            caller = await self._caller(handler_call_details.invocation_metadata)
            check_rate(self._limiter, caller, "")
            require_scope(caller, self._scope(method))
        except FeedmillError as problem:
            return _refusing(refusal_of(problem))
        return handler if handler.request_streaming else _streaming(call, handler)

    def _in_time(self, handler: Any) -> _Call:  # noqa: ANN401  # grpcio has no types
        """The method, called before its request has come: a client that sends none loses its place in time."""
        answer = handler.unary_stream or handler.unary_unary

        async def call(_: object, context: Any) -> None:  # noqa: ANN401
            try:
                async with asyncio.timeout(self._call_sec):
                    request = await context.read()
            except TimeoutError:
                late = DEADLINE_EXCEEDED
                await context.abort(late.code, late.message, late.metadata())
                return
            if request is grpc.aio.EOF:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no request came")
            reply = await answer(request, context)
            if not handler.response_streaming:
                await context.write(reply)

        return call

    def _one_of_half(self, call: _Call) -> _Call:
        async def limited(requests: object, context: Any) -> None:  # noqa: ANN401
            if self._free <= 0:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls for health")
            self._free -= 1
            try:
                await call(requests, context)
            finally:
                self._free += 1

        return limited

    async def check(self, method: str, metadata: Metadata) -> None:
        """AccessError once the token of a call under way does not hold any more."""
        require_scope(await self._caller(metadata), self._scope(method))

    async def _caller(self, metadata: Metadata) -> Caller | None:
        given = [value for name, value in metadata if name == "authorization"]
        # One field alone, and as text: two are none.
        token = bearer_token([str(given[0])] if len(given) == 1 else [])
        return await identify_caller(token, self._services, is_local=self._is_local)

    def _scope(self, method: str) -> Scope:
        return self._scopes.get(method, _UNLISTED)


def _streaming(call: _Call, handler: Any) -> Any:  # noqa: ANN401  # grpcio has no types
    """A handler of the same messages: on the wire every kind of method begins alike."""
    return grpc.stream_stream_rpc_method_handler(
        call, handler.request_deserializer, handler.response_serializer
    )


def _refusing(refusal: RpcRefusal) -> Any:  # noqa: ANN401  # grpcio has no types
    """A method that refuses before it has read a message.

    Every kind of method begins alike on the wire, but only one that takes a stream is called
    before its first message: a client that sends none would hold its place for ever.
    """

    async def refuse(_: object, context: Any) -> None:  # noqa: ANN401
        await context.abort(refusal.code, refusal.message, refusal.metadata())

    return grpc.stream_stream_rpc_method_handler(refuse)
