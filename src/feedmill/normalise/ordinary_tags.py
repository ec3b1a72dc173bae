"""One tag of ordinary markup: what it is, and how the sanitiser would write it.

Everything here is a list of what is known to be simple. What is not on it is an
`UnordinaryError`, which means no more than "ask the sanitiser".
"""

import re
from functools import lru_cache
from html.entities import html5
from typing import Literal

from feedmill.model.base import Value
from feedmill.normalise.allowlist import ATTRIBUTES, LINK_REL
from feedmill.normalise.markup import BLOCKS

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


class UnordinaryError(Exception):
    """Something that only a tree builder can judge; it never leaves `ordinary`."""


def read_tag(written: str) -> Tag:
    """The tag that is written so; an `UnordinaryError` when only a tree builder can tell."""
    return _remembered.get(written) or _read_tag(written)


def rewritten_references(text: str) -> str:
    """The text with each reference as the sanitiser writes it, a no-break space too."""
    if "&" in text:
        text = _REFERENCE.sub(_rewritten_reference, text)
    return text.replace("\xa0", "&nbsp;")


def _read_tag(written: str) -> Tag:
    """The tag as the sanitiser writes it; remembered where the next content may have it too."""
    if found := _LINK.fullmatch(written):
        html = f'<a href="{found[1]}"{_REL}>'
        return Tag(name="a", role="block", written=html, text="", harmless=_is_harmless(written))
    tag = _end_tag(written) if written.startswith("</") else _start_tag(written)
    if len(written) <= _LONGEST_REMEMBERED and "://" not in written:
        if len(_remembered) >= _MAX_REMEMBERED:
            _remembered.clear()
        _remembered[written] = tag
    return tag


def _end_tag(written: str) -> Tag:
    name = written[2:-1]
    if _ROLES.get(name) not in WITH_END:
        raise UnordinaryError
    return Tag(name=name, role="end", written=written, text=_text_for(name))


def _start_tag(written: str) -> Tag:
    name = written[1:-1].partition(" ")[0].removesuffix("/")
    attributes = written[1 + len(name) : -1]
    role = _ROLES.get(name)
    if role is None or len(written) > _MAX_TAG_CHARS:
        raise UnordinaryError
    kept, rest = _kept(name, attributes)
    if rest not in ("", " ") and (role in WITH_END or rest not in ("/", " /")):
        raise UnordinaryError
    return Tag(
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
    parts = attributes.split('"')
    rest = parts.pop()
    keys = list(map(_attribute_name, parts[0::2]))
    if len(parts) % 2 or len(set(keys)) != len(keys):
        raise UnordinaryError
    if name == "a" and "href" not in keys:  # else a rel could be the larger part of the markup
        raise UnordinaryError
    wanted = _WANTED.get(name, ATTRIBUTES["*"])
    kept = _REL if name == "a" else ""
    if not wanted.isdisjoint(keys):
        pairs = zip(keys, parts[1::2], strict=True)
        shown = [f' {key}="{_value(key, value)}"' for key, value in pairs if key in wanted]
        kept = "".join(shown) + kept
    return kept, rest


@lru_cache(maxsize=256)
def _attribute_name(written: str) -> str:
    """The name in ` name=`."""
    found = _ATTRIBUTE_NAME.fullmatch(written)
    if found is None:
        raise UnordinaryError
    return found[1]


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

_ATTRIBUTE_NAME = re.compile(r"[ \n]++([a-z][a-z0-9_:-]*+)=")
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
