"""The first XML syntax error of a document, with line and column."""

import re
from typing import Final

from lxml import etree

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.fetch import RawDocument
from feedmill.parse.input.encoding import decode
from feedmill.parse.input.sniff import kind_of
from feedmill.parse.xml.prolog import Prolog, read_prolog
from feedmill.parse.xml.tree import strict_parser

_DEFAULTS: Final = ParseLimits()
_MOST_WORDS: Final = 200
_NOT_A_LINE_END: Final = re.compile(rb"[^\n]")


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
        etree.fromstring(_without_doctype(utf8, read_prolog(utf8, 0)), strict_parser())
    except etree.XMLSyntaxError as problem:
        line, column = problem.position
        # The parser adds where it was; that stands beside the words already.
        words = problem.msg.partition(", line ")[0]
        return XmlFault(line=max(line, 1), column=max(column, 1), message=words[:_MOST_WORDS])
    return None


def _without_doctype(utf8: bytes, prolog: Prolog) -> bytes:
    """The same text without a DOCTYPE; its line ends stay, because lines are counted."""
    for start, end in prolog.doctypes:
        blank = _NOT_A_LINE_END.sub(b" ", utf8[start:end])
        utf8 = utf8[:start] + blank + utf8[end:]
    return utf8
