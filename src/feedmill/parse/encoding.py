"""From bytes to text: which encoding a document is in, and what had to be mended (D15).

BOM, then the HTTP charset, then the XML declaration, each only if it is a label the web knows
and the whole body decodes strictly; then detection on a sample, with 003's confidence; then UTF-8
with replacement. Three refinements, written down in docs/decisions/0002: a label of UTF-16 on
bytes that are plainly not UTF-16 is ignored; bytes that are valid multi-byte UTF-8 beat a declared
single-byte Western label; and detection is held to 003's list only in strict mode.
"""

import re
from typing import Final, Literal

import cchardet

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.parsed import Repair
from feedmill.parse.labels import WIDE, codec_of, encoding_of_label, is_allowed

EncodingSource = Literal["bom", "http", "declaration", "utf-8", "detected", "replaced"]

_BOMS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32le"),
    (b"\x00\x00\xfe\xff", "utf-32be"),
    (b"\xff\xfe", "utf-16le"),
    (b"\xfe\xff", "utf-16be"),
)
# XML 1.0 appendix F: what "<" or "{" looks like before anything was declared.
_PATTERNS: Final = (
    (re.compile(rb"[<{\s]\x00\x00\x00"), "utf-32le"),
    (re.compile(rb"\x00\x00\x00[<{\s]"), "utf-32be"),
    (re.compile(rb"[<{\s]\x00[^\x00]"), "utf-16le"),
    (re.compile(rb"\x00[<{\s]\x00"), "utf-16be"),
)
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_DECLARATION: Final = re.compile(
    rb"""\s{0,1000}<\?xml[^>]{0,200}?\sencoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})\s*["']"""
)
_WESTERN: Final = frozenset({"windows-1252", "iso-8859-15"})


class Decoded(Value):
    """The document as UTF-8, which encoding it was in, and how we know."""

    utf8: bytes
    encoding: str
    source: EncodingSource
    bom_length: int = 0
    lossless: bool = True
    repairs: tuple[Repair, ...] = ()


def decode(body: bytes, content_type: str | None, limits: ParseLimits) -> Decoded:
    """Read the bytes as text; always gives an answer, and says when it had to guess."""
    marked = _by_mark(body)
    if marked is not None:
        return marked
    claims = _claims(body, content_type, limits)
    if not claims:
        return _unclaimed(body, (), limits)
    refused: list[Repair] = []
    for source, label, encoding in claims:
        if encoding is None:
            refused.append(_mismatch(f"{source} says {label!r}, which is no encoding of the web"))
            continue
        utf8 = _as_utf8(body, encoding)
        if utf8 is not None and not _is_disguised_utf8(body, encoding):
            return Decoded(utf8=utf8, encoding=encoding, source=source, repairs=tuple(refused))
        refused.append(_mismatch(f"{source} says {label!r}, but the bytes say otherwise"))
    return _unclaimed(body, tuple(refused), limits)


def _by_mark(body: bytes) -> Decoded | None:
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return _marked(body, mark, encoding)
    for pattern, encoding in _PATTERNS:
        if pattern.match(body):
            utf8 = _as_utf8(body, encoding)
            if utf8 is not None:
                return Decoded(utf8=utf8, encoding=encoding, source="detected")
    return None


def _marked(body: bytes, mark: bytes, encoding: str) -> Decoded:
    length = len(mark)
    while body.startswith(mark, length):  # concatenated PHP files carry one each
        length += len(mark)
    text = body[length:]
    utf8 = _as_utf8(text, encoding)
    if utf8 is not None:
        return Decoded(utf8=utf8, encoding=encoding, source="bom", bom_length=length)
    replaced = text.decode(codec_of(encoding), "replace").encode("utf-8", "replace")
    repair = Repair(
        code="encoding-replaced", detail=f"bytes that are not {encoding} after its mark"
    )
    return Decoded(
        utf8=replaced,
        encoding=encoding,
        source="bom",
        bom_length=length,
        lossless=False,
        repairs=(repair,),
    )


def _claims(
    body: bytes, content_type: str | None, limits: ParseLimits
) -> list[tuple[Literal["http", "declaration"], str, str | None]]:
    claims: list[tuple[Literal["http", "declaration"], str, str | None]] = []
    header = _CHARSET.search(content_type[:1000]) if content_type else None
    if header:
        claims.append(("http", header[1], _usable(header[1], limits)))
    declared = _DECLARATION.match(body)
    if declared:
        label = declared[1].decode("ascii")
        claims.append(("declaration", label, _usable(label, limits)))
    return claims


def _usable(label: str, limits: ParseLimits) -> str | None:
    """The encoding meant by a label, unless it is unknown, wide or (strictly) not allowed.

    A document whose first characters could be read as ASCII is not UTF-16, whatever it says.
    """
    encoding = encoding_of_label(label)
    if encoding is None or encoding in WIDE:
        return None
    if limits.strict_encodings and not is_allowed(encoding, limits.allowed_encodings):
        return None
    return encoding


def _is_disguised_utf8(body: bytes, encoding: str) -> bool:
    """UTF-8 under a Western label: valid multi-byte sequences do not happen by accident."""
    return encoding in _WESTERN and not body.isascii() and _is_utf8(body)


def _unclaimed(body: bytes, refused: tuple[Repair, ...], limits: ParseLimits) -> Decoded:
    if _is_utf8(body):
        return Decoded(utf8=body, encoding="utf-8", source="utf-8", repairs=refused)
    mended = body.decode("utf-8", "replace")
    # A few stray bytes in a long UTF-8 document are damage, not another encoding.
    wrong = mended.count("\ufffd")
    if wrong * 100 > len(body) - len(body.translate(None, bytes(range(0x80, 0x100)))):
        found = _detect(body, limits)
        if found is not None:
            encoding, utf8 = found
            repair = Repair(code="encoding-detected", detail=f"the bytes look like {encoding}")
            return Decoded(
                utf8=utf8, encoding=encoding, source="detected", repairs=(*refused, repair)
            )
    repair = Repair(code="encoding-replaced", detail=f"{wrong} places that are not UTF-8")
    return Decoded(
        utf8=mended.encode("utf-8"),
        encoding="utf-8",
        source="replaced",
        lossless=False,
        repairs=(*refused, repair),
    )


def _detect(body: bytes, limits: ParseLimits) -> tuple[str, bytes] | None:
    found = cchardet.detect(body[: limits.encoding_sample_size])
    name, confidence = found["encoding"], found["confidence"]
    if name is None or confidence is None or confidence < limits.encoding_confidence_min:
        return None
    encoding = encoding_of_label(name)
    if encoding is None or encoding in WIDE:
        return None
    if limits.strict_encodings and not is_allowed(encoding, limits.allowed_encodings):
        return None
    utf8 = _as_utf8(body, encoding)
    return None if utf8 is None else (encoding, utf8)


def _as_utf8(body: bytes, encoding: str) -> bytes | None:
    if encoding == "utf-8":
        return body if _is_utf8(body) else None
    try:
        return body.decode(codec_of(encoding)).encode("utf-8")
    except UnicodeError:
        pass
    if encoding == "windows-1252":
        # The standard gives the five holes of windows-1252 their C1 characters.
        return body.decode("latin-1").encode("utf-8")
    return None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _mismatch(detail: str) -> Repair:
    return Repair(code="encoding-mismatch", detail=detail)
