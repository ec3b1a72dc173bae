"""The path of a feed URL in its plainest spelling."""

import re

_SLASHES = re.compile(r"//+")
# An escape behind a stray `%` is left alone: decoding `%2%65` to `%2e` would make a new escape,
# and a second pass would read it.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def tidy_path(path: str) -> str:
    """The path with single slashes, unreserved characters decoded and other %XX in capitals.

    RFC 3986 6.2.2: the two spellings of an escape are equivalent, and an escaped unreserved
    character is the character. A reserved one is not: `%2F` is no slash. The URL parser has
    removed the dot segments before, escaped ones too, so decoding makes no new ones.
    """
    if "%" in path:
        path = _ESCAPE.sub(_plain, path)
    return _SLASHES.sub("/", path)


def _plain(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()
