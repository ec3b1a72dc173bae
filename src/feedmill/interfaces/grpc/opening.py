"""The way in for who composes the doors; the gRPC stack is an extra, and loaded only when asked for."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Final

from feedmill.engine.run.services import World
from feedmill.errors import MissingExtraError

EXTRA: Final = "grpc"
PACKAGES: Final = ("grpc", "grpc_health", "grpc_reflection", "google.protobuf")

_PART: Final = "the gRPC door"

Opening = Callable[[World, str, int], AbstractAsyncContextManager[tuple[str, int]]]


def grpc_door() -> Opening:
    """`grpc_server` of `doors.grpc.server`; MissingExtraError with the way out when it cannot be."""
    for name in PACKAGES:
        try:
            import_module(name)
        except ModuleNotFoundError:
            raise MissingExtraError(EXTRA, _PART) from None
    opening: Opening = import_module("feedmill.interfaces.grpc.server").grpc_server
    return opening
