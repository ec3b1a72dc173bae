"""Files as podcast publishers serve them, for tests of media: with ranges, faults and lies."""

from collections.abc import Sequence
from hashlib import sha256
from xml.sax.saxutils import escape

from tests.support.feed_documents import rss

from feedmill.model.fetch import Headers
from feedmill_demo.server.script import Answer, Answering, Request, document


def mp3(number: int, size: int = 40_000) -> bytes:
    """Bytes that begin like an MP3 and differ from number to number."""
    seed = sha256(str(number).encode()).digest()
    return (b"ID3\x04\x00\x00\x00\x00\x00\x00" + seed * (size // 32 + 1))[:size]


def media_file(
    body: bytes,
    *,
    etag: str | None = '"one"',
    last_modified: str | None = None,
    kind: str = "audio/mpeg",
    cut_at: int | None = None,
    ranges: bool = True,
    **answer: object,
) -> Answering:
    """A file that honours Range and If-Range; `cut_at` breaks every answer off after so many octets."""
    fields = (("Content-Type", kind), ("ETag", etag), ("Last-Modified", last_modified))
    headers = tuple((name, value) for name, value in fields if value is not None)

    def respond(request: Request) -> Answer:
        asked, condition = request.header("range"), request.header("if-range")
        part, status = body, 200
        extra: Headers = ()
        if ranges and asked and condition in (None, etag, last_modified):
            start = int(asked.removeprefix("bytes=").partition("-")[0])
            if start >= len(body):
                return Answer(status=416, headers=(("Content-Range", f"bytes */{len(body)}"),))
            part, status = body[start:], 206
            extra = (("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}"),)
        fault = {"fault": "cut", "fault_at": cut_at} if cut_at is not None else {}
        if cut_at is not None and cut_at >= len(part):
            fault = {}
        return Answer(
            status=status,
            headers=(*headers, *extra),
            body=part,
            conditional=False,
            **fault,  # type: ignore[arg-type]  # checked by Answer itself
            **answer,  # type: ignore[arg-type]
        )

    return respond


def episode(
    number: int, url: str, *, kind: str = "audio/mpeg", length: int | str = 0, extra: str = ""
) -> str:
    """An item with one enclosure."""
    return (
        f"<item><guid>{number}</guid><title>Episode {number}</title>"
        f"<pubDate>{number:02} Oct 2025 08:00:00 GMT</pubDate>"
        f'<enclosure url="{escape(url)}" type="{kind}" length="{length}"/>{extra}</item>'
    )


def podcast(*items: str, title: str = "The Show") -> Answer:
    """A feed of episodes."""
    body = rss(*items).replace(b"<channel>", f"<channel><title>{title}</title>".encode(), 1)
    return document(body)


def digests(bodies: Sequence[bytes]) -> set[str]:
    """The digest of each."""
    return {sha256(body).hexdigest() for body in bodies}
