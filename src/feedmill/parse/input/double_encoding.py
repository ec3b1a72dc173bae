"""Undoes text that was encoded as UTF-8 twice: `â€™` for an apostrophe, `Ã©` for é.

A program that takes UTF-8 for windows-1252 or latin-1 and encodes it again turns every letter
beyond ASCII into two or three. That can be undone only when it is certain: in a stretch of the
document, every run of characters beyond ASCII must be UTF-8 when it is written as windows-1252
again. One right letter among them and the stretch is left alone; so an article that quotes both
spellings keeps both. A stretch is one entry, or what stands before the first: entries of an
aggregated feed come from different programs.
"""

import re
from itertools import islice, pairwise
from typing import Final

_HOLES: Final = (0x81, 0x8D, 0x8F, 0x90, 0x9D)  # bytes that windows-1252 gives no character
_BYTE_OF: Final = {
    **{chr(code): code for code in range(0x80, 0x100)},
    **{bytes([code]).decode("cp1252"): code for code in range(0x80, 0x100) if code not in _HOLES},
}
_BEYOND_ASCII: Final = re.compile("[^\x00-\x7f]+")
# A first byte of UTF-8 and a byte that continues it, each as the character it was taken for.
_LEADING: Final = rb"\xc3[\x82-\xb4]"
_CONTINUING: Final = [char.encode() for char, code in _BYTE_OF.items() if code < 0xC0]
_FIRST_BYTES: Final = re.escape(bytes({one[0] for one in _CONTINUING}))  # a quick no for most
_SUSPICIOUS: Final = re.compile(
    _LEADING
    + b"(?=["
    + _FIRST_BYTES
    + b"])(?:"
    + b"|".join(map(re.escape, _CONTINUING))
    + b")[\x80-\xff]*+"
)
_ENTRY_START: Final = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]")
_MAX_ROUNDS: Final = 3
_MAX_RUNS: Final = 100  # that are looked at one by one
_NEAR_BYTES: Final = 2_000
_HIGH_BYTES: Final = bytes(range(0x80, 0x100))


def undo_double_encoding(utf8: bytes) -> tuple[bytes, int]:
    """The text with every certain stretch decoded once more, and how many stretches there were."""
    first = utf8.find(b"\xc3")  # many times as quick as the pattern, and mostly there is none
    if first < 0:
        return utf8, 0
    runs = _SUSPICIOUS.finditer(utf8, first)
    if not any(map(_may_be_undone, islice(runs, _MAX_RUNS))) and next(runs, None) is None:
        return utf8, 0
    starts = [found.start() for found in _ENTRY_START.finditer(utf8)]
    stretches = [utf8[start:end] for start, end in pairwise([0, *starts, len(utf8)])]
    undone = [_undone(stretch) for stretch in stretches]
    count = sum(one is not stretch for one, stretch in zip(undone, stretches, strict=True))
    return (b"".join(undone), count) if count else (utf8, 0)


def _may_be_undone(found: re.Match[bytes]) -> bool:
    """False where this run, or one soon after it in its entry, cannot be decoded once more: `é »`."""
    near = found.string[found.start() : found.end() + _NEAR_BYTES]
    entry = _ENTRY_START.search(near)
    # A run at the end may go on behind it.
    near = near[: entry.start()] if entry else near.rstrip(_HIGH_BYTES)
    try:
        _BEYOND_ASCII.sub(_decoded_run, near.decode())
    except (KeyError, UnicodeDecodeError):
        return False
    return True


def _undone(utf8: bytes) -> bytes:
    rounds = _MAX_ROUNDS
    while rounds and _SUSPICIOUS.search(utf8) is not None:
        try:
            utf8 = _BEYOND_ASCII.sub(_decoded_run, utf8.decode()).encode()
        except (KeyError, UnicodeDecodeError):
            break
        rounds -= 1
    return utf8


def _decoded_run(run: re.Match[str]) -> str:
    return bytes([_BYTE_OF[character] for character in run[0]]).decode()
