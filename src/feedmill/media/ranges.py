"""One range of bytes of a file, as a reader asks for it (RFC 9110 14)."""

import re
from typing import Final

from feedmill.model.base import Value

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
