"""From UTF-8 to a tree: strictly first, then with repairs, never with entities (D16).

lxml, hardened: no entities, no DTD, no network, no XInclude, no huge trees. `collect_ids` stays
at its default on purpose: with `collect_ids=False`, lxml 6.1.3 opens files that a DOCTYPE names,
whatever the other switches say.
"""

import re
from html.entities import html5
from typing import Final

from lxml import etree

from feedmill.model.base import Value
from feedmill.model.parsed import Repair

_CUT: Final = frozenset(
    {
        etree.ErrorTypes.ERR_TAG_NOT_FINISHED,
        etree.ErrorTypes.ERR_CDATA_NOT_FINISHED,
        etree.ErrorTypes.ERR_COMMENT_NOT_FINISHED,
        etree.ErrorTypes.ERR_ATTRIBUTE_NOT_FINISHED,
        etree.ErrorTypes.ERR_GT_REQUIRED,
        etree.ErrorTypes.ERR_LTSLASH_REQUIRED,
        etree.ErrorTypes.ERR_DOCUMENT_EMPTY,
    }
)
_HARMLESS: Final = frozenset(
    {etree.ErrorTypes.ERR_DOCUMENT_END, etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE}
)
_MAX_MENDED: Final = 200_000  # beyond this the recovering parser, which is all C, does the rest

_ILLEGAL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_OPAQUE: Final = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_REFERENCE: Final = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos);)(?:#([0-9]{1,8}|[xX][0-9A-Fa-f]{1,7});|([A-Za-z][A-Za-z0-9]{1,31});)?"
)
# &#128; to &#159; are what old Windows programs wrote for windows-1252; feeds still carry them.
_C1_REFERENCE: Final = re.compile(rb"&#(?:0*1(?:2[89]|[345][0-9])|[xX]0*[89][0-9A-Fa-f]);")


class Tree(Value):
    """The root element, how it was won, and whether the document ended too early."""

    root: etree._Element
    repairs: tuple[Repair, ...] = ()
    sound: bool = True  # its structure can be trusted
    cut: bool = False
    deep: bool = False


def read_tree(utf8: bytes) -> Tree | None:
    """Parse the bytes, mending what can be mended; None when no element is left."""
    utf8, repairs = _with_windows_characters(utf8)
    root = parse_strictly(utf8)
    if root is not None:
        return Tree(root=root, repairs=repairs)
    mended, more = mend(utf8)
    repairs += more
    root = parse_strictly(mended) if more else None
    if root is not None:
        return Tree(root=root, repairs=repairs)
    return _recovered(mended, repairs)


def parse_strictly(utf8: bytes) -> etree._Element | None:
    """The root of a well-formed document, else None."""
    try:
        return etree.fromstring(utf8, _strict)
    except etree.XMLSyntaxError:
        return None


def mend(utf8: bytes) -> tuple[bytes, tuple[Repair, ...]]:
    """Remove characters that XML forbids and references that it does not know."""
    repairs: list[Repair] = []
    text, illegal = _ILLEGAL.subn("", utf8.decode("utf-8", "replace"))
    if illegal:
        repairs.append(Repair(code="illegal-characters", detail=f"{illegal} removed"))
    counts = {"entities-decoded": 0, "stray-ampersands": 0, "illegal-characters": 0}
    pieces: list[str] = []
    position = 0
    for opaque in _OPAQUE.finditer(text):
        pieces.append(_mend_references(text[position : opaque.start()], counts))
        pieces.append(opaque.group())
        position = opaque.end()
    pieces.append(_mend_references(text[position:], counts))
    if counts["entities-decoded"]:
        repairs.append(
            Repair(code="entities-decoded", detail=f"{counts['entities-decoded']} references")
        )
    if counts["stray-ampersands"]:
        repairs.append(
            Repair(code="stray-ampersands", detail=f"{counts['stray-ampersands']} times")
        )
    if counts["illegal-characters"] and not illegal:
        repairs.append(Repair(code="illegal-characters", detail="as character references"))
    return "".join(pieces).encode("utf-8", "replace"), tuple(repairs)


def recover(utf8: bytes) -> tuple[etree._Element | None, frozenset[int]]:
    """Whatever tree the recovering parser can build, and the kinds of errors it met."""
    parser = _parser(recovering=True)
    try:
        root = etree.fromstring(utf8, parser)
    except etree.XMLSyntaxError:
        root = None
    return root, frozenset(error.type for error in parser.error_log)


def _parser(*, recovering: bool) -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8",
        recover=recovering,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


_strict: Final = _parser(recovering=False)


def _recovered(mended: bytes, repairs: tuple[Repair, ...]) -> Tree | None:
    root, errors = recover(mended)
    if root is None:
        return None
    return Tree(
        root=root,
        repairs=repairs + _named(errors),
        sound=not errors - _HARMLESS,
        cut=bool(errors & _CUT),
        deep=etree.ErrorTypes.ERR_RESOURCE_LIMIT in errors,
    )


def _named(errors: frozenset[int]) -> tuple[Repair, ...]:
    types = etree.ErrorTypes
    repairs: list[Repair] = []
    if types.ERR_DOCUMENT_END in errors:
        repairs.append(Repair(code="trailing-junk", detail="after the end of the document"))
    if types.ERR_RESOURCE_LIMIT in errors:
        repairs.append(Repair(code="depth-capped", detail="markup nested deeper than 256 levels"))
    if types.NS_ERR_UNDEFINED_NAMESPACE in errors:
        repairs.append(Repair(code="namespace-guessed", detail="a prefix was never declared"))
    if errors - _HARMLESS - {types.ERR_RESOURCE_LIMIT}:
        repairs.append(Repair(code="markup-recovered", detail="the XML is not well-formed"))
    return tuple(repairs)


def _with_windows_characters(utf8: bytes) -> tuple[bytes, tuple[Repair, ...]]:
    if _C1_REFERENCE.search(utf8) is None:
        return utf8, ()
    mended, count = _C1_REFERENCE.subn(_windows_character, utf8)
    detail = f"{count} references to windows-1252 code points"
    return mended, (Repair(code="entities-decoded", detail=detail),)


def _windows_character(found: re.Match[bytes]) -> bytes:
    number = found.group()[2:-1].lower()
    code = int(number[1:], 16) if number.startswith(b"x") else int(number)
    return bytes([code]).decode("cp1252", "replace").encode()


def _mend_references(text: str, counts: dict[str, int]) -> str:
    if "&" not in text:
        return text

    def mend_one(found: re.Match[str]) -> str:
        number, name = found.groups()
        if number is not None:
            return _mend_number(found.group(), number, counts)
        character = html5.get(name + ";") if name is not None else None
        if character is not None:
            counts["entities-decoded"] += 1
            return character.replace("&", "&amp;").replace("<", "&lt;")
        counts["stray-ampersands"] += 1
        return "&amp;" + found.group()[1:]

    return _REFERENCE.sub(mend_one, text, count=_MAX_MENDED)


def _mend_number(reference: str, number: str, counts: dict[str, int]) -> str:
    code = int(number[1:], 16) if number[0] in "xX" else int(number)
    legal = 0x20 <= code < 0xD800 or code in (9, 10, 13) or 0xE000 <= code < 0xFFFE
    if legal or 0x10000 <= code <= 0x10FFFF:
        return reference
    counts["illegal-characters"] += 1
    return ""
