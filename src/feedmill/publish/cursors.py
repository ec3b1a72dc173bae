"""Pagination cursors: opaque, and valid for one list only.

A cursor holds the position of the last item that was shown, the list that it belongs to and a
check sum. It is no secret and gives nothing away that the items do not say themselves; a cursor
of another list, a cut one or a made-up one is refused before the store sees it.
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from zlib import crc32

from feedmill.errors import CursorError

_MOST_CHARS = 4_000  # far above any position; what is longer is not even decoded


def write_cursor(kind: str, position: str | None) -> str | None:
    """The position of a list as an opaque word; None at the end of the list."""
    if position is None:
        return None
    plain = f"{kind}:{position}".encode()
    whole = crc32(plain).to_bytes(4, "big") + plain
    return urlsafe_b64encode(whole).rstrip(b"=").decode()


def read_cursor(kind: str, cursor: str | None) -> str | None:
    """The position that `write_cursor` was given; CursorError when it gave no such word."""
    if cursor is None:
        return None
    if len(cursor) > _MOST_CHARS or not cursor.isascii():
        raise CursorError(cursor)
    try:
        whole = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (binascii.Error, ValueError):
        raise CursorError(cursor) from None
    plain = whole[4:]
    found, _, position = plain.decode("ascii", "replace").partition(":")
    if found != kind or write_cursor(kind, position) != cursor:
        raise CursorError(cursor)
    return position
