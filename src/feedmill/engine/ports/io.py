"""Ports to everything but the store: the clock with new ids, HTTP requests through guard, limits and decoders, raw bytes and their index."""
# Tested in tests/contracts/

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Protocol, TypedDict, Unpack

from feedmill.model.feed import BlobRef
from feedmill.model.fetch import FetchPlan, Headers, Post, RawResponse
from feedmill.model.running.worker import BlobProblem, Fate, RawNote, Segment, StoreIdentity


class Clock(Protocol):
    """Time and ids: the only source of time and randomness."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def new_id(self) -> str: ...
    def new_secret(self) -> str: ...  # 256 bits
    async def sleep(self, seconds: float) -> None: ...


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


class Getter(Protocol):
    """One GET; every failure is a RawResponse with its reason, never an exception."""

    async def fetch(self, plan: FetchPlan, **how: Unpack[FetchOptions]) -> RawResponse: ...


class Fetcher(Getter, Protocol):
    """Requests, which share connections."""

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


class Blobs(Protocol):
    """Raw bytes by content: append-only segments, hash-checked on every read (D14)."""

    # durable when they return; a note says which fetch brought the body
    async def put(self, body: bytes, *, sha256: str, note: bytes = b"") -> BlobRef: ...
    async def annotate(self, sha256: str, note: bytes) -> None: ...  # of a body that is kept
    async def notes(
        self, segment: str, *, moved: Collection[str] = ()
    ) -> tuple[RawNote, ...]: ...  # but those that stand with a body that moved
    def is_noted(self, feed_id: str, sha256: str) -> bool: ...  # lately, by this process
    def remember_note(self, feed_id: str, sha256: str) -> None: ...  # once it is durable
    async def get(self, ref: BlobRef, prefix: bytes | None = None) -> bytes: ...

    # housekeeping: re-encode → move the index → sweep the old segment until it is dropped
    async def seal(self) -> str | None: ...  # the segment that this process was filling
    async def segments(self) -> tuple[Segment, ...]: ...
    async def reencode(
        self,
        bodies: Sequence[tuple[BlobRef, str | None]],  # with the feed's previous body, oldest first
    ) -> tuple[BlobRef, ...]: ...  # without those that cannot be read any more
    async def sweep(self, segment: str, live: Sequence[BlobRef]) -> Fate: ...
    async def drop(self, segment: str) -> None: ...  # at once, even while it is read
    async def verify(
        self,
        refs: Sequence[BlobRef],
        *,
        only: Collection[str] | None = None,  # these segments; else all, and things not ours
    ) -> tuple[BlobProblem, ...]: ...
    async def read_segment(self, segment: str) -> bytes: ...  # whole, to another raw store
    async def write_segment(self, segment: str, data: bytes) -> None: ...  # durable when it returns
    async def contents(
        self, segment: str, *, checked: bool = False
    ) -> tuple[BlobRef, ...]: ...  # index rows, out of the records of the segment
    # the id of the store that indexes these segments (D36)
    async def owner(self) -> str | None: ...
    async def set_owner(
        self, store_id: str, *, instead_of: str | None = None
    ) -> str: ...  # the owner afterwards: another one when it was not `instead_of`
    async def close(self) -> None: ...

    @property
    def place(self) -> str: ...  # a folder or an address, as it may be shown


class RawIndex(Protocol):
    """The index of the raw store: which body lies in which segment."""

    async def blob(self, sha256: str) -> BlobRef | None: ...
    async def blobs(self, *, segment: str | None = None) -> tuple[BlobRef, ...]: ...
    async def move_blobs(self, refs: Sequence[BlobRef]) -> None: ...
    async def delete_blobs(self, sha256s: Sequence[str]) -> None: ...
    async def expired_blobs(
        self, *, keep_last: int, before: datetime, keep_samples: int = 0
    ) -> tuple[str, ...]: ...  # samples: documents that were repaired or could not be read
    async def blobs_over_quota(
        self, most_bytes: int
    ) -> tuple[tuple[str, str, int], ...]: ...  # feed, hash, stored length
    async def blob_chains(
        self, segments: Sequence[str]
    ) -> tuple[tuple[BlobRef, str | None], ...]: ...  # per feed, oldest first, with the one before
    async def known_blobs(self, sha256s: Sequence[str]) -> dict[str, str]: ...  # their segments
    async def segments_in_use(self) -> frozenset[str]: ...
    async def released_segments(self) -> frozenset[str]: ...  # pointers into them were removed here
    async def forget_released(self, segments: Sequence[str]) -> None: ...
    async def adopt_blobs(self, refs: Sequence[BlobRef], *, now: datetime) -> int: ...
    async def store_identity(self) -> StoreIdentity: ...
    async def store_id(self) -> str: ...  # the same id, asked for once
    async def confirm_raw_place(self, place: str) -> None: ...
