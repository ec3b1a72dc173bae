"""Which encoding undeclared bytes are in: a detector, and what it must not be asked (D15)."""

import re
from typing import Final

import cchardet

from feedmill.config import ParseLimits
from feedmill.parse.input.encoding_labels import WIDE, encoding_of_detector, is_allowed

_HIGH: Final = re.compile(rb"[\x80-\xff]+")
_TELLING: Final = re.compile(rb"[\x1b\x80-\xff]")
# A sequence that begins as UTF-8 does and was cut: publishers shorten text by bytes.
_CUT_SEQUENCE: Final = re.compile(
    rb"(?:[\xe1-\xef][\x80-\xbf]|[\xf1-\xf3][\x80-\xbf]{1,2})(?![\x80-\xff])"
)
_MAX_WEIGHED: Final = 500_000  # bytes that tell damage from another encoding
_FEW: Final = 20  # so many lone high bytes tell a detector something
_WESTERN: Final = frozenset({"windows-1252", "iso-8859-15"})


def is_damaged_utf8(body: bytes, *, claimed: bool) -> bool:
    """True when most of what is not ASCII is sound UTF-8: a few wrong bytes are only damage."""
    first = _HIGH.search(body)
    start = first.start() if first else 0
    body = body[start : start + _MAX_WEIGHED]
    text = body.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = len(text) - len(text.encode("ascii", "ignore")) - wrong
    if claimed:
        right += 2 * len(_CUT_SEQUENCE.findall(body))
    return right >= wrong


def detect(body: bytes, limits: ParseLimits) -> str | None:
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
    if confidence is None or confidence < limits.encoding_confidence_min:
        return None
    return encoding


def _lone_letters(sample: bytes) -> int | None:
    """How many high bytes the sample has, if nearly all stand alone or in pairs; else None."""
    runs = _HIGH.findall(sample)
    long = sum(len(run) > 2 for run in runs)
    return len(runs) if runs and long * 10 <= len(runs) else None
