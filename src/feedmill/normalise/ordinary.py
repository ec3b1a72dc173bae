"""Ordinary markup, sanitised without building a tree: the very text the sanitiser would write.

Most contents are finished lower-case tags, closed in order, with quoted attributes and absolute
addresses. A tree builder makes of them what they already are, and dropping attributes is all that
is left to do. Only what is named here is taken: of anything else the answer is None, and the
sanitiser has the word. Wherever this module answers, nh3 gives the same: the tests hold that law.
"""

import re
from functools import lru_cache
from html.entities import html5
from typing import Literal

from feedmill.model.base import Value
from feedmill.normalise.allowlist import ATTRIBUTES, LINK_REL
from feedmill.normalise.markup import BLOCKS
from feedmill.normalise.nesting import SMALL_CHARS, SMALL_TAGS

_MAX_DEPTH = 40
_MAX_TAG_CHARS = 2_048
_MAX_GROWTH = 4  # no-break spaces are written as references
_MAX_REMEMBERED = 2_048
_LONGEST_REMEMBERED = 100

_Role = Literal["end", "void", "rule", "inline", "block"]


class Ordinary(Value):
    """Sanitised HTML, and the text of it with a blank wherever a block begins or ends."""

    html: str
    text: str  # its references are still there
    harmless: bool  # nothing in it looks like an attack, but for characters beyond ASCII


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
    if len(html) > SMALL_CHARS or ("<pre" in html and _LEADING_LINE.search(html)):
        return None
    pieces = _MARKUP.split(html)
    try:
        tags = [_remembered.get(piece) or _read_tag(piece) for piece in pieces[1::2]]
        _check_nesting(tags)
        if "<table" in html:
            _check_tables(tags, pieces[0::2])
        texts = _rewritten_texts(pieces[0::2])
    except _UnordinaryError:
        return None
    return _assembled(pieces, tags, texts)


def _assembled(pieces: list[str], tags: list[_Tag], texts: list[str]) -> Ordinary | None:
    chars = sum(map(len, pieces))
    pieces[1::2] = [tag.text for tag in tags]
    text = "".join(pieces)
    pieces[0::2] = texts
    pieces[1::2] = [tag.written for tag in tags]
    html = "".join(pieces)
    if len(html) > _MAX_GROWTH * chars:
        return None
    harmless = "=" not in text and all([tag.harmless for tag in tags])
    return Ordinary(html=html, text=text, harmless=harmless)


def _check_nesting(tags: list[_Tag]) -> None:
    """Refuse what a tree builder would close, move or open again (HTML §13.2.6.4.7)."""
    if len(tags) > SMALL_TAGS:
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
    if len(stack) != 1:
        raise _UnordinaryError


def _check_start(name: str, stack: list[str]) -> None:
    """Refuse an element where it would close another one, and one that stands too deep."""
    if name == "a":
        refused = "a" in stack
    elif name in _PARENTS:
        refused = stack[-1] not in _PARENTS[name]
    else:
        refused = "p" in stack or (name in _HEADINGS and stack[-1] in _HEADINGS)
    if refused or len(stack) > _MAX_DEPTH:
        raise _UnordinaryError


def _check_tables(tags: list[_Tag], texts: list[str]) -> None:
    """Refuse what a tree builder would move out of a table: all but its parts and white space."""
    stack = [""]
    for tag, text in zip(tags, texts[1:], strict=True):
        if tag.role == "end":
            stack.pop()
        elif stack[-1] in _TABLE_PARTS and stack[-1] not in _PARENTS.get(tag.name, ()):
            raise _UnordinaryError
        elif tag.role in _WITH_END:
            stack.append(tag.name)
        if stack[-1] in _TABLE_PARTS and text.strip(" \n"):
            raise _UnordinaryError


def _rewritten_texts(texts: list[str]) -> list[str]:
    """The texts with each reference as the sanitiser writes it."""
    joined = "<".join(texts)
    try:
        encoded = joined.encode()
    except UnicodeEncodeError:
        raise _UnordinaryError from None
    # In UTF-8 these bytes stand for nothing else, and removing them is the fastest search.
    if len(encoded.translate(None, _FORBIDDEN)) != len(encoded) - len(texts) + 1:
        raise _UnordinaryError
    if "\ufffe" in joined or "\uffff" in joined:
        raise _UnordinaryError
    if "&" in joined:
        joined = _REFERENCE.sub(_rewritten_reference, joined)
    elif "\xa0" not in joined:
        return texts
    return joined.replace("\xa0", "&nbsp;").split("<")


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
    if named < " ":  # nothing, or white space that is no blank
        raise _UnordinaryError
    return named.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _read_tag(written: str) -> _Tag:
    """The tag as the sanitiser writes it; remembered where the next content may have it too."""
    if found := _LINK.fullmatch(written):
        html = f'<a href="{found[1]}"{_REL}>'
        return _Tag(name="a", role="block", written=html, text="", harmless=_is_harmless(written))
    tag = _end_tag(written) if written.startswith("</") else _start_tag(written)
    if len(written) <= _LONGEST_REMEMBERED and "://" not in written:
        if len(_remembered) >= _MAX_REMEMBERED:
            _remembered.clear()
        _remembered[written] = tag
    return tag


def _end_tag(written: str) -> _Tag:
    name = written[2:-1]
    if _ROLES.get(name) not in _WITH_END:
        raise _UnordinaryError
    return _Tag(name=name, role="end", written=written, text=_text_for(name))


def _start_tag(written: str) -> _Tag:
    name = written[1:-1].partition(" ")[0].removesuffix("/")
    attributes = written[1 + len(name) : -1]
    role = _ROLES.get(name)
    if role is None or len(written) > _MAX_TAG_CHARS:
        raise _UnordinaryError
    kept, rest = _kept(name, attributes)
    if rest not in ("", " ") and (role in _WITH_END or rest not in ("/", " /")):
        raise _UnordinaryError
    return _Tag(
        name=name,
        role=role,
        written=f"<{name}{kept}>",
        text=_text_for(name),
        harmless=not attributes or _is_harmless(written),
    )


def _text_for(name: str) -> str:
    return " " if name in BLOCKS else ""


def _is_harmless(written: str) -> bool:
    """Whether the tag holds none of the words without which `suspicious` has nothing to report."""
    lowered = written.lower()
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
    """The attributes that the allow-list keeps, as the sanitiser writes them, and what is left."""
    *parts, rest = attributes.split('"')
    keys = [_attribute_name(part) for part in parts[0::2]]
    values = parts[1::2]
    if len(keys) != len(values) or len(set(keys)) != len(keys):
        raise _UnordinaryError
    wanted = _WANTED.get(name, ATTRIBUTES["*"])
    pairs = [
        f' {key}="{_value(key, value)}"'
        for key, value in zip(keys, values, strict=True)
        if key in wanted
    ]
    if name == "a":
        if "href" not in keys:  # so that a rel never grows into the larger part of the markup
            raise _UnordinaryError
        pairs.append(_REL)
    return "".join(pairs), rest


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


# Only elements for which a tree builder has no rules but those in `_check_start`.
_INLINE = (
    *("abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "i", "ins"),
    *("kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time"),
    *("tt", "u", "var"),
)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_HOLDERS = (
    *("a", "address", "article", "aside", "blockquote", "center", "div", "dl", "figcaption"),
    *("figure", "footer", "header", "nav", "ol", "p", "pre", "section", "table", "ul"),
)
# Where these must stand.
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
_ROLES: dict[str, _Role] = {
    **dict.fromkeys(_INLINE, "inline"),
    **dict.fromkeys((*_HOLDERS, *_HEADINGS, *_PARENTS), "block"),
    **dict.fromkeys(("br", "img", "wbr"), "void"),
    "hr": "rule",
}
_WITH_END = ("inline", "block")

_WANTED = {name: names | ATTRIBUTES["*"] for name, names in ATTRIBUTES.items()}
_ADDRESSES = frozenset({"href", "src"})
_REL = f' rel="{LINK_REL}"'

_MARKUP = re.compile(r"(<[^<>]*>)")
_LEADING_LINE = re.compile(r"<pre[^<>]*+>\n")  # which a tree builder drops
_ATTRIBUTE_NAME = re.compile(r"[ \n]++([a-z][a-z0-9_:-]*+)=")
_HANDLER = re.compile(r"[\s/\"']on[a-z]")
# Whatever follows such a host is a path, a query or a fragment, and none of them can be wrong.
_ADDRESS_PATTERN = (
    r"https?://(?:[a-z0-9]++(?:-[a-z0-9]++)*+\.)++[a-z](?:-?[a-z0-9])*+"
    r"(?:[/?#][!#-%'-;=?-~]*+)?+"
)
_ADDRESS = re.compile(_ADDRESS_PATTERN)
_LINK = re.compile(
    rf'<a href="({_ADDRESS_PATTERN})"(?: (?:class|id|rel|style|target)="[^"<>]{{0,200}}+")*+>'
)
_REFERENCE = re.compile(
    r"&(?:(?:#(?:[0-9]{1,7}|[xX][0-9A-Fa-f]{1,6})|[A-Za-z][A-Za-z0-9]{1,31});)?+"
)
_FORBIDDEN = bytes({*range(0x20), 0x7F, *b"<>"} - {*b"\t\n"})
# Without controls, surrogates and what Unicode calls no character.
_CHARACTERS = (range(0x20, 0x7F), range(0xA0, 0xD800), range(0xE000, 0xFDD0), range(0xFDF0, 0xFFFE))

_remembered: dict[str, _Tag] = {}
