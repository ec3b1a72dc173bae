"""Texts as PostgreSQL takes them: without NUL, and whole characters only.

Feeds contain both: JSON lets a guid be "\\u0000", and half of a surrogate pair is a Python string
that no encoding has. Each becomes U+FFFD at the edge where values become rows, so that the rest of
the document is kept. In JSON the escape of NUL is text like any other, but no `jsonb` accepts it.
"""

import re
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from feedmill.adapters.store.tables.codec import json_text

T = TypeVar("T")

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_HAS_NUL: Final = b"\\u0000"  # or a backslash and these letters, which costs a needless look
_encode: Final = msgspec.json.Encoder().encode


def postgres_text(text: str) -> str:
    """The text, with U+FFFD for what PostgreSQL cannot hold."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub("\ufffd", text)


def postgres_text_or_none(text: str | None) -> str | None:
    """The same for a text that may be missing."""
    return None if text is None else postgres_text(text)


def postgres_json(value: object) -> str:
    """The value as JSON that PostgreSQL can read."""
    encoded = _bytes_of(value)
    return (
        json_text(clean_value(value))
        if encoded is None or _HAS_NUL in encoded
        else encoded.decode()
    )


def clean_and_size(value: T) -> tuple[T, int]:
    """The value with every text in it storable, and how many bytes there are to it.

    One pass of the encoder finds both; only what needs it is made anew.
    """
    encoded = _bytes_of(value)
    if encoded is None or _HAS_NUL in encoded:
        value = clean_value(value)
        encoded = _encode(value)
    return value, len(encoded)


def clean_value(value: T) -> T:
    """The value with every text in it storable, however deep."""
    return _cleansed(value)  # type: ignore[no-any-return]  # the same type comes out


def _bytes_of(value: object) -> bytes | None:
    """The value as JSON; None when there is a character that JSON has no bytes for."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return None


def _cleansed(value: Any) -> Any:  # noqa: ANN401  # whatever a value is made of
    match value:
        case str():
            return postgres_text(value)
        case tuple() | list():
            return type(value)(map(_cleansed, value))
        case dict():
            return {_cleansed(name): _cleansed(one) for name, one in value.items()}
        case msgspec.Struct():
            fields = asdict(value)
            changed = {name: _cleansed(one) for name, one in fields.items()}
            return value if changed == fields else replace(value, **changed)
        case _:
            return value
