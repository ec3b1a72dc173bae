"""Edits of a query string piece by piece (D2).

The raw text between two `&` is kept byte for byte or dropped whole; nothing is decoded and
encoded again, so `?key` stays `?key`, `%20` stays `%20` and a Latin-1 `%E9` stays what it is.
"""

import re
from collections.abc import Callable

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


def drop_params(query: str, is_dropped: Callable[[str], bool]) -> str:
    """The query without the pieces whose decoded name is to be dropped."""
    kept = [piece for piece in query.split("&") if not is_dropped(param_name(piece))]
    return "&".join(kept) if any(kept) else ""


def sort_params(query: str) -> str:
    """The pieces in the order of their decoded names; equal names keep their order.

    An empty piece (`a&&b`) has no name to be sorted by and goes.
    """
    return "&".join(sorted(filter(None, query.split("&")), key=param_name))


def param_name(piece: str) -> str:
    """The percent-decoded text before the first `=`."""
    return _unescaped(piece.partition("=")[0])


def param_value(piece: str) -> str:
    """The percent-decoded text after the first `=`, empty when there is none."""
    return _unescaped(piece.partition("=")[2])


def _unescaped(text: str) -> str:
    """The text with `%XX` decoded as UTF-8; bytes that are no UTF-8 stay distinguishable."""
    if "%" not in text:
        return text
    raw = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode("ascii")), text.encode())
    return raw.decode("utf-8", "surrogateescape")
