"""Digests of an entry's fields, and the short text that SQLite keeps of them: 74 octets of an entry instead of 380.

Most fields of most entries are empty. So the names are left out, an empty field is one character, and any other digest is
11 characters of base64. The text is JSON, as before: a list of pairs of name and digest, which rows of earlier
versions still have and which says what the short one cannot. PostgreSQL keeps the list: during a rolling upgrade processes of the
version before read the rows of this one.
"""
# Tested in tests/unit/identify/test_field_digests.py

import re
from binascii import a2b_base64, b2a_base64
from typing import Final, TypeAlias

import msgspec

FieldDigests: TypeAlias = tuple[tuple[str, str], ...]

# In the order of `content-v1`, which never changes.
FIELDS: Final = (
    "title", "link", "summary", "content", "authors", "categories", "enclosures", "published",
    "updated", "image", "comments_url", "language",
)  # fmt: skip
NO_VALUE: Final = "74234e98afe7498f"  # the digest of null
NO_LIST: Final = "4f53cda18c2baa0c"  # and of []

_EMPTY: Final = {NO_VALUE: ".", NO_LIST: ","}
_EMPTY_DIGESTS: Final = {mark: digest for digest, mark in _EMPTY.items()}
_parts: Final = re.compile("[.,]|[^.,]{11}").findall
_decode: Final = msgspec.json.Decoder(FieldDigests | str).decode
_encode: Final = msgspec.json.Encoder().encode


def digests_text(digests: FieldDigests) -> str:
    """The digests as a store keeps them."""
    if tuple([name for name, _ in digests]) != FIELDS:
        return _encode(digests).decode()
    return f'"{"".join([_EMPTY.get(digest) or _short(digest) for _, digest in digests])}"'


def digests_of(text: str) -> FieldDigests:
    """The digests of a stored text; msgspec.DecodeError when it is none."""
    found: FieldDigests | str = _decode(text)
    if not isinstance(found, str):
        return found
    parts = _parts(found)
    if len(parts) != len(FIELDS) or len("".join(parts)) != len(found):
        message = "the digests of the fields cannot be read"
        raise msgspec.DecodeError(message)
    return tuple(zip(FIELDS, map(_long, parts), strict=True))


def _short(digest: str) -> str:
    return b2a_base64(bytes.fromhex(digest), newline=False)[:11].decode()


def _long(part: str) -> str:
    if part in _EMPTY_DIGESTS:
        return _EMPTY_DIGESTS[part]
    try:
        return a2b_base64(f"{part}=", strict_mode=True).hex()
    except ValueError as error:
        raise msgspec.DecodeError(str(error)) from error
