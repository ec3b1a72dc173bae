"""Repairs to the text of broken XML: what publishers get wrong most often, and how it is read.

Nothing here changes where an element begins or ends except `balance`, which closes what was left
open in one entry or in the head of a feed.
"""

import re
from collections import Counter
from collections.abc import Callable
from html.entities import html5
from typing import Final

from feedmill.model.parsed import Repair, RepairCode

_MAX_MENDED: Final = 200_000  # references that are looked at one by one; the rest are text

_ILLEGAL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_OPAQUE: Final = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE: Final = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos);)(?:#([0-9]{1,8}|[xX][0-9A-Fa-f]{1,7});|([A-Za-z][A-Za-z0-9]{1,31});)?"
)
_NO_REFERENCE: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,8}|#x[0-9A-Fa-f]{1,7});)")
_STRAY_LESS_THAN: Final = re.compile(r"<(?![A-Za-z_:/!?\x80-\U0010ffff])")
_TAG_WITH_VALUES: Final = re.compile(r"<[A-Za-z_][\w:.-]*+\s[^<>]*+>")
_ATTRIBUTE: Final = re.compile(r"""(=\s*+)("[^"]*+"|'[^']*+'|[^\s"'<>=][^\s"'<>]*+)""")
_TAG: Final = re.compile(
    r"""<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<(/?)([A-Za-z_][\w:.-]*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>""",
    re.DOTALL,
)
_VOID: Final = frozenset({"br", "hr", "img", "input", "wbr"})
# &#128; to &#159; are what old Windows programs wrote for windows-1252; feeds still carry them.
_C1_REFERENCE: Final = re.compile(rb"&#(?:0*1(?:2[89]|[345][0-9])|[xX]0*[89][0-9A-Fa-f]);")
_WORDS: Final[dict[RepairCode, str]] = {
    "entities-decoded": "named entities that XML does not know",
    "stray-ampersands": "read as text",
    "illegal-characters": "removed",
    "markup-recovered": "a < that begins no tag, a ]]> that ends no CDATA, or a value without quotes",
}


def with_windows_characters(utf8: bytes) -> tuple[bytes, tuple[Repair, ...]]:
    """The bytes with references to C1 controls turned into what their writer meant."""
    if _C1_REFERENCE.search(utf8) is None:
        return utf8, ()
    mended, count = _C1_REFERENCE.subn(_windows_character, utf8)
    detail = f"{count} references to windows-1252 code points"
    return mended, (Repair(code="entities-decoded", detail=detail),)


def mend(utf8: bytes) -> tuple[bytes, tuple[Repair, ...]]:
    """Remove characters that XML forbids; write out entities, stray & and <, missing quotes."""
    counts: Counter[RepairCode] = Counter()
    text, counts["illegal-characters"] = _ILLEGAL.subn("", utf8.decode("utf-8", "replace"))
    text = _outside_cdata(text, lambda piece: _mend_piece(piece, counts))
    repairs = [
        Repair(code=code, detail=f"{count} times: {_WORDS[code]}")
        for code, count in sorted(counts.items())
        if count
    ]
    return text.encode("utf-8", "replace"), tuple(repairs)


def balance(utf8: bytes) -> bytes:
    """Close what was left open and drop what was never opened, as a browser would."""
    opened: list[str] = []
    counts: Counter[str] = Counter()

    def weigh(tag: re.Match[str]) -> str:
        slash, name, rest = tag.groups()
        if name is None or rest.endswith("/"):
            return tag.group()
        if not slash:
            return _opening(tag, opened, counts)
        if not counts[name]:
            return ""
        return _closing(name, opened, counts)

    text = _TAG.sub(weigh, utf8.decode("utf-8", "replace"))
    return (text + "".join(f"</{name}>" for name in reversed(opened))).encode("utf-8", "replace")


def _outside_cdata(text: str, mend_piece: Callable[[str], str]) -> str:
    pieces: list[str] = []
    position = 0
    for opaque in _OPAQUE.finditer(text):
        pieces += (mend_piece(text[position : opaque.start()]), opaque.group())
        position = opaque.end()
    pieces.append(mend_piece(text[position:]))
    return "".join(pieces)


def _mend_piece(text: str, counts: Counter[RepairCode]) -> str:
    if not text:  # between two CDATA sections
        return text
    text, stray = _STRAY_LESS_THAN.subn("&lt;", text)
    stray += text.count("]]>")  # XML 1.0 §2.4: only to end a CDATA section
    text = text.replace("]]>", "]]&gt;")
    quoted = _TAG_WITH_VALUES.sub(_quote_values, text)
    counts["markup-recovered"] += stray + (quoted != text)
    text = quoted
    return _mend_references(text, counts) if "&" in text else text


def _quote_values(tag: re.Match[str]) -> str:
    return _ATTRIBUTE.sub(_quote_value, tag.group())


def _quote_value(found: re.Match[str]) -> str:
    equals, value = found.groups()
    if value[0] in "\"'":
        return found.group()
    closing = "/" if value.endswith("/") and found.string[found.end() :] == ">" else ""
    return f'{equals}"{value.removesuffix("/") if closing else value}"{closing}'


def _mend_references(text: str, counts: Counter[RepairCode]) -> str:
    last = 0

    def mend_one(found: re.Match[str]) -> str:
        nonlocal last
        last = found.end()
        number, name = found.groups()
        if number is not None:
            return _mend_number(found.group(), number, counts)
        character = html5.get(name + ";") if name is not None else None
        if character is None:
            counts["stray-ampersands"] += 1
            return "&amp;" + found.group()[1:]
        counts["entities-decoded"] += 1
        return character.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")

    mended, looked_at = _REFERENCE.subn(mend_one, text, count=_MAX_MENDED)
    if looked_at < _MAX_MENDED:
        return mended
    rest = len(text) - last
    return mended[: len(mended) - rest] + _NO_REFERENCE.sub("&amp;", text[last:])


def _mend_number(reference: str, number: str, counts: Counter[RepairCode]) -> str:
    code = int(number[1:], 16) if number[0] in "xX" else int(number)
    legal = 0x20 <= code < 0xD800 or code in (9, 10, 13) or 0xE000 <= code < 0xFFFE
    if legal or 0x10000 <= code <= 0x10FFFF:
        if number[0] == "X":  # XML knows &#x41; only
            counts["entities-decoded"] += 1
            return reference.replace("X", "x", 1)
        return reference
    counts["illegal-characters"] += 1
    return ""


def _opening(tag: re.Match[str], opened: list[str], counts: Counter[str]) -> str:
    name = tag[2]
    if name.lower() in _VOID:
        return tag.group()[:-1] + "/>"
    opened.append(name)
    counts[name] += 1
    return tag.group()


def _closing(name: str, opened: list[str], counts: Counter[str]) -> str:
    tags: list[str] = []
    while not tags or tags[-1] != f"</{name}>":
        last = opened.pop()
        counts[last] -= 1
        tags.append(f"</{last}>")
    return "".join(tags)


def _windows_character(found: re.Match[bytes]) -> bytes:
    number = found.group()[2:-1].lower()
    code = int(number[1:], 16) if number.startswith(b"x") else int(number)
    return bytes([code]).decode("cp1252", "replace").encode()
