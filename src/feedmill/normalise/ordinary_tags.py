"""One tag of ordinary markup: what it is, and how the sanitiser would write it.

Everything here is a list of what is known to be simple. What is not on it is an
`UnordinaryError`, which means no more than "ask the sanitiser".
"""

import re
from functools import lru_cache
from html.entities import html5
from typing import Literal

from feedmill.model.base import Value
from feedmill.normalise.html.allowlist import ATTRIBUTES, LINK_REL
from feedmill.normalise.html.tokens import BLOCKS

_MAX_TAG_CHARS = 2_048
_MAX_REMEMBERED = 2_048
_LONGEST_REMEMBERED = 100

Role = Literal["end", "void", "rule", "inline", "block"]


class Tag(Value):
    """A start or end tag and what stands for it."""

    name: str
    role: Role
    written: str  # as the sanitiser writes it
    text: str  # what stands for it in a text
    harmless: bool = True


class _Shape(Value):
    """A start tag without its values."""

    name: str
    role: Role
    kept: tuple[tuple[str, int], ...]  # names, and where their values are after splitting at quotes
    rel: str


class UnordinaryError(Exception):
    """Something that only a tree builder can judge; it never leaves `ordinary`."""


def read_tag(written: str) -> Tag:
    """The tag that is written so; an `UnordinaryError` when only a tree builder can tell.

    What the next content may have too is remembered: ask `remembered_tag` first.
    """
    if found := _LINK.fullmatch(written):
        html = f'<a href="{found[1]}"{_REL}>'
        return Tag(name="a", role="block", written=html, text="", harmless=_is_harmless(written))
    tag = _end_tag(written) if written.startswith("</") else _start_tag(written)
    if len(written) <= _LONGEST_REMEMBERED and "://" not in written:
        if len(_remembered) >= _MAX_REMEMBERED:
            _remembered.clear()
        _remembered[written] = tag
    return tag


def rewritten_references(text: str) -> str:
    """The text with each reference as the sanitiser writes it, a no-break space too."""
    if "&" in text:
        text = _REFERENCE.sub(_rewritten_reference, text)
    return text.replace("\xa0", "&nbsp;")


def _end_tag(written: str) -> Tag:
    name = written[2:-1]
    if _ROLES.get(name) not in WITH_END:
        raise UnordinaryError
    return Tag(name=name, role="end", written=written, text=_text_for(name))


def _start_tag(written: str) -> Tag:
    if len(written) > _MAX_TAG_CHARS or written.count('"') % 2:
        raise UnordinaryError
    parts = written.split('"')
    shape = _shape('""'.join(parts[0::2]))
    values = "".join([f' {key}="{_value(key, parts[place])}"' for key, place in shape.kept])
    return Tag(
        name=shape.name,
        role=shape.role,
        written=f"<{shape.name}{values}{shape.rel}>",
        text=_text_for(shape.name),
        harmless=len(parts) == 1 or _is_harmless(written),
    )


@lru_cache(maxsize=1024)
def _shape(written: str) -> _Shape:
    """What is to be known of a tag whose values are left out: most tags differ in nothing else."""
    found = _START_TAG.fullmatch(written)
    role = _ROLES.get(found[1]) if found else None
    if found is None or role is None or (found[3] and role in WITH_END):
        raise UnordinaryError
    name, keys = found[1], _ATTRIBUTE_NAME.findall(found[2])
    if len(set(keys)) != len(keys):
        raise UnordinaryError
    if name == "a" and "href" not in keys:  # else a rel could be the larger part of the markup
        raise UnordinaryError
    wanted = _WANTED.get(name, ATTRIBUTES["*"])
    kept = tuple((key, 2 * place + 1) for place, key in enumerate(keys) if key in wanted)
    return _Shape(name=name, role=role, kept=kept, rel=_REL if name == "a" else "")


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


def _value(key: str, value: str) -> str:
    if key in _ADDRESSES:
        # The stand-in may be part of a path or a query, and of nothing in front of them.
        if _ADDRESS.fullmatch(value.replace("&amp;", "$")):
            return value
        raise UnordinaryError
    if not value.isprintable():
        raise UnordinaryError
    if "&" not in value:
        return value
    return rewritten_references(value).replace('"', "&quot;")


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
        raise UnordinaryError
    return named.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# Only elements for which a tree builder has no rules but those in `_check_start`.
_INLINE = (
    *("abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "i", "ins"),
    *("kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time"),
    *("tt", "u", "var"),
)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_HOLDERS = (
    *("a", "address", "article", "aside", "blockquote", "center", "div", "dl", "figcaption"),
    *("figure", "footer", "header", "nav", "ol", "p", "pre", "section", "table", "ul"),
)
# Where these must stand.
PARENTS = {
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
_ROLES: dict[str, Role] = {
    **dict.fromkeys(_INLINE, "inline"),
    **dict.fromkeys((*_HOLDERS, *HEADINGS, *PARENTS), "block"),
    **dict.fromkeys(("br", "img", "wbr"), "void"),
    "hr": "rule",
}
WITH_END = ("inline", "block")

_WANTED = {name: names | ATTRIBUTES["*"] for name, names in ATTRIBUTES.items()}
_ADDRESSES = frozenset({"href", "src"})
_REL = f' rel="{LINK_REL}"'

_START_TAG = re.compile(r'<([a-z][a-z0-9]*+)((?:[ \n]++[a-z][a-z0-9_:-]*+="")*+) ?(/?)>')
_ATTRIBUTE_NAME = re.compile(r"[a-z][a-z0-9_:-]*+")
_HANDLER = re.compile(r"on(?<=[\s/\"']on)[a-z]")
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
# Without controls, surrogates and what Unicode calls no character.
_CHARACTERS = (
    range(0x20, 0x7F),
    range(0xA0, 0xD800),
    range(0xE000, 0xFDD0),
    range(0xFDF0, 0xFFFE),
    range(0x10000, 0x1FFFE),
)

_remembered: dict[str, Tag] = {}
remembered_tag = _remembered.get
