"""Resuming a download: what to ask for, what the answer means for the bytes that are there, and whether the file is the wanted one.

A range is asked for with If-Range only (RFC 9110 13.1.5, 14.2): a file that has changed comes whole, and
begins anew. A weak ETag cannot be used so; without a strong one the date is, without either nothing is.
"""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from typing import Final

from feedmill.media.types import sniff_type, usual_type
from feedmill.model.base import Value
from feedmill.model.derived.fetched import MediaFailure, PartialState
from feedmill.model.fetch import Headers

_CONTENT_RANGE: Final = re.compile(r"bytes\s+(?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18}|\*)")


class Append(Value):
    """The answer goes on where the partial file ends."""

    state: PartialState


class StartAnew(Value):
    """The answer is the file from its beginning."""

    state: PartialState


class Complete(Value):
    """Nothing is missing: the range began at the end of the file."""


class Mismatch(Value):
    """The answer does not fit the partial file: ask again for the whole."""

    detail: str


def resume_fields(state: PartialState | None, size_bytes: int, *, boot: str) -> Headers:
    """The header fields that ask for the rest; () asks for the whole file."""
    validator = None if state is None or state.boot != boot else _validator(state)
    if validator is None or size_bytes == 0:
        return ()
    return (("Range", f"bytes={size_bytes}-"), ("If-Range", validator))


def judge_answer(
    status: int, headers: Headers, state: PartialState | None, size_bytes: int, *, boot: str
) -> Append | StartAnew | Complete | Mismatch:
    """What an answer with the status 200, 206 or 416 means; `size_bytes` was asked to be gone on from."""
    etag, modified = _field(headers, "etag"), _field(headers, "last-modified")
    if status == 200:
        length = _length(_field(headers, "content-length"))
        return StartAnew(
            state=PartialState(etag=etag, last_modified=modified, total=length, boot=boot)
        )
    start, total = _content_range(_field(headers, "content-range"))
    if status == 416:
        return Complete() if total == size_bytes > 0 else Mismatch(detail="416")
    if state is None or start != size_bytes:
        return Mismatch(detail=f"asked for bytes from {size_bytes}, got them from {start}")
    if (etag or state.etag, modified or state.last_modified) != (state.etag, state.last_modified):
        return Mismatch(detail="the validator is another one")
    if None not in (total, state.total) and total != state.total:
        return Mismatch(detail=f"{total} bytes long, {state.total} before")
    known = state.total if total is None else total
    return Append(
        state=PartialState(
            etag=state.etag, last_modified=state.last_modified, total=known, boot=boot
        )
    )


def _field(headers: Headers, name: str) -> str | None:
    return next((value for field, value in headers if field.lower() == name), None)


def _validator(state: PartialState) -> str | None:
    if state.etag is not None and not state.etag.startswith("W/"):
        return state.etag
    return state.last_modified


def _content_range(value: str | None) -> tuple[int | None, int | None]:
    """First byte and whole length of a Content-Range, as far as it says them."""
    found = _CONTENT_RANGE.fullmatch((value or "").strip())
    if found is None:
        return None, None
    start, _, total = found.groups()
    return _length(start), _length(total)


def _length(text: str | None) -> int | None:
    value = text or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


_RANGE: Final = re.compile(r"bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.IGNORECASE)


class ByteRange(Value):
    """Bytes from `start` up to `end`, which is not part of it."""

    start: int
    end: int


class Unsatisfiable(Value):
    """The range begins behind the end of the file."""


def read_range(asked: str | None, size_bytes: int) -> ByteRange | Unsatisfiable | None:
    """The bytes that a Range field asks for; None when the whole file answers it.

    Several ranges at once, other units and nonsense are answered with the whole file, as RFC 9110 14.2 allows.
    """
    found = _RANGE.fullmatch((asked or "").strip())
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    if not first:
        start, end = max(0, size_bytes - int(last)), size_bytes
    else:
        start, end = int(first), min(size_bytes, int(last) + 1) if last else size_bytes
        if last and int(last) < start:
            return None
    return ByteRange(start=start, end=end) if start < end else Unsatisfiable()


_SRI: Final = re.compile(r"(sha256|sha384|sha512)-([A-Za-z0-9+/]{20,100}={0,2})")
_TEXTS: Final = ("text/", "application/json", "application/xhtml+xml", "application/xml")


class GoodFile(Value):
    """The file is whole and what it should be."""

    media_type: str | None


class BadFile(Value):
    """Why the file is not kept."""

    reason: MediaFailure
    detail: str = ""


def judge_file(
    head: bytes,
    size_bytes: int,
    *,
    total: int | None,
    feed_type: str | None,
    sent_type: str | None,
) -> GoodFile | BadFile:
    """The verdict on a download that has ended; `total` is the length that the server named.

    The length in the feed counts for nothing: most publishers guess it.
    """
    if size_bytes == 0:
        return BadFile(reason="empty")
    if total is not None and size_bytes != total:
        return BadFile(reason="truncated", detail=f"{size_bytes} of {total} bytes")
    found, asked = sniff_type(head), usual_type(feed_type) or ""
    is_text = found is not None and found.startswith(_TEXTS)
    if found == "text/html" or (is_text and not asked.startswith(_TEXTS)):
        return BadFile(reason="not-media", detail=f"the server sent {found}")
    return GoodFile(media_type=found or usual_type(sent_type) or asked or None)


def expected_digest(integrity: str | None) -> tuple[str, str] | None:
    """The strongest digest of an integrity attribute, as algorithm and hexadecimal; None: it has none."""
    found = []
    for algorithm, text in _SRI.findall(integrity or ""):
        try:
            found.append((algorithm, b64decode(text, validate=True).hex()))
        except Base64Error:
            continue
    return max(found, default=None)
