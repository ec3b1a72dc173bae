"""Port: HTTP requests through guard, limits and decoders."""
# Tested in tests/contracts/

from collections.abc import Callable
from typing import Protocol, TypedDict, Unpack

from feedmill.model.fetch import FetchPlan, Headers, Post, RawResponse


class BodyRoom(Protocol):
    """Memory for a body while it arrives; a transfer without room is paused."""

    # False: not now; `go_on` is called when it may
    def may_grow(self, octets: int, go_on: Callable[[], None]) -> bool: ...
    def stop_waiting(self) -> None: ...  # the transfer has ended


class FetchOptions(TypedDict, total=False):
    """How a request is sent; by default directly, to a server with a valid certificate."""

    verify_tls: bool
    proxy: str | None
    room: BodyRoom | None  # for a large body


class Fetcher(Protocol):
    """One GET; every failure is a RawResponse with its reason, never an exception."""

    async def fetch(self, plan: FetchPlan, **how: Unpack[FetchOptions]) -> RawResponse: ...

    async def post(self, post: Post) -> RawResponse: ...  # a redirect is not followed

    async def close(self) -> None: ...


class BodySink(Protocol):
    """Takes the body of a download while it arrives; never waits, never raises."""

    # how many bytes of the answer are taken at most; None: none, and the transfer ends
    def begin(self, status: int, headers: Headers) -> int | None: ...
    def write(self, chunk: bytes) -> bool: ...  # False ends the transfer


class Downloader(Protocol):
    """One GET whose body goes to a sink; through the same guard, redirects and limits as a fetch."""

    # the sink sees 200 and 206 only; the response has no body then
    async def download(
        self,
        plan: FetchPlan,
        sink: BodySink,
        *,
        verify_tls: bool = True,
        proxy: str | None = None,
        bytes_per_sec: int = 0,  # of all downloads under way together; 0: no limit
    ) -> RawResponse: ...
