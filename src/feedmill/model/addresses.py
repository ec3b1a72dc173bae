"""Addresses of feeds as they may be shown: without the tokens that some of them contain."""
# Tested in tests/unit/observe/test_log.py

import re
from collections.abc import Iterable, Iterator
from typing import Final

HIDDEN: Final = "***"

# An address may stand in a parameter of another one, percent-encoded once or more often.
_SEPARATOR: Final = "[?&;#]|%(?:25)*+(?:3F|26|3B|23)"
_PARAMETER: Final = re.compile(
    rf"(?:{_SEPARATOR})([^?&;#=\s]{{1,64}}?)(?:=|(%(?:25)*+3D))", re.IGNORECASE
)
# The last word of the name says what it is: api_key and accessToken, not keyword or monkey.
_SECRET_NAME: Final = re.compile(
    r"(?:password|passwd|passphrase|passkey|secret|token|apikey|authkey|signature"
    r"|(?<![a-z0-9])(?:pass|pwd|key|auth|sig|jwt)"
    r"|(?-i:(?<=[a-z0-9])(?:Pass|Pwd|Key|Auth|Sig|Jwt)))[\W\d_]*\Z",
    re.IGNORECASE,
)
_ESCAPE: Final = re.compile("%([2-7][0-9A-Fa-f])")
_VALUE: Final = re.compile(r"[^&;#\s]+")
_ENCODED_VALUE: Final = re.compile(rf"(?:(?!{_SEPARATOR})\S)+", re.IGNORECASE)
# In a dedupe_key, `guid:ADDRESS:ID`, a colon ends the address.
_VALUE_IN_KEY: Final = re.compile(r"[^&;#:\s]+")


def mask_address(url: str) -> str:
    """The address of a feed with the tokens in its parameters replaced by ***.

    Narrower than `mask_secrets`: `?token=`, `?api_key=` and their like, but not `?keyword=`. People read these
    addresses, and most parameters of a feed are no secrets. Of a `dedupe_key` the publisher's id after the address stays.
    """
    if "=" not in url and "%" not in url:
        return url
    return hide(url, token_spans(url))


def token_spans(url: str) -> Iterator[tuple[int, int]]:
    """Where the values of parameters stand whose names say that they are secret."""
    plain = _VALUE_IN_KEY if url.startswith("guid:") else _VALUE
    position = 0
    for parameter in _PARAMETER.finditer(url):
        if parameter.start() < position:
            continue  # part of a value that is hidden already
        name = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), parameter[1])
        if _SECRET_NAME.search(name) is not None:
            value = (_ENCODED_VALUE if parameter[2] else plain).match(url, parameter.end())
            if value is not None:
                position = value.end()
                yield value.span()


def hide(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with *** in place of these parts of it, which are in order."""
    shown, position = "", 0
    for start, end in spans:
        if start >= position:
            shown += text[position:start] + HIDDEN
        position = max(position, end)
    return shown + text[position:]
