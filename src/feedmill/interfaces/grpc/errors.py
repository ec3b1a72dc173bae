"""Errors of gRPC calls: a status, a message, and the stable reason in the trailing metadata.

The reason is the one that logs, metrics and REST use; programs decide by it.
"""

from math import ceil
from typing import Final, NamedTuple

import grpc
import msgspec

from feedmill import errors

REASON: Final = "feedmill-reason"
HINT: Final = "feedmill-hint"
RETRY_AFTER: Final = "retry-after"
RETRY_PUSHBACK: Final = "grpc-retry-pushback-ms"  # what gRPC's own retry policies obey

_CODES: Final[tuple[tuple[type[errors.FeedmillError], grpc.StatusCode], ...]] = (
    (errors.NoFeedError, grpc.StatusCode.NOT_FOUND),
    (errors.NotFoundError, grpc.StatusCode.NOT_FOUND),
    (errors.ConflictError, grpc.StatusCode.FAILED_PRECONDITION),
    (errors.UsageError, grpc.StatusCode.INVALID_ARGUMENT),
    (errors.CrowdedError, grpc.StatusCode.RESOURCE_EXHAUSTED),
)


class RpcRefusal(NamedTuple):
    """A status with message and reason that ends a call."""

    code: grpc.StatusCode
    reason: str
    message: str
    hint: str = ""
    retry_after_sec: float = 0.0

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The trailing metadata; values are ASCII by the rules of HTTP/2."""
        pairs = [(REASON, self.reason)]
        if self.hint:
            pairs.append((HINT, _ascii(self.hint)))
        if self.retry_after_sec:
            pairs.append((RETRY_AFTER, str(ceil(self.retry_after_sec))))
            pairs.append((RETRY_PUSHBACK, str(ceil(self.retry_after_sec * 1000))))
        return tuple(pairs)


MALFORMED: Final = RpcRefusal(
    grpc.StatusCode.INVALID_ARGUMENT,
    "malformed",
    "the request cannot be decoded as the message of this method",
)
DEADLINE_EXCEEDED: Final = RpcRefusal(
    grpc.StatusCode.DEADLINE_EXCEEDED, "timeout", "the call took too long; request less"
)
TOO_SLOW: Final = RpcRefusal(
    grpc.StatusCode.ABORTED,
    "too-slow",
    "the client reads too slowly; watch again after the last sequence number",
)
SHUTTING_DOWN: Final = RpcRefusal(
    grpc.StatusCode.UNAVAILABLE, "shutting-down", "the server is shutting down; watch again later"
)
UNREADABLE: Final = RpcRefusal(
    grpc.StatusCode.UNAVAILABLE, "io-error", "the store is unavailable", retry_after_sec=5.0
)
INTERNAL_FAULT: Final = RpcRefusal(
    grpc.StatusCode.INTERNAL, "surprise", "internal error; see the log of the server"
)


def refusal_of(problem: Exception) -> RpcRefusal:
    """The refusal for an exception; an unexpected one shows no details."""
    if isinstance(problem, errors.AccessError):
        unknown = problem.reason == "unauthenticated"
        denied = grpc.StatusCode.PERMISSION_DENIED
        code = grpc.StatusCode.UNAUTHENTICATED if unknown else denied
        return _told(code, problem)
    if isinstance(problem, errors.StoreError | errors.BlobError):
        # Its message names files of this machine, which clients must not see.
        return UNREADABLE._replace(reason=problem.reason)
    for kind, code in _CODES:
        if isinstance(problem, kind):
            return _told(code, problem)
    if isinstance(problem, msgspec.ValidationError):
        return RpcRefusal(grpc.StatusCode.INVALID_ARGUMENT, errors.UsageError.reason, str(problem))
    return DEADLINE_EXCEEDED if isinstance(problem, TimeoutError) else INTERNAL_FAULT


def _told(code: grpc.StatusCode, problem: errors.FeedmillError) -> RpcRefusal:
    wait = problem.retry_after_sec if isinstance(problem, errors.CrowdedError) else 0.0
    return RpcRefusal(code, problem.reason, str(problem), problem.hint, wait)


def _ascii(text: str) -> str:
    clean = text.replace("…", "...").encode("ascii", "replace").decode()
    return "".join(letter for letter in clean if letter.isprintable())
