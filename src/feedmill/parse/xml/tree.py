"""Parses UTF-8 into an element tree: strictly first, then with repairs, never with entities (D16).

lxml, hardened: no entities, no DTD, no network, no XInclude, no huge trees. `collect_ids` stays
at its default on purpose: with `collect_ids=False`, lxml 6.1.3 opens files that a DOCTYPE names,
whatever the other switches say.
"""

from typing import Final

from lxml import etree
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import Repair
from feedmill.parse.input.encoding import decode
from feedmill.parse.input.sniff import kind_of
from feedmill.parse.xml.names import read_prolog, without_doctype
from feedmill.parse.xml.repair import (
    balance_tags,
    repair_xml,
    with_few_references,
    with_numbers,
    with_windows_characters,
    without_illegal_references,
)

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
MAX_DEPTH: Final = 256  # libxml2 follows no more without its `huge` switch
_MAX_BALANCED: Final = 1_000_000  # a longer piece is left to the recovering parser

_DEFAULTS: Final = ParseLimits()
_MOST_WORDS: Final = 200


class Tree(Value):
    """The root element, how it was won, and whether the document ended too early."""

    root: etree._Element
    repairs: tuple[Repair, ...] = ()
    sound: bool = True  # its structure can be trusted
    cut: bool = False
    deep: bool = False


def read_tree(utf8: bytes, max_depth: int = MAX_DEPTH) -> Tree | None:
    """Parse the bytes, mending what can be mended; None when no element is left."""
    tree = _read_tree(utf8)
    if tree is None or not cap_depth(tree.root, max_depth):
        return tree
    capped = Repair(code="depth-capped", detail=f"more than {max_depth} levels")
    return replace(tree, repairs=(*tree.repairs, capped))


def cap_depth(root: etree._Element | None, most: int) -> bool:
    """Remove the elements that are nested deeper; True when there were any."""
    if root is None or most >= MAX_DEPTH:
        return False
    is_capped, left = False, [(root, 1)]
    while left:
        element, depth = left.pop()
        if depth < most:
            left += [(child, depth + 1) for child in element]
        elif len(element):
            is_capped = True
            del element[:]
    return is_capped


def _read_tree(utf8: bytes) -> Tree | None:
    utf8, repairs = with_windows_characters(utf8)
    root = parse_strictly(utf8)
    if root is not None:
        return Tree(root=root, repairs=repairs)
    mended, more = repair_xml(utf8)
    repairs += more
    root = parse_strictly(mended) if more else None
    if root is not None:
        return Tree(root=root, repairs=repairs)
    return _recovered(mended, repairs)


def parse_strictly(utf8: bytes) -> etree._Element | None:
    """The root of a well-formed document, else None."""
    try:
        return etree.fromstring(utf8, strict_parser())
    except etree.XMLSyntaxError:
        return None


def read_fragment(utf8: bytes) -> etree._Element | None:
    """The root of a piece of a broken document: what was left open in it is closed."""
    utf8, _ = with_windows_characters(utf8)
    root = parse_strictly(utf8)
    return root if root is not None else read_broken(utf8)


def read_broken(utf8: bytes) -> etree._Element | None:
    """The same for a piece that is known not to be well-formed."""
    mended, _ = repair_xml(utf8)
    root = parse_strictly(mended)
    if root is not None:
        return root
    if len(mended) <= _MAX_BALANCED:
        mended = balance_tags(mended)
    return _recover(mended, _parser(recovering=True))


def read_without_repair(utf8: bytes) -> etree._Element | None:
    """The same without any mending: what the recovering parser makes of it."""
    return _recover(with_few_references(utf8), _parser(recovering=True))


def strict_parser() -> etree.XMLParser:
    """A new hardened parser.

    One for each document: a parser carries the dictionary of names of the thread that used it
    last into the next one, so that no thread's end would free it. It costs 2 µs.
    """
    return _parser(recovering=False)


class XmlFault(Value):
    """The first place that breaks the rules of XML; lines and columns are counted from 1."""

    line: int
    column: int
    message: str


def first_xml_fault(document: RawDocument, limits: ParseLimits = _DEFAULTS) -> XmlFault | None:
    """The first fault of a markup document; None when there is none, or when it is no markup."""
    if len(document.body) > limits.max_bytes or kind_of(document.body) not in ("markup", "html"):
        return None
    utf8 = decode(document.body, document.content_type, limits).utf8
    try:
        etree.fromstring(without_doctype(utf8, read_prolog(utf8, 0)), strict_parser())
    except etree.XMLSyntaxError as problem:
        line, column = problem.position
        # The parser adds where it was; that stands beside the words already.
        words = problem.msg.partition(", line ")[0]
        return XmlFault(line=max(line, 1), column=max(column, 1), message=words[:_MOST_WORDS])
    return None


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


def _recover(utf8: bytes, parser: etree.XMLParser) -> etree._Element | None:
    """Whatever tree the recovering parser can build."""
    try:
        root = etree.fromstring(with_numbers(without_illegal_references(utf8)), parser)
    except etree.XMLSyntaxError:
        return None
    if root is not None:
        # A reference that `mend` did not see would be a node of its own, which no handler expects.
        etree.strip_elements(root, etree.Entity, with_tail=False)
    return root


def _recovered(mended: bytes, repairs: tuple[Repair, ...]) -> Tree | None:
    parser = _parser(recovering=True)  # of its own, because its log is read
    root = _recover(mended, parser)
    if root is None:
        return None
    errors = frozenset(error.type for error in parser.error_log)
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
        repairs.append(
            Repair(
                code="depth-capped", detail=f"more than {MAX_DEPTH} levels, or 10 MB in one text"
            )
        )
    if types.NS_ERR_UNDEFINED_NAMESPACE in errors:
        repairs.append(Repair(code="namespace-guessed", detail="a prefix was never declared"))
    if errors - _HARMLESS - {types.ERR_RESOURCE_LIMIT}:
        repairs.append(Repair(code="markup-recovered", detail="the XML is not well-formed"))
    return tuple(repairs)
