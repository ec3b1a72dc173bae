"""Who may call what: every method but health asks for a token, and each token has its pace.

A wide address always needs one (D30). On loopback, as long as no token was ever made, everybody on
the machine may do everything; the first token closes that.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import grpc

from feedmill.engine.run.services import Services
from feedmill.engine.service.auth import RateLimiter, authenticate, is_loopback, require_scope
from feedmill.errors import CrowdedError, FeedmillError
from feedmill.interfaces.grpc.errors import RpcRefusal, refusal_of
from feedmill.model.token import Caller, Scope

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]

_OPEN: Final = "/grpc.health.v1.Health/"
_SCHEME: Final = "bearer "
_UNLISTED: Final[Scope] = "read"  # reflection
_LOOPBACK: Final = "loopback"
_NEIGHBOUR: Final = Caller(token_id=_LOOPBACK, name=_LOOPBACK, scopes=("admin",))


class AuthInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]  # grpcio has no types
    """Stands before every service on the server, those that came with grpcio included."""

    def __init__(self, services: Services, host: str, scopes: Mapping[str, Scope]) -> None:
        self._world = services
        self._is_local = is_loopback(host)
        self._scopes = scopes
        self._limiter = RateLimiter(services.config.access, services.clock)

    async def intercept_service(
        self,
        continuation: Callable[[Any], Awaitable[Any]],
        handler_call_details: Any,  # noqa: ANN401  # grpcio has no types
    ) -> Any:  # noqa: ANN401
        """The method itself, or one that only says no."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(_OPEN):
            return handler
        try:
            caller = await self._caller(handler_call_details.invocation_metadata)
            self._pace(caller)
            require_scope(caller, self._scope(method))
        except FeedmillError as problem:
            return _refusing(refusal_of(problem))
        return handler

    async def check(self, method: str, metadata: Metadata) -> None:
        """AccessError once the token of a call under way does not hold any more."""
        require_scope(await self._caller(metadata), self._scope(method))

    async def _caller(self, metadata: Metadata) -> Caller | None:
        caller = await authenticate(_presented(metadata), self._world.store, self._world.clock)
        if caller is None and self._is_local and not await self._world.store.tokens():
            return _NEIGHBOUR
        return caller

    def _pace(self, caller: Caller | None) -> None:
        """CrowdedError for whoever asks too often; those without a token share one pace."""
        wait = self._limiter.admit("unknown" if caller is None else caller.token_id)
        if wait > 0:
            message = f"too many calls; try again in {wait:.1f} s"
            raise CrowdedError(message, reason="rate-limited", retry_after_sec=wait)

    def _scope(self, method: str) -> Scope:
        return self._scopes.get(method, _UNLISTED)


def _presented(metadata: Metadata) -> str | None:
    """The secret of the one `authorization` field; two of them are none."""
    found = [value for name, value in metadata if name == "authorization"]
    if len(found) != 1 or not isinstance(found[0], str):
        return None
    scheme, secret = found[0][: len(_SCHEME)], found[0][len(_SCHEME) :]
    return secret.strip() if scheme.lower() == _SCHEME else None


def _refusing(refusal: RpcRefusal) -> Any:  # noqa: ANN401  # grpcio has no types
    """A method that says no before it has read a word.

    Every kind of method begins alike on the wire, but only one that takes a stream is called
    before its first message: a stranger who sends none would hold a place for ever.
    """

    async def refuse(_: object, context: Any) -> None:  # noqa: ANN401
        await context.abort(refusal.code, refusal.message, refusal.metadata())

    return grpc.stream_stream_rpc_method_handler(refuse)
