"""The gRPC interface. Its packages are an extra: `load_grpc_server` imports them on demand."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Final

from feedmill.engine.run.services import Services
from feedmill.errors import MissingExtraError

GRPC_EXTRA: Final = "grpc"
GRPC_PACKAGES: Final = ("grpc", "grpc_health", "grpc_reflection", "google.protobuf")

_PART: Final = "the gRPC API"

OpenServer = Callable[[Services, str, int], AbstractAsyncContextManager[tuple[str, int]]]


def load_grpc_server() -> OpenServer:
    """`grpc_server` of `interfaces.grpc.server`; MissingExtraError when a package is missing."""
    for name in GRPC_PACKAGES:
        try:
            import_module(name)
        except ModuleNotFoundError:
            raise MissingExtraError(GRPC_EXTRA, _PART) from None
    opening: OpenServer = import_module("feedmill.interfaces.grpc.server").grpc_server
    return opening
