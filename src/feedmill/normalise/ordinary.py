"""Ordinary markup, sanitised without building a tree: the very text that the sanitiser would write.

Most contents are finished lower-case tags, closed in order, with quoted attributes and absolute
addresses. Of these a tree builder makes what they already are, and dropping attributes is all
that is left to do. Only what is named here is taken; for everything else the answer is None, and
the sanitiser, which takes two to three times as long, has the word. That both agree wherever this
module answers is a law that the tests hold against nh3.
"""

import re
from functools import lru_cache
from html.entities import html5
from typing import Literal

from feedmill.model.base import Value
from feedmill.normalise.allowlist import ATTRIBUTES, LINK_REL
from feedmill.normalise.markup import BLOCKS

MAX_CHARS = 32_768
_MAX_TAGS = 1_000
_MAX_DEPTH = 40
_MAX_TAG_CHARS = 2_048
_MAX_GROWTH = 4  # white space that is written as a reference, links that get their rel

# Only elements for which a tree builder has no rule but the ones in `_is_nested` (HTML §13.2.6.4.7).
_INLINE = frozenset({
    "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "i",
    "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var",
})  # fmt: skip
_HOLDING = frozenset({
    "address", "article", "aside", "blockquote", "center", "div", "dl", "figcaption", "figure",
    "footer", "header", "nav", "ol", "p", "pre", "section", "ul",
})  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_VOID = frozenset({"br", "img", "wbr"})
# Where these may stand, and in the parts of a table what else there may be: nothing.
_PARENTS = {
    "li": ("ol", "ul"),
    "dd": ("dl",),
    "dt": ("dl",),
    "tbody": ("table",),
    "thead": ("table",),
    "tfoot": ("table",),
    "tr": ("tbody", "thead", "tfoot"),
    "td": ("tr",),
    "th": ("tr",),
}
_TABLE_PARTS = frozenset({"table", "tbody", "thead", "tfoot", "tr"})
_ADDRESSES = frozenset({"href", "src"})

_MARKUP = re.compile(r"(<[^<>]*>)")
_END_TAG = re.compile(r"</([a-z][a-z0-9]*+)>")
_ATTRIBUTE_NAME = re.compile(r"[ \n]++([a-z][a-z0-9_:-]*+)=")
_REL = f' rel="{LINK_REL}"'
# Whatever follows such a host is a path, a query or a fragment, and none of them can be wrong.
_ADDRESS_PATTERN = (
    r"https?://(?:[a-z0-9]++(?:-[a-z0-9]++)*+\.)++[a-z](?:-?[a-z0-9])*+"
    r"(?:[/?#][!#-%'-;=?-~]*+)?+"
)
_ADDRESS = re.compile(_ADDRESS_PATTERN)
_LINK = re.compile(
    rf'<a href="({_ADDRESS_PATTERN})"(?: (?:class|id|rel|style|target)="[^"<>]{{0,200}}+")*+>'
)
_HANDLER = re.compile(r"[\s/\"']on[a-z]")
_REFERENCE = re.compile(
    r"&(?:(?:#(?:[0-9]{1,7}|[xX][0-9A-Fa-f]{1,6})|[A-Za-z][A-Za-z0-9]{1,30});)?+"
)
_FORBIDDEN = bytes({*range(0x20), 0x7F, *b">"} - {*b"\t\n"})
_LEADING_LINE = re.compile(r"<pre[^<>]*+>\n")  # which a tree builder drops

_Role = Literal["end", "void", "inline", "block", "rule"]


class Ordinary(Value):
    """Sanitised HTML, and the text of it with a blank wherever a block begins or ends."""

    html: str
    text: str  # its references are still there
    harmless: bool  # nothing in it can be a finding but what is not ASCII


class _Tag(Value):
    name: str
    role: _Role
    written: str  # as the sanitiser writes it
    text: str  # what stands for it in a text
    harmless: bool = True


class _UnordinaryError(Exception):
    """Something that only a tree builder can judge; it never leaves this module."""


def sanitise_ordinary(html: str) -> Ordinary | None:
    """What the sanitiser would make of ordinary markup; None for any other."""
    if len(html) > MAX_CHARS or ("<pre" in html and _LEADING_LINE.search(html)):
        return None
    pieces = _MARKUP.split(html)
    try:
        tags = [_read_tag(piece) for piece in pieces[1::2]]
        _check_nesting(tags)
        if "<table" in html:
            _check_tables(tags, pieces[0::2])
        texts = _rewritten_texts(pieces[0::2])
    except _UnordinaryError:
        return None
    harmless = all([tag.harmless for tag in tags]) and "=" not in "".join(texts)
    pieces[1::2] = [tag.text for tag in tags]
    text = "".join(pieces)
    pieces[0::2] = texts
    pieces[1::2] = [tag.written for tag in tags]
    clean = "".join(pieces)
    if len(clean) > _MAX_GROWTH * len(html):
        return None
    return Ordinary(html=clean, text=text, harmless=harmless)


def _check_nesting(tags: list[_Tag]) -> None:
    """Refuse what a tree builder would close, move or open again."""
    if len(tags) > _MAX_TAGS:
        raise _UnordinaryError
    stack = [""]
    for tag in tags:
        role = tag.role
        if role == "end":
            if stack.pop() != tag.name:
                raise _UnordinaryError
        elif role == "inline":
            stack.append(tag.name)
        elif role != "void":
            _check_start(tag.name, stack)
            if role == "block":
                stack.append(tag.name)
    if stack != [""]:
        raise _UnordinaryError


def _check_start(name: str, stack: list[str]) -> None:
    """Refuse an element where it would close another one, or what would be too deep."""
    if len(stack) > _MAX_DEPTH:
        raise _UnordinaryError
    if name == "a":
        refused = "a" in stack
    elif name in _PARENTS:
        refused = stack[-1] not in _PARENTS[name]
    else:
        refused = "p" in stack or (name in _HEADINGS and stack[-1] in _HEADINGS)
    if refused:
        raise _UnordinaryError


def _check_tables(tags: list[_Tag], texts: list[str]) -> None:
    """Refuse what a tree builder would move out of a table: all but parts of it and white space."""
    stack = [""]
    for tag, text in zip(tags, texts[1:], strict=True):
        if tag.role == "end":
            stack.pop()
        else:
            if stack[-1] in _TABLE_PARTS and stack[-1] not in _PARENTS.get(tag.name, ()):
                raise _UnordinaryError
            if tag.role in ("inline", "block"):
                stack.append(tag.name)
        if stack[-1] in _TABLE_PARTS and text.strip(" \n"):
            raise _UnordinaryError


def _rewritten_texts(texts: list[str]) -> list[str]:
    """The texts with each reference as the sanitiser writes it."""
    joined = "<".join(texts)
    if "\ufffe" in joined or "\uffff" in joined:
        raise _UnordinaryError
    try:
        encoded = joined.encode()
    except UnicodeEncodeError:
        raise _UnordinaryError from None
    if len(encoded.translate(None, _FORBIDDEN)) != len(encoded) or encoded.count(b"<") >= len(texts):
        raise _UnordinaryError
    if "&" not in joined and "\xa0" not in joined:
        return texts
    rewritten = _REFERENCE.sub(_rewritten_reference, joined)
    return rewritten.replace("\xa0", "&nbsp;").split("<")


def _rewritten_reference(found: re.Match[str]) -> str:
    return _reference(found[0])


@lru_cache(maxsize=256)
def _reference(reference: str) -> str:
    """What a reference names, escaped as the sanitiser escapes it in a text."""
    if reference[1:2] == "#":
        digits = reference[2:-1]
        number = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
        named = chr(number) if any(number in numbers for numbers in _CHARACTERS) else ""
    else:
        named = html5.get(reference[1:], "")
    if not named or named < " ":
        raise _UnordinaryError
    return named.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@lru_cache(maxsize=1024)
def _read_tag(tag: str) -> _Tag:
    """The tag as the sanitiser writes it; remembered, because most tags are written again."""
    if found := _LINK.fullmatch(tag):
        written = f'<a href="{found[1]}" rel="{LINK_REL}">'
        return _Tag(name="a", role="block", written=written, text="", harmless=_is_harmless(tag))
    found = _END_TAG.fullmatch(tag)
    if found and _ROLES.get(name := found[1]) in _WITH_END:
        return _Tag(name=name, role="end", written=tag, text=_text_for(name))
    name, blank, attributes = tag[1:-1].partition(" ")
    role = _ROLES.get(name)
    if role is None or len(tag) > _MAX_TAG_CHARS:
        raise _UnordinaryError
    kept, rest = _kept(name, blank + attributes)
    if rest not in ("", " ") and (role in _WITH_END or rest not in ("/", " /")):
        raise _UnordinaryError
    return _Tag(
        name=name,
        role=role,
        written=f"<{name}{kept}>",
        text=_text_for(name),
        harmless=not attributes or _is_harmless(tag),
    )


def _text_for(name: str) -> str:
    return " " if name in BLOCKS else ""


def _is_harmless(tag: str) -> bool:
    """Whether nothing in the tag begins like anything that `suspicious` reports."""
    lowered = tag.lower()
    return not (
        "script" in lowered
        or "data:" in lowered
        or "blob:" in lowered
        or "refresh" in lowered
        or "expression" in lowered
        or "binding" in lowered
        or ("&" in lowered and lowered.count("&") != lowered.count("&amp;"))
        or ("on" in lowered and _HANDLER.search(lowered))
    )


def _kept(name: str, attributes: str) -> tuple[str, str]:
    """The attributes that the allow-list keeps, as the sanitiser writes them; and what is no attribute."""
    *parts, rest = attributes.split('"')
    keys = [_attribute_name(part) for part in parts[0::2]]
    values = parts[1::2]
    if len(keys) != len(values) or len(set(keys)) != len(keys):
        raise _UnordinaryError
    wanted = _WANTED.get(name, ATTRIBUTES["*"])
    kept = "".join([
        f' {key}="{_value(key, value)}"'
        for key, value in zip(keys, values, strict=True)
        if key in wanted
    ])
    if name == "a":
        if "href" not in keys: raise _UnordinaryError
        kept += _REL
    return kept, rest


@lru_cache(maxsize=256)
def _attribute_name(written: str) -> str:
    """The name in ` name=`."""
    found = _ATTRIBUTE_NAME.fullmatch(written)
    if found is None:
        raise _UnordinaryError
    return found[1]


def _value(key: str, value: str) -> str:
    if key in _ADDRESSES:
        if _ADDRESS.fullmatch(value.replace("&amp;", "")):
            return value
        raise _UnordinaryError
    if not value.isprintable():
        raise _UnordinaryError
    if "&" not in value:
        return value
    rewritten = _REFERENCE.sub(_rewritten_reference, value)
    return rewritten.replace("\xa0", "&nbsp;").replace('"', "&quot;")


_WITH_END = ("inline", "block")
_ROLES: dict[str, _Role] = {
    **dict.fromkeys(_INLINE, "inline"),
    **dict.fromkeys(("a", *_HOLDING, *_HEADINGS, *_PARENTS, "table"), "block"),
    **dict.fromkeys(_VOID, "void"),
    "hr": "rule",
}
_WANTED = {name: names | ATTRIBUTES["*"] for name, names in ATTRIBUTES.items()}
# Printable ASCII; then all but controls, surrogates and what is no character.
_CHARACTERS = (range(0x20, 0x7F), range(0xA0, 0xD800), range(0xE000, 0xFDD0), range(0xFDF0, 0xFFFE),
    range(0x1F000, 0x1FAFF))
