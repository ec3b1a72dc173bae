"""Decodes HTML entities and numeric character references in text.

Only references that end in a semicolon count (D2): `html.unescape` also reads `&copy=1` in a
query string as a copyright sign. Numbers follow HTML §13.2.5.80: the C1 range means Windows-1252.
"""

import re
from html.entities import html5

_AMPERSANDS = re.compile(r"&(?:(?:amp|AMP|#0*+38|#[xX]0*+26);)++")
_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9A-Fa-f]++)|([0-9]++))|([A-Za-z][A-Za-z0-9]{1,31}));")
_REPLACEMENT = "\ufffd"
_LONGEST_NUMBER = 7  # 1114111 is the last character there is


def decode_references(text: str) -> str:
    """The text with its references decoded, however often each ampersand was escaped.

    `&amp;amp;lt;` becomes `<` in one step, so that deep escaping costs no further rounds.
    """
    return _REFERENCE.sub(_decoded, _AMPERSANDS.sub("&", text))


def defuse_references(text: str) -> str:
    """The text with a blank after each ampersand that would start a reference."""
    return _REFERENCE.sub(lambda found: "& " + found[0][1:], text)


def _decoded(found: re.Match[str]) -> str:
    hexadecimal, decimal, name = found.groups()
    if name:
        return html5.get(name + ";", found[0])
    digits = (hexadecimal or decimal).lstrip("0")
    if not 0 < len(digits) <= _LONGEST_NUMBER:
        return _REPLACEMENT
    return _character(int(digits, 16 if hexadecimal else 10))


def _character(number: int) -> str:
    if number > 0x10FFFF:
        return _REPLACEMENT
    if 0x80 <= number <= 0x9F:
        return bytes([number]).decode("windows-1252", "replace")
    # Halves of a pair are kept: some publishers escape an emoji as two UTF-16 units, and
    # they are put together when the text is joined.
    return chr(number)
