"""Scripted responses of the publisher, request by request.

An `Answer` is an ordinary answer until one of its behaviours is set: it can be late, drip, lie
about its length, break off, reset the connection or never come. A `Script` gives one answer per
request to its path, in order, and stays with the last (or with `then`). A callable in place of
an answer computes it from the request.
"""

from collections.abc import Callable
from typing import Literal

from feedmill.model.base import Value
from feedmill.model.fetch import Headers

ContentCoding = Literal["gzip", "x-gzip", "deflate", "raw-deflate", "br", "zstd"]
Framing = Literal["length", "chunked", "close"]
Fault = Literal[
    "cut",  # the connection is closed in good order, too early
    "reset",  # the connection is torn down (RST)
    "stall",  # nothing more comes, and the connection stays open until the client leaves
]


class Request(Value):
    """One request as it arrived; header values are text in which a character is an octet."""

    method: str
    target: str  # path and query, as sent
    version: str
    headers: Headers
    body: bytes = b""
    offset_sec: float = 0.0  # since the publisher was opened
    connection: int = 0  # the first connection is 1
    address: str = "127.0.0.1"  # the loopback address that was dialled

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        """The first value of a header, or None."""
        values = self.values(name)
        return values[0] if values else None

    def values(self, name: str) -> tuple[str, ...]:
        """Every value of a header, in order."""
        wanted = name.lower()
        return tuple(value for field, value in self.headers if field.lower() == wanted)


class Answer(Value):
    """One answer, byte by byte as the script wants it.

    Headers go out as written, in order, duplicates kept; only those that frame the body are
    added (Content-Encoding, Content-Length, Transfer-Encoding, Connection), each unless it is
    there already. There is no Date unless the script sets one.
    """

    status: int = 200
    headers: Headers = ()
    body: bytes = b""
    reason: str | None = None

    codings: tuple[ContentCoding, ...] = ()  # applied in this order
    framing: Framing = "length"
    content_length: int | None = None  # a lie; the connection is closed after it
    repeat: int = 1  # the coded body is sent so many times: endless, but bounded

    conditional: bool = True  # honours the validators among its headers, byte for byte
    not_modified: Headers | None = None  # headers of the 304, instead of those that RFC 9110 names

    delay_sec: float = 0.0  # before the first byte
    piece_bytes: int | None = None  # size of the writes (and of the chunks)
    pause_sec: float = 0.0  # between the writes
    drip_head: bool = False  # the head is sent in such pieces too

    fault: Fault | None = None
    # so many octets after the head (chunk sizes count); None: before it
    fault_at: int | None = None

    raw: bytes | None = None  # sent instead of everything above, then the connection is closed


Answering = Answer | Callable[[Request], Answer]


def redirect(location: str, status: int = 301) -> Answer:
    """An answer that points elsewhere."""
    return Answer(status=status, headers=(("Location", location),))


def no_answer() -> Answer:
    """No answer at all: the connection stays open and nothing comes."""
    return Answer(fault="stall")


def hang_up(fault: Fault = "reset") -> Answer:
    """The connection ends before a byte of the answer was sent."""
    return Answer(fault=fault)


def raw_answer(octets: bytes) -> Answer:
    """These octets and nothing else, then the end of the connection."""
    return Answer(raw=octets)


def document(
    body: bytes,
    content_type: str = "application/rss+xml; charset=utf-8",
    *,
    etag: str | None = None,
    last_modified: str | None = None,
    codings: tuple[ContentCoding, ...] = (),
) -> Answer:
    """A 200 with a document and the validators that are given."""
    fields = (("Content-Type", content_type), ("ETag", etag), ("Last-Modified", last_modified))
    headers = tuple((name, value) for name, value in fields if value is not None)
    return Answer(headers=headers, body=body, codings=codings)


class Script:
    """The answers of one path, and how often it was asked."""

    def __init__(self, answers: tuple[Answering, ...], then: Answering | None = None) -> None:
        self._answers = (*answers, then) if then is not None else answers
        self.asked = 0

    def answer(self, request: Request) -> Answer:
        """The answer whose turn it is; the last one stays."""
        turn = min(self.asked, len(self._answers) - 1)
        self.asked += 1
        chosen = self._answers[turn]
        return chosen if isinstance(chosen, Answer) else chosen(request)
