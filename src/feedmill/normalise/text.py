"""Clean text: no markup, no references, no invisible noise, single blanks (003 §3, D18).

Decode, strip, and again until nothing changes: `&lt;b&gt;` decoded after stripping would bring
the tag back. A bare `<` that no tokenizer reads as a tag stays: `1 < 2 and 3 > 2` is text.
NFKC is not applied: it turns `x²` into `x2` and belongs into hashes only.

Only references (HTML entities) that end in a semicolon count (D2): `html.unescape` also reads
`&copy=1` in a query string as a copyright sign. Numbers follow HTML §13.2.5.80: the C1 range means
Windows-1252.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import partial
from html.entities import html5

from feedmill.normalise.html.tokens import (
    BLOCK_TAGS,
    REMOVED_TAGS,
    TAG_PATTERN,
    html_tokens,
    is_address,
    is_cut_off,
    tag_name,
)

_MAX_ROUNDS = 4
_WINDOW_FACTOR = 3  # markup is seldom this many times as long as its text
# Controls but white space; word joiner, byte order mark, annotation marks, non-characters; the
# zero-width space but where Thai, Lao, Burmese and Khmer use it to part words. The joiners
# U+200C and U+200D stay: Persian, the Indic scripts and emoji need them.
_NOISE = re.compile(
    r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u2060\ufeff\ufff9-\ufffb\ufffe\uffff]+"
    r"|(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b+"
)
# The same characters and lone surrogates as one class: a quick no, where the pattern above is slow.
_ANY_NOISE = re.compile(
    r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\u2060\ufeff\ufff9-\ufffb\ufffe\uffff"
    r"\ud800-\udfff]"
)
_ASCII_NOISE = bytes([*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F])
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TAG_OPENER = re.compile(r"<(?=[A-Za-z/!?])")
_START_TAG = re.compile(r"<([A-Za-z][A-Za-z0-9]*+)[\s/>]")
_END_TAG = re.compile(r"</([A-Za-z][A-Za-z0-9]*+)\s*+>")
_TELLING_TAG = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9]*+[\s/]++[A-Za-z:_-]++\s*+=|(?:br|hr|p|wbr)\s*+/?>|!--|!\[CDATA\[)",
    re.IGNORECASE,
)
_REMOVED_NAMES = "|".join(sorted(REMOVED_TAGS))
_TALKED_ABOUT = re.compile(rf"(<(?:{_REMOVED_NAMES})>)", re.IGNORECASE | re.ASCII)
_REMOVED_END = re.compile(rf"</(?:{_REMOVED_NAMES})(?![\w-])", re.IGNORECASE | re.ASCII)
_SWALLOWING = re.compile(r"<(?:script|style)(?![\w-])", re.IGNORECASE | re.ASCII)
_LONGEST_CLUSTER = 32

_AMPERSANDS = re.compile(r"&(?:(?:amp|AMP|#0*+38|#[xX]0*+26);)++")
_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9A-Fa-f]++)|([0-9]++))|([A-Za-z][A-Za-z0-9]{1,31}));")
_REPLACEMENT = "\ufffd"
# Five code points of the range have no character there and stay what they are.
_WINDOWS_C1 = {
    code: character
    for code in range(0x80, 0xA0)
    if (character := bytes([code]).decode("windows-1252", "ignore"))
}
_MOST_NAMES = 1_000
_LONGEST_NAME = 32
_LONGEST_NUMBER = 7  # 1114111 is the last character there is


def clean_text(value: str, max_chars: int | None = None) -> str:
    """Text that a program may show, compare and store, at most `max_chars` long.

    Cleaning twice changes nothing, and no `<` in the answer starts a tag.
    """
    text = None
    if max_chars is not None and len(value) > max_chars * _WINDOW_FACTOR:
        text = _settled_beginning(value, max_chars)
    if text is None:
        swallowing = _SWALLOWING.search(value) is not None
        text = _settled(value, partial(_strip, swallowing=swallowing)) or ""
    return text if max_chars is None or len(text) <= max_chars else _limit(text, max_chars)


def clean_title(value: str, max_chars: int) -> str:
    """The same for a title: of an element that is removed with what it holds, a bare tag that
    nothing closes is talked about, as in `Using <script> tags`.
    """
    parts = _TALKED_ABOUT.split(decode_references(value)) if "<" in value or "&" in value else []
    if len(parts) < 2 or _REMOVED_END.search("".join(parts)):
        return clean_text(value, max_chars)
    for number in range(0, len(parts), 2):
        part = parts[number]
        before = " " if part[:1].isspace() else ""
        after = " " if part[-1:].isspace() else ""
        parts[number] = before + clean_text(part, max_chars) + after
    text = " ".join("".join(parts).split())
    return text if len(text) <= max_chars else _limit(text, max_chars)


def clean_plain_text(value: str, max_chars: int) -> str:
    """The same for what is called text: a `<` in it is one, unless markup is meant.

    `Using <script> tags` and `if x<y then` stay whole; tags that come in pairs, have attributes
    or break lines are markup, whatever the publisher calls it.
    """
    if "<" not in value and "&" not in value:
        return clean_text(value, max_chars)
    text = _remove_noise(" ".join(decode_references(value).split()))
    if _is_markup_meant(text):
        return clean_title(value, max_chars)
    return text if len(text) <= max_chars else _limit(text, max_chars)


def remove_surrogates(text: str) -> str:
    """The text with pairs of surrogates joined and lone ones removed."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def decode_references(text: str) -> str:
    """The text with its references decoded, however often each ampersand was escaped.

    `&amp;amp;lt;` becomes `<` in one step, so that deep escaping costs no further rounds.
    """
    return _REFERENCE.sub(_decoded, _AMPERSANDS.sub("&", text))


def defuse_references(text: str) -> str:
    """The text with a blank after each ampersand that would start a reference."""
    return _REFERENCE.sub(lambda found: "& " + found[0][1:], text)


def _is_markup_meant(text: str) -> bool:
    names = {name.lower() for name in _START_TAG.findall(text)}
    ends = {name.lower() for name in _END_TAG.findall(text)}
    return bool(names & ends) or _TELLING_TAG.search(text) is not None


def _settled(value: str, strip: Callable[[str], str | None]) -> str | None:
    settled = value if _is_plain(value) else _settle(value, strip)
    return None if settled is None else " ".join(settled.split())


def _settled_beginning(value: str, max_chars: int) -> str | None:
    """More than `max_chars` of what the whole would settle to; None when that is not sure.

    The edge stands before markup or between words, and in front of it there must be no markup but
    finished tags. Then only a reference that a tag parts could reach over it, in the last word.
    """
    window = max_chars * _WINDOW_FACTOR
    edge = value.rfind("<", 0, window)
    if edge < max_chars:
        edge = value.rfind(" ", 0, window)
    text = _settled(value[: max(edge, 0)], _strip_simple)
    if text is None or len(text) <= max_chars or ("&" in text and " " not in text[max_chars:]):
        return None
    return text


def _is_plain(text: str) -> bool:
    return "<" not in text and "&" not in text and _is_quiet(text)


def _is_quiet(text: str) -> bool:
    """Whether there is surely no noise in it; the quickest way to tell depends on the script."""
    if not text.isascii():
        # A no-break space counts as white space, which is none of this function's business.
        return text.isprintable() or text.replace("\xa0", " ").isprintable()
    encoded = text.encode()
    return len(encoded.translate(None, _ASCII_NOISE)) == len(encoded)


def _settle(text: str, strip: Callable[[str], str | None]) -> str | None:
    """The text after as many rounds as it needs; None as soon as `strip` gives up."""
    text = text.replace("\n", " ").replace("\xa0", " ")  # neither is printable: see _is_quiet
    if not _is_quiet(text):
        text = _remove_noise(" ".join(text.split()))
    for _ in range(_MAX_ROUNDS):
        stripped = strip(decode_references(text))
        if stripped is None or stripped == text or _is_plain(stripped):
            return stripped
        text = _remove_noise(stripped)
    # Only escapes that were nested on purpose come here: what is left is made harmless.
    return _TAG_OPENER.sub("< ", defuse_references(text))


def _remove_noise(text: str) -> str:
    if _is_quiet(text) or not _ANY_NOISE.search(text):
        return text
    return _NOISE.sub("", remove_surrogates(text))


def _strip(text: str, *, swallowing: bool) -> str:
    """The text without markup; where scripts were only escaped, an open one swallows nothing."""
    if "<" not in text:
        return text
    stripped = _strip_simple(text)
    return _strip_any(text, swallowing=swallowing) if stripped is None else stripped


class _Replacements(dict[str | None, str | None]):
    """What stands for a tag in text, by its name as written: a blank for a block, else nothing.

    None for what is more than a tag: an element that is removed with what it holds, an address.
    """

    def __missing__(self, name: str | None) -> str | None:
        if name is None:  # a comment
            return ""
        lowered = name.lower()
        special = lowered in REMOVED_TAGS or is_address(lowered)
        replacement = None if special else " " if lowered in BLOCK_TAGS else ""
        # Invented ones are not worth remembering, nor are they to fill the memory.
        if len(self) < _MOST_NAMES and len(name) <= _LONGEST_NAME:
            self[name] = replacement
        return replacement


_REPLACEMENTS = _Replacements()


def _strip_simple(text: str) -> str | None:
    """The text without its tags, in one pass; None when there is more than finished tags."""
    pieces = TAG_PATTERN.split(text)
    replacements = [_REPLACEMENTS[name] for name in pieces[1::3]]
    # Only the last tag can have been cut off by the end of the text.
    if None in replacements or pieces[-2:-1] == [""]:
        return None
    pieces[1::3] = replacements
    del pieces[2::3]
    stripped = "".join(pieces)
    return None if _TAG_OPENER.search(stripped) else stripped


def _strip_any(text: str, *, swallowing: bool) -> str:
    pieces: list[str] = []
    position = 0
    cdata = False
    for token, resume in html_tokens(text, swallowing=swallowing):
        pieces.append(text[position : token.start()])
        position = resume
        if token["end"] == "" or token["bogus_end"] == "":
            pieces.append(_unclosed(token[0]))
        elif (name := tag_name(token)) in BLOCK_TAGS:
            pieces.append(" ")  # without it, words would run together
        elif is_address(name):
            pieces.append(token[0].strip("<>"))
        elif token["cdata"]:
            cdata = True
    pieces.append(text[position:])
    stripped = "".join(pieces)
    return stripped.replace("]]>", "") if cdata else stripped


def _unclosed(rest: str) -> str:
    """What stays of a tag that the text's end cut off: nothing, or the words if it is none.

    One that goes on behind a > has a quote that nothing closes.
    """
    if is_cut_off(rest):
        return rest.partition(">")[2]
    return _TAG_OPENER.sub("< ", rest)


def _limit(text: str, max_chars: int) -> str:
    for cut in range(max_chars, max(max_chars - _LONGEST_CLUSTER, 0), -1):
        if not _continues(text, cut):
            return text[:cut].rstrip()
    return text[:max_chars].rstrip()


def _continues(text: str, index: int) -> bool:
    """Whether the character there belongs to the one before it (UAX #29, the common cases)."""
    character = text[index]
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
        or character == "\u200d"
        or text[index - 1] == "\u200d"
    )


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
        return _WINDOWS_C1.get(number, chr(number))
    # Halves of a pair are kept: some publishers escape an emoji as two UTF-16 units, and
    # they are put together when the text is joined.
    return chr(number)
