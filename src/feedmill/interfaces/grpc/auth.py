"""Authorisation of gRPC calls: a token and its scope for every method but health, and a rate limit."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import grpc

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter, is_loopback, require_scope
from feedmill.errors import FeedmillError
from feedmill.interfaces.grpc.errors import RpcRefusal, refusal_of
from feedmill.interfaces.request_auth import bearer_token, check_rate, identify_caller
from feedmill.model.running.webhook import Caller, Scope

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

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,  # noqa: ANN401  # grpcio has no types
    ) -> Any:  # noqa: ANN401
        """The method itself, or one that refuses the call."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(_OPEN):
            return handler
        try:
            caller = await self._caller(handler_call_details.invocation_metadata)
            check_rate(self._limiter, caller, "")
            require_scope(caller, self._scope(method))
        except FeedmillError as problem:
            return _refusing(refusal_of(problem))
        return handler

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


def _refusing(refusal: RpcRefusal) -> Any:  # noqa: ANN401  # grpcio has no types
    """A method that refuses before it has read a message.

    Every kind of method begins alike on the wire, but only one that takes a stream is called
    before its first message: a client that sends none would hold its place for ever.
    """

    async def refuse(_: object, context: Any) -> None:  # noqa: ANN401
        await context.abort(refusal.code, refusal.message, refusal.metadata())

    return grpc.stream_stream_rpc_method_handler(refuse)
