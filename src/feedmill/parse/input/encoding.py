"""Decodes a document: BOM, HTTP charset, declaration, detection, replacement (D15).

BOM, then the HTTP charset, then the XML declaration, each only if it is a label the web knows
and the whole body decodes strictly; then detection on a sample, with 003's confidence; then
replacement. Refinements, written down in docs/decisions/0002: a label of UTF-16 on bytes that are
plainly not UTF-16 is ignored; bytes that are valid multi-byte UTF-8 beat a declared single-byte
label; a label of ASCII is asked last when the bytes are not ASCII, and so is a header of one byte a letter
beside a declaration of several; a handful of lone high
bytes is Western; detection is held to 003's list only in strict mode; and replacement happens in
the declared encoding when that loses less than UTF-8. A lone byte that is no UTF-8 in a document
that otherwise is UTF-8 is a letter of windows-1252, and text that was encoded twice is decoded
twice where that is certain.
"""

import codecs
import re
from typing import Final, Literal

import cchardet
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.parsed import Repair
from feedmill.parse.input.double_encoding import undo_double_encoding
from feedmill.parse.input.encoding_labels import (
    ASCII_LABELS,
    ONE_BYTE,
    WIDE,
    codecs_of,
    ebcdic_of_label,
    encoding_of_detector,
    encoding_of_label,
    is_allowed,
)
from feedmill.parse.input.sniff import EBCDIC_MARK, declaration_start

EncodingSource = Literal["bom", "http", "declaration", "utf-8", "detected", "replaced"]
_Claim = tuple[Literal["http", "declaration"], str, str | None]

_BOMS: Final = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32le"),
    (b"\x00\x00\xfe\xff", "utf-32be"),
    (b"\xff\xfe", "utf-16le"),
    (b"\xfe\xff", "utf-16be"),
)
# XML 1.0 appendix F: what the first two characters look like before anything was declared.
_PATTERNS: Final = (
    (re.compile(rb"[<{\s]\x00\x00\x00[^\x00]\x00\x00\x00"), "utf-32le"),
    (re.compile(rb"\x00\x00\x00[<{\s]\x00\x00\x00[^\x00]"), "utf-32be"),
    (re.compile(rb"[<{\s]\x00[^\x00]\x00"), "utf-16le"),
    (re.compile(rb"\x00[<{\s]\x00[^\x00]"), "utf-16be"),
)
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_DECLARATION: Final = re.compile(
    rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']\s*([A-Za-z0-9._:+-]{1,40})\s*["']"""
)
_WESTERN: Final = frozenset({"windows-1252", "iso-8859-15"})
_HIGH: Final = re.compile(rb"[\x80-\xff]+")
_TELLING: Final = re.compile(rb"[\x1b\x80-\xff]")
# A sequence that begins as UTF-8 does and was cut: publishers shorten text by bytes.
_CUT_SEQUENCE: Final = re.compile(
    rb"(?:[\xe1-\xef][\x80-\xbf]|[\xf1-\xf3][\x80-\xbf]{1,2})(?![\x80-\xff])"
)
_MAX_WEIGHED: Final = 500_000  # bytes that tell damage from another encoding
_FEW: Final = 20  # so many lone high bytes tell a detector something
# The detector is never surer than this of these two, however much text there is.
_MOST_CONFIDENCE: Final = {"gb18030": 0.7, "euc-kr": 0.7}
# The standard gives the five holes of windows-1252 their C1 characters.
_HOLES: Final = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
_WINDOWS_C1: Final = {
    code: bytes([code]).decode("cp1252") for code in range(0x80, 0xA0) if code not in _HOLES
}
_STRAY_BYTES: Final = "feedmill-stray-bytes"  # the name of a decoder's error handler
_REPLACEMENT: Final = "\ufffd".encode()


class Decoded(Value):
    """The document as UTF-8, which encoding it was in, and how we know."""

    utf8: bytes
    encoding: str
    source: EncodingSource
    codec: str = "utf-8"
    bom_length: int = 0
    lossless: bool = True  # encoding the text again gives the bytes
    errors: str = "replace"  # how bytes that do not fit were read
    undone: bool = False  # it was encoded twice and decoded twice
    repairs: tuple[Repair, ...] = ()

    def read_again(self, raw: bytes) -> bytes:
        """A piece of the raw body as UTF-8, read as the whole document was."""
        utf8 = raw.decode(self.codec, self.errors).encode("utf-8", "replace")
        return undo_double_encoding(utf8)[0] if self.undone else utf8


def decode(body: bytes, content_type: str | None, limits: ParseLimits) -> Decoded:
    """Read the bytes as text; always gives an answer, and says when it had to guess."""
    decoded = _decode(body, content_type, limits)
    if decoded.encoding != "utf-8" or body.isascii():
        return decoded
    utf8, count = undo_double_encoding(decoded.utf8)
    if not count:
        return decoded
    detail = f"{count} stretches of text that were encoded as UTF-8 twice"
    return replace(
        decoded,
        utf8=utf8,
        lossless=False,
        undone=True,
        repairs=(*decoded.repairs, Repair(code="characters-restored", detail=detail)),
    )


def _decode(body: bytes, content_type: str | None, limits: ParseLimits) -> Decoded:
    marked = _by_mark(body)
    if marked is not None:
        return marked
    claims = _claims(body, content_type, limits)
    refused: list[Repair] = []
    for source, label, encoding in claims:
        if encoding is None:
            refused.append(_mismatch(f"{source} says {label!r}, which is no encoding of the web"))
            continue
        found = _strictly(body, encoding)
        if found is not None and not _is_disguised_utf8(body, encoding, claims):
            utf8, codec = found
            return Decoded(
                utf8=utf8, encoding=encoding, source=source, codec=codec, repairs=tuple(refused)
            )
        refused.append(_mismatch(f"{source} says {label!r}, but the bytes say otherwise"))
    return _unclaimed(body, claims, tuple(refused), limits)


def windows_character(code: int) -> str:
    """What a C1 code point means in windows-1252; its holes mean nothing and stay."""
    return _WINDOWS_C1.get(code, chr(code))


def _by_mark(body: bytes) -> Decoded | None:
    if body.startswith(b"<") and not body.startswith(b"<\x00"):
        return None  # as nearly all begin
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            return _marked(body, mark, encoding)
    for pattern, encoding in _PATTERNS:
        if pattern.match(body):
            return _by_label(body, encoding, "detected", 0)
    return _from_ebcdic(body) if body.startswith(EBCDIC_MARK) else None


def _marked(body: bytes, mark: bytes, encoding: str) -> Decoded:
    length = len(mark)
    while body.startswith(mark, length):  # concatenated PHP files carry one each
        length += len(mark)
    return _by_label(body, encoding, "bom", length)


def _by_label(body: bytes, encoding: str, source: EncodingSource, skipped: int) -> Decoded:
    """Text in an encoding that is beyond doubt; what does not fit it is replaced."""
    text = body[skipped:]
    found = _strictly(text, encoding)
    utf8, codec = found or (_replaced(text, encoding), codecs_of(encoding)[0])
    return Decoded(
        utf8=utf8,
        encoding=encoding,
        source=source,
        codec=codec,
        bom_length=skipped,
        lossless=found is not None,
        errors=_errors_of(encoding),
        repairs=() if found is not None else _replacements(utf8, encoding),
    )


def _from_ebcdic(body: bytes) -> Decoded:
    head = body[:300].decode("cp037").encode()
    declared = _DECLARATION.match(head)
    encoding = ebcdic_of_label(declared[1].decode("ascii")) if declared else "cp037"
    text = body.decode(encoding).replace("\x85", "\n")  # its own line end is no white space in XML
    return Decoded(utf8=text.encode(), encoding=encoding, source="declaration", codec=encoding)


def _claims(body: bytes, content_type: str | None, limits: ParseLimits) -> list[_Claim]:
    claims: list[_Claim] = []
    header = _CHARSET.search(content_type[:1000]) if content_type else None
    if header:
        claims.append(("http", header[1], _usable(header[1], limits)))
    declared = _DECLARATION.match(body, declaration_start(body))
    if declared:
        label = declared[1].decode("ascii")
        claims.append(("declaration", label, _usable(label, limits)))
    if len(claims) > 1 and _is_doubtful(claims[0], claims[1]) and _TELLING.search(body):
        claims.reverse()
    return claims


def _is_doubtful(header: _Claim, declared: _Claim) -> bool:
    """Whether the header is asked last: it says ASCII, or one byte a letter where the document says
    several, under which other bytes than its own do not decode.
    """
    several = declared[2] not in (None, "utf-8", *ONE_BYTE)
    return header[1].lower() in ASCII_LABELS or (header[2] in ONE_BYTE and several)


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


def _is_disguised_utf8(body: bytes, encoding: str, claims: list[_Claim]) -> bool:
    """UTF-8 under the label of one byte a letter, or under one of two labels of which the other
    says so: valid multi-byte sequences do not happen by accident.
    """
    doubtful = encoding in ONE_BYTE or any(claim == "utf-8" for _, _, claim in claims)
    if encoding == "utf-8" or not doubtful or body.isascii():
        return False
    return _strictly(body, "utf-8") is not None


def _unclaimed(
    body: bytes, claims: list[_Claim], refused: tuple[Repair, ...], limits: ParseLimits
) -> Decoded:
    plain = Decoded(utf8=body, encoding="utf-8", source="utf-8", repairs=refused)
    valid = _strictly(body, "utf-8") is not None
    if valid and b"\x1b$" not in body:  # the escape of ISO-2022-JP, which is all ASCII
        return plain
    claimed = [encoding for _, _, encoding in claims if encoding is not None]
    damaged = not valid and _is_damaged_utf8(body, claimed="utf-8" in claimed)
    guess = None if damaged else _detect(body, limits)
    found = _strictly(body, guess) if guess is not None else None
    if valid and (found is None or guess != "iso-2022-jp"):
        return plain
    if guess is None or found is None:
        return _best_replaced(body, claimed, refused)
    repair = Repair(code="encoding-detected", detail=f"the bytes look like {guess}")
    return Decoded(
        utf8=found[0],
        encoding=guess,
        source="detected",
        codec=found[1],
        repairs=(*refused, repair),
    )


def _best_replaced(body: bytes, claimed: list[str], refused: tuple[Repair, ...]) -> Decoded:
    """UTF-8 with replacement characters, or what was claimed where that needs fewer of them."""
    choices = [(_replaced(body, encoding), encoding) for encoding in ("utf-8", *claimed)]
    utf8, encoding = min(choices, key=lambda choice: choice[0].count(b"\xef\xbf\xbd"))
    return Decoded(
        utf8=utf8,
        encoding=encoding,
        source="replaced",
        codec=codecs_of(encoding)[0],
        lossless=False,
        errors=_errors_of(encoding),
        repairs=(*refused, *_replacements(utf8, encoding)),
    )


def _strictly(body: bytes, encoding: str) -> tuple[bytes, str] | None:
    """The body as UTF-8, and the codec that read every byte of it."""
    if encoding == "utf-8" and body.isascii():
        return body, encoding
    for codec in codecs_of(encoding):
        try:
            text = body.decode(codec)
            return (body if codec == "utf-8" else text.encode("utf-8")), codec
        except UnicodeError:
            continue
    if encoding == "windows-1252":
        return body.decode("latin-1").translate(_WINDOWS_C1).encode("utf-8"), "cp1252"
    return None


def _replaced(body: bytes, encoding: str) -> bytes:
    return body.decode(codecs_of(encoding)[0], _errors_of(encoding)).encode("utf-8", "replace")


def _errors_of(encoding: str) -> str:
    return _STRAY_BYTES if encoding == "utf-8" else "replace"


def _replacements(utf8: bytes, encoding: str) -> tuple[Repair, ...]:
    """What became of the bytes that did not fit: letters of windows-1252, or U+FFFD."""
    if _REPLACEMENT not in utf8:
        detail = f"bytes that are not {encoding}, read as windows-1252"
        return (Repair(code="characters-restored", detail=detail),)
    return (Repair(code="encoding-replaced", detail=f"bytes that are not {encoding}"),)


def _read_stray_byte(problem: UnicodeError) -> tuple[str, int]:
    """A lone byte between ASCII is a windows-1252 letter; what is left of a cut character is not.

    Of Â and Ã, the first bytes of most Western letters in UTF-8, an end of a word is no letter.
    """
    assert isinstance(problem, UnicodeDecodeError)
    raw, start, end = problem.object, problem.start, problem.end
    before, after = raw[start - 1 : start] or b" ", raw[end : end + 1] or b" "
    lone = end - start == 1 and before.isascii() and after.isascii()
    cut = raw[start] in b"\xc2\xc3" and not after.isalpha()
    letter = windows_character(raw[start]) if lone and not cut else "\ufffd"
    return (letter if raw[start] not in _HOLES else "\ufffd"), end


codecs.register_error(_STRAY_BYTES, _read_stray_byte)


def _mismatch(detail: str) -> Repair:
    return Repair(code="encoding-mismatch", detail=detail)


def _is_damaged_utf8(body: bytes, *, claimed: bool) -> bool:
    """True when most of what is not ASCII is sound UTF-8: a few wrong bytes are only damage."""
    first = _HIGH.search(body)
    start = first.start() if first else 0
    body = body[start : start + _MAX_WEIGHED]
    text = body.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = len(text) - len(text.encode("ascii", "ignore")) - wrong
    if claimed and right and "\ufffd" not in body.decode("utf-8", _STRAY_BYTES):
        return True  # no letter of another encoding stands beside another: entries were mixed
    if claimed:
        right += 2 * len(_CUT_SEQUENCE.findall(body))
    return right >= wrong


def _detect(body: bytes, limits: ParseLimits) -> str | None:
    """The encoding that the bytes are in, if that can be said with confidence."""
    first = _TELLING.search(body)
    # The sample begins where the text does: 10 KiB of ASCII markup would only say "ASCII".
    start = first.start() if first else 0
    sample = body[start : start + limits.encoding_sample_size]
    encoding = _guess(sample, limits)
    if encoding is None or encoding in WIDE:
        return None
    if limits.strict_encodings and not is_allowed(encoding, limits.allowed_encodings):
        return None
    return encoding


def _guess(sample: bytes, limits: ParseLimits) -> str | None:
    found = cchardet.detect(sample)
    name, confidence = found["encoding"], found["confidence"]
    encoding = encoding_of_detector(name) if name is not None else None
    # Lone letters among ASCII are Western until there are enough of them to know better, and
    # for what the web does not label, windows-1252 is its own default (WHATWG Encoding).
    lone = _lone_letters(sample)
    if lone is not None and (lone < _FEW or encoding in _WESTERN):
        return "windows-1252"
    if encoding is None or confidence is None:
        return None
    # It is a float of four bytes: 0.7 comes as 0.69999999.
    confidence = round(confidence / _MOST_CONFIDENCE.get(encoding, 1.0), 6)
    return encoding if confidence >= limits.encoding_confidence_min else None


def _lone_letters(sample: bytes) -> int | None:
    """How many high bytes the sample has, if nearly all stand alone or in pairs; else None."""
    runs = _HIGH.findall(sample)
    long = sum(len(run) > 2 for run in runs)
    return len(runs) if runs and long * 10 <= len(runs) else None
