"""Repairs the text of broken XML: the mistakes that publishers make most often.

Nothing here changes where an element begins or ends except `balance`, which closes what was left
open in one entry or in the head of a feed. Everything works on bytes, and on what is worth it:
where there is more to mend than any publisher gets wrong, the rest is left to the recovering
parser, which is all C.
"""
# Tested in tests/unit/parse/xml/test_tree.py

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from html.entities import html5
from typing import Final

from feedmill.model.parsed import Repair, RepairCode
from feedmill.parse.input.encoding import windows_character

_MAX_MENDED: Final = 200_000  # references that are looked at one by one
_MAX_QUOTED: Final = 50_000  # values that get their quotes
_MAX_OPAQUE: Final = 100_000  # CDATA sections and comments
_MAX_UNKNOWN: Final = 20_000  # references that are left to the recovering parser
_MAX_ESCAPED: Final = 1_000_000  # where there are more, & means nothing

_CONTROLS: Final = bytes({*range(0x20)} - {0x09, 0x0A, 0x0D})
_NONCHARACTERS: Final = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
_OPAQUE: Final = re.compile(rb"<!(?:--|\[CDATA\[)")
_PREDEFINED: Final = {
    b"&amp;": b"&#38;",
    b"&lt;": b"&#60;",
    b"&gt;": b"&#62;",
    b"&quot;": b"&#34;",
    b"&apos;": b"&#39;",
}
# Zeros are stepped over, so that a number is short however it was written.
_REFERENCE: Final = re.compile(
    rb"&(?!(?:amp|lt|gt|quot|apos);)(?:#(?:0*+([1-9][0-9]{0,7}|(?<=0))"
    rb"|([xX])0*+([1-9A-Fa-f][0-9A-Fa-f]{0,6}|(?<=0)));|([A-Za-z][A-Za-z0-9]{1,31});)?"
)
_STRAY_LESS_THAN: Final = re.compile(rb"<(?![A-Za-z_:/!?\x80-\xff])")
_SPACED_END_TAG: Final = re.compile(rb"</\s{1,100}+(?=[A-Za-z_][\w:.-]{0,100}+\s{0,100}+>)")
_NAME: Final = re.compile(rb"<([^\s/>]++)")
_END_TAG: Final = re.compile(rb"</\s{0,100}+([^\s/<>]++)")
_GOOD_ATTRIBUTES: Final = (
    rb"""<[A-Za-z_\x80-\xff][\w:.\x80-\xff-]*+\s(?:[^<>"'=]++|=\s*+(?:"[^"<>]*+"|'[^'<>]*+'))*+"""
)
_UNQUOTED_TAG: Final = re.compile(_GOOD_ATTRIBUTES + rb"""=\s*+[^\s"'<>=][^<>]*+>""")
# One quote too many, behind another, or one missing: the next tag begins before any other quote.
_WRONG_QUOTE: Final = re.compile(
    rb"("
    + _GOOD_ATTRIBUTES
    + rb""")(?:(?<=["'\s])["'](?=[\s/>])|(=\s*+(["'])[^"'<>]*+)(?=>[^"'<]*+(?:<|\Z)))"""
)
_ATTRIBUTE: Final = re.compile(rb"""(=\s*+)("[^"]*+"|'[^']*+'|[^\s"'<>=][^\s"'<>]*+["']?)""")
_TAG: Final = re.compile(
    rb"""<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+(?:\]\]>|\Z)|<!--(?:[^-]++|-(?!->))*+(?:-->|\Z)"""
    rb"""|<(/?)([A-Za-z_\x80-\xff][\w:.\x80-\xff-]*+)((?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+)>"""
)
_OPAQUE_SECTION: Final = re.compile(
    rb"""(<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+(?:\]\]>|\Z)|<!--(?:[^-]++|-(?!->))*+(?:-->|\Z))"""
)
_VOID: Final = frozenset({b"br", b"hr", b"img", b"input", b"wbr"})
# No field of an entry or feed holds another: one that begins ends the one before, if it was left open.
# Those that hold HTML are closed by what no HTML has.
_HTML_FIELDS: Final = (b"description", b"summary", b"content", b"content:encoded")
_NEVER_IN_HTML: Final = frozenset(
    b"guid id pubDate published updated category comments enclosure author contributor description"
    b" content:encoded dc:creator dc:date dc:subject slash:comments wfw:commentRss"
    b" feedburner:origLink language copyright generator managingEditor webMaster lastBuildDate ttl"
    b" docs".split()
)
_FIELDS: Final = _NEVER_IN_HTML.union(_HTML_FIELDS, (b"title", b"link"))
_PLAIN: Final = _FIELDS.union((b"name", b"email", b"uri")).difference(_HTML_FIELDS)
# &#128; to &#159; are what old Windows programs wrote for windows-1252; feeds still carry them.
_C1_REFERENCE: Final = re.compile(rb"&#(?:0*+(1(?:2[89]|[345][0-9]))|[xX]0*+([89][0-9A-Fa-f]));")
# So does a proxy that takes windows-1252 for latin-1 and writes it as UTF-8.
_C1_CHARACTER: Final = re.compile(rb"\xc2([\x80-\x9f])")
_WINDOWS: Final = {
    spelled: windows_character(code).encode()
    for code in range(0x80, 0xA0)
    for spelled in (b"%d" % code, b"%x" % code, bytes([code]))
}
# What must not reach a recovering parser: it hands half a surrogate pair on as it stands.
_NO_CHARACTER: Final = re.compile(
    rb"&#(?:0*+(?:(?<=0)|[1-8]|1[124-9]|2[0-9]|3[01]|5529[6-9]|55[3-9][0-9]{2}|56[0-9]{3}"
    rb"|57[0-2][0-9]{2}|573[0-3][0-9]|5734[0-3]|6553[45])"
    rb"|[xX]0*+(?:(?<=0)|[1-8bBcCeEfF]|1[0-9A-Fa-f]|[dD][89A-Fa-f][0-9A-Fa-f]{2}|[fF]{3}[eEfF]));"
)
_WORDS: Final[dict[RepairCode, str]] = {
    "entities-decoded": "named entities that XML does not know",
    "stray-ampersands": "read as text",
    "illegal-characters": "removed",
    "markup-recovered": "a < that begins no tag, a blank in an end tag, a ]]> that ends no CDATA, or a value without right quotes",
}


def with_windows_characters(utf8: bytes) -> tuple[bytes, tuple[Repair, ...]]:
    """The bytes with C1 controls, and references to them, turned into what their writer meant."""
    repairs: tuple[Repair, ...] = ()
    if b"\xc2" in utf8 and _C1_CHARACTER.search(utf8) is not None:
        utf8, count = _C1_CHARACTER.subn(lambda found: _WINDOWS[found[1]], utf8)
        detail = f"{count} C1 controls, read as windows-1252"
        repairs = (Repair(code="characters-restored", detail=detail),)
    if _C1_REFERENCE.search(utf8) is None:
        return utf8, repairs
    utf8, count = _C1_REFERENCE.subn(_referenced_character, utf8, count=_MAX_MENDED)
    detail = f"{count} references to windows-1252 code points"
    return utf8, (*repairs, Repair(code="entities-decoded", detail=detail))


def repair_xml(utf8: bytes) -> tuple[bytes, tuple[Repair, ...]]:
    """Remove characters that XML forbids; write out entities, stray & and <, missing quotes."""
    mender = _Repairer()
    text = mender.without_illegal(utf8)
    if text.count(b"<!") <= _MAX_OPAQUE:
        text = b"".join(mender.pieces(text))
    else:
        text = with_few_references(text)
    repairs = [
        Repair(code=code, detail=f"{count} times: {_WORDS[code]}")
        for code, count in sorted(mender.counts.items())
        if count
    ]
    return text, tuple(repairs)


def without_illegal_references(utf8: bytes) -> bytes:
    """The bytes without references to what is no character, wherever they stand.

    `mend` leaves CDATA sections and comments alone; a parser that recovers may read on where
    `mend` saw one, in a tag or an instruction that was never closed.
    """
    return _NO_CHARACTER.sub(b"", utf8)


def with_numbers(utf8: bytes) -> bytes:
    """The bytes for a recovering parser, which drops the five named references behind a fault."""
    if b"&" not in utf8:
        return utf8
    pieces = _OPAQUE_SECTION.split(utf8)
    for name, number in _PREDEFINED.items():
        pieces[::2] = [piece.replace(name, number) for piece in pieces[::2]]
    return b"".join(pieces)


def with_few_references(utf8: bytes) -> bytes:
    """The bytes for a recovering parser, which makes a node of every reference it does not know."""
    count = _unknown_references(utf8, _MAX_UNKNOWN)
    return _as_text(utf8, count) if count > _MAX_UNKNOWN else utf8


def balance_tags(utf8: bytes) -> bytes:
    """Close what was left open and drop what was never opened, as a browser would."""
    opened: list[bytes] = []
    counts: Counter[bytes] = Counter()

    def weigh(tag: re.Match[bytes]) -> bytes:
        slash, name, rest = tag.groups()
        if name is None:
            return tag.group()
        if not slash:
            return _left_open(name, opened, counts) + (
                tag.group() if rest.endswith(b"/") else _opening(tag, opened, counts)
            )
        if not counts[name]:
            return b""
        return _closing(name, opened, counts)

    text = _TAG.sub(weigh, utf8)
    return text + b"".join([b"</" + name + b">" for name in reversed(opened)])


class _Repairer:
    """The mending of one text: what was found, and how much more may be looked at."""

    __slots__ = ("counts", "ended", "quotes", "references", "text")

    def __init__(self) -> None:
        self.counts: Counter[RepairCode] = Counter()
        self.text = b""
        self.ended: frozenset[bytes] | None = None  # elements that have an end tag, once asked for
        self.references = _MAX_MENDED
        self.quotes = _MAX_QUOTED

    def without_illegal(self, text: bytes) -> bytes:
        kept = text.translate(None, _CONTROLS)
        self.counts["illegal-characters"] += len(text) - len(kept)
        for one in _NONCHARACTERS:
            if count := kept.count(one):
                self.counts["illegal-characters"] += count
                kept = kept.replace(one, b"")
        return kept

    def pieces(self, text: bytes) -> Iterator[bytes]:
        """The text, mended between its CDATA sections and comments, and these as they are."""
        position, self.text = 0, text
        while opaque := _OPAQUE.search(text, position):
            if opaque.start() > position:
                yield self.piece(text[position : opaque.start()])
            mark = b"-->" if opaque.group() == b"<!--" else b"]]>"
            end = text.find(mark, opaque.end())
            position = len(text) if end < 0 else end + 3
            yield text[opaque.start() : position]
        yield self.piece(text[position:])

    def piece(self, text: bytes) -> bytes:
        if b"<" in text:
            text, stray = _STRAY_LESS_THAN.subn(b"&lt;", text)
            text, spaced = _SPACED_END_TAG.subn(b"</", text)
            self.counts["markup-recovered"] += stray + spaced
            text, wrong = _WRONG_QUOTE.subn(self.with_right_quote, text, count=_MAX_QUOTED)
            self.counts["markup-recovered"] += wrong
            text = _UNQUOTED_TAG.sub(self.quoted, text, count=max(self.quotes, 1))
        if b"]]>" in text:  # XML 1.0 §2.4: only to end a CDATA section
            self.counts["markup-recovered"] += text.count(b"]]>")
            text = text.replace(b"]]>", b"]]&gt;")
        return self.with_references(text) if b"&" in text else text

    def quoted(self, tag: re.Match[bytes]) -> bytes:
        """The tag with quotes around its values."""
        self.counts["markup-recovered"] += 1
        quote = partial(_quote_value, is_ended=self.is_ended(tag))
        text, values = _ATTRIBUTE.subn(quote, tag.group(), count=max(self.quotes, 1))
        self.quotes -= values
        return text

    def with_right_quote(self, found: re.Match[bytes]) -> bytes:
        """The beginning of a tag with the quote that is missing, or without the one too many."""
        before, value, quote = found.groups(b"")
        closing = b"/" if value.endswith(b"/") and not self.is_ended(found) else b""
        return before + value.removesuffix(closing) + quote + closing

    def is_ended(self, tag: re.Match[bytes]) -> bool:
        """Whether its element has an end tag: then a slash in front of the > belongs to a value."""
        if self.ended is None:
            self.ended = frozenset(_END_TAG.findall(self.text))
        name = _NAME.match(tag.group())
        return name is not None and name[1] in self.ended

    def with_references(self, text: bytes) -> bytes:
        """The text with every & that XML cannot read as one that it can."""
        count = _unknown_references(text, self.references)
        if count > self.references:  # so many cannot be meant
            self.counts["stray-ampersands"] += count
            return _as_text(text, count)
        self.references -= count
        return _REFERENCE.sub(self.reference, text)

    def reference(self, found: re.Match[bytes]) -> bytes:
        decimal, letter, hexadecimal, name = found.groups()
        if decimal is not None:
            return self.number(found.group(), int(decimal or b"0"))
        if letter is not None:
            reference = b"&#x" + (hexadecimal or b"0") + b";"  # XML knows the small letter only
            self.counts["entities-decoded"] += letter == b"X"
            return self.number(reference, int(hexadecimal or b"0", 16))
        character = html5.get(name.decode() + ";") if name is not None else None
        if character is None:
            self.counts["stray-ampersands"] += 1
            return b"&amp;" + found.group()[1:]
        self.counts["entities-decoded"] += 1
        escaped = character.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        return escaped.encode()

    def number(self, reference: bytes, code: int) -> bytes:
        legal = 0x20 <= code < 0xD800 or code in (9, 10, 13) or 0xE000 <= code < 0xFFFE
        if legal or 0x10000 <= code <= 0x10FFFF:
            return reference
        self.counts["illegal-characters"] += 1
        return b""


def _quote_value(found: re.Match[bytes], *, is_ended: bool) -> bytes:
    equals, value = found.groups()
    if value[:1] in (b'"', b"'"):
        return found.group()
    ends_tag = value.endswith(b"/") and found.end() == len(found.string) - 1
    closing = b"/" if ends_tag and not is_ended else b""
    return equals + b'"' + value.removesuffix(closing).rstrip(b"\"'") + b'"' + closing


def _opening(tag: re.Match[bytes], opened: list[bytes], counts: Counter[bytes]) -> bytes:
    name = tag[2]
    if name.lower() in _VOID:
        return tag.group()[:-1] + b"/>"
    opened.append(name)
    counts[name] += 1
    return tag.group()


def _left_open(name: bytes, opened: list[bytes], counts: Counter[bytes]) -> bytes:
    """End tags for the fields that the one of this name cannot stand in."""
    tags = b""
    if name in _NEVER_IN_HTML:
        for field in _HTML_FIELDS:
            tags += _closing(field, opened, counts) if counts[field] else b""
    while opened and name in _FIELDS and opened[-1] in _PLAIN:
        tags += _closing(opened[-1], opened, counts)
    return tags


def _closing(name: bytes, opened: list[bytes], counts: Counter[bytes]) -> bytes:
    tags: list[bytes] = []
    end = b"</" + name + b">"
    while not tags or tags[-1] != end:
        last = opened.pop()
        counts[last] -= 1
        tags.append(b"</" + last + b">")
    return b"".join(tags)


def _referenced_character(found: re.Match[bytes]) -> bytes:
    decimal, hexadecimal = found.groups()
    return _WINDOWS[decimal] if decimal is not None else _WINDOWS[hexadecimal.lower()]


def _unknown_references(text: bytes, few: int) -> int:
    """How many & stand in the text; those that XML knows are counted only if they are few."""
    count = text.count(b"&")
    return count - sum(map(text.count, _PREDEFINED)) if count > few else count


def _as_text(text: bytes, count: int) -> bytes:
    return text.replace(b"&", b"&amp;") if count <= _MAX_ESCAPED else text.translate(None, b"&")
