"""HTTP/1.1 without I/O: parses a request head, writes a response."""

import http
from collections.abc import Iterator
from typing import Final

import msgspec

from feedmill.model.fetch import Headers
from feedmill_demo.server.codings import coding_names, encode
from feedmill_demo.server.script import Answer, Request

# RFC 9110 15.4.5: what a 304 carries of the headers that a 200 would have had.
_KEPT_ON_304: Final = frozenset(
    {"cache-control", "content-location", "date", "etag", "expires", "last-modified", "vary"}
)
_BODILESS: Final = frozenset({204, 304})


def parse_request_head(head: bytes) -> Request | None:
    """A request without its body; None when the octets are no request."""
    line, *fields = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    parts = line.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        return None
    pairs = [field.partition(":") for field in fields]
    if not all(colon for _, colon, _ in pairs):
        return None
    headers = tuple((name, value.strip(" \t")) for name, _, value in pairs)
    return Request(method=parts[0], target=parts[1], version=parts[2], headers=headers)


def for_request(answer: Answer, request: Request) -> Answer:
    """The answer, or its 304 when the request carries one of its validators, byte for byte."""
    if not answer.conditional or answer.status != 200 or answer.raw is not None:
        return answer
    tags = request.values("if-none-match")
    # RFC 9110 13.1.3: If-Modified-Since does not count beside If-None-Match.
    name, offered = (
        ("etag", tags) if tags else ("last-modified", request.values("if-modified-since"))
    )
    validator = header_of(answer.headers, name)
    return not_modified_answer(answer) if validator is not None and validator in offered else answer


def not_modified_answer(answer: Answer) -> Answer:
    """The 304 that stands for this answer; its timing and faults stay."""
    kept = tuple(pair for pair in answer.headers if pair[0].lower() in _KEPT_ON_304)
    headers = answer.not_modified if answer.not_modified is not None else kept
    return msgspec.structs.replace(answer, status=304, headers=headers, body=b"", codings=())


def render_answer(answer: Answer, *, with_body: bool = True) -> bytes:
    """Every octet of an answer that has no behaviours."""
    body = encode(answer.body, answer.codings)
    sent = b"".join(frame_body(answer, body)) if with_body else b""
    return render_head(answer, len(body)) + sent


def render_head(answer: Answer, coded_bytes: int) -> bytes:
    """Status line and headers, with the framing of a body of that length."""
    lines = [f"HTTP/1.1 {answer.status} {_reason(answer)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    lines += [f"{name}: {value}" for name, value in _framing(answer, coded_bytes)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def frame_body(answer: Answer, body: bytes) -> Iterator[bytes]:
    """The coded body in the writes that the script wants, in chunks when it is chunked."""
    if answer.status in _BODILESS:
        return
    chunked = answer.framing == "chunked"
    for _ in range(answer.repeat):
        for piece in pieces(body, answer.piece_bytes):
            yield b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece
    if chunked:
        yield b"0\r\n\r\n"


def pieces(octets: bytes, size: int | None) -> Iterator[bytes]:
    """The octets in pieces of that size; in one when there is none. Empty pieces are left out."""
    step = size or max(len(octets), 1)
    for start in range(0, len(octets), step):
        yield octets[start : start + step]


def closes_connection(answer: Answer, request: Request) -> bool:
    """Whether the connection ends with this answer."""
    if answer.raw is not None or answer.content_length is not None or answer.framing == "close":
        return True
    asked = (request.header("connection") or "").lower()
    said = (header_of(answer.headers, "connection") or "").lower()
    return "close" in asked or "close" in said or request.version == "HTTP/1.0"


def header_of(headers: Headers, name: str) -> str | None:
    """The first value of a header, or None."""
    return next((value for field, value in headers if field.lower() == name), None)


def _framing(answer: Answer, coded_bytes: int) -> Headers:
    fields: list[tuple[str, str]] = []
    if answer.codings:
        fields.append(("Content-Encoding", coding_names(answer.codings)))
    if answer.content_length is not None:
        fields.append(("Content-Length", str(answer.content_length)))
    elif answer.status in _BODILESS:
        pass
    elif answer.framing == "length":
        fields.append(("Content-Length", str(coded_bytes * answer.repeat)))
    elif answer.framing == "chunked":
        fields.append(("Transfer-Encoding", "chunked"))
    if answer.framing == "close":
        fields.append(("Connection", "close"))
    return tuple(pair for pair in fields if header_of(answer.headers, pair[0].lower()) is None)


def _reason(answer: Answer) -> str:
    if answer.reason is not None:
        return answer.reason
    try:
        return http.HTTPStatus(answer.status).phrase
    except ValueError:
        return ""
