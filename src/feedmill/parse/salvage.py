"""Broken documents: every entry is read from its own slice, so one broken entry costs one entry."""

import re
from typing import Final

from lxml import etree

from feedmill.model.parsed import ParsedEntry
from feedmill.parse import walk
from feedmill.parse.elements import Scope
from feedmill.parse.slices import start_tags
from feedmill.parse.source import Source
from feedmill.parse.xml import parse_strictly, read_fragment

_WRAPPING_BYTES: Final = 50_000_000  # what start tags around broken slices may cost in all
_NAMESPACE: Final = re.compile(rb"""\b(xmlns(?::[A-Za-z_][\w.-]*)?)=(?:"[^"<&]*"|'[^'<&]*')""")
_TAG_NAME: Final = re.compile(rb"<([^\s/>]+)")


def read_head(source: Source) -> etree._Element | None:
    """The root of the document without its entries: a broken entry cannot disturb the feed."""
    return read_fragment(source.text_with([]))


def read_slices(source: Source, numbers: list[int], scope: Scope) -> tuple[ParsedEntry, ...]:
    """Every entry from its own bytes, wrapped in the start tags around it for their namespaces."""
    before, after = _wrapping(source, len(numbers))
    entries: list[ParsedEntry] = []
    for number in numbers:
        start, end = source.spans[number]
        element = _read_slice(before + source.utf8[start:end] + after)
        if element is not None:
            entries.append(walk.read_entry(element, scope, source.place(number)))
    return tuple(entries)


def _wrapping(source: Source, count: int) -> tuple[bytes, bytes]:
    tags = start_tags(source.utf8, source.root, source.spans[0][0])
    if sum(map(len, tags)) * count > _WRAPPING_BYTES:
        return b"<feed>", b"</feed>"
    names = [found[1] for tag in tags if (found := _TAG_NAME.match(tag))]
    before = b"".join([tag.removesuffix(b"/>").removesuffix(b">") + b">" for tag in tags])
    after = b"".join([b"</" + name + b">" for name in reversed(names)])
    if parse_strictly(before + after) is not None:
        return before, after
    # A start tag that is broken itself would break every entry: only its namespaces are kept.
    spaces = {found[1]: found.group() for found in _NAMESPACE.finditer(before)}
    return b"<feed " + b" ".join(spaces.values()) + b">", b"</feed>"


def _read_slice(wrapped: bytes) -> etree._Element | None:
    root = read_fragment(wrapped)
    inside = root.iterdescendants("*") if root is not None else ()
    return next((one for one in inside if _is_entry(one.tag)), None)


def _is_entry(tag: str) -> bool:
    return tag.rpartition("}")[2].rpartition(":")[2].lower() in ("item", "entry")
