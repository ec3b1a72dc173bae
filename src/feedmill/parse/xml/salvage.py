"""Salvages broken documents: every entry is read from its own slice, so one broken entry costs one entry."""

import re
from typing import Final

from lxml import etree

from feedmill.model.base import Value
from feedmill.model.parsed import ParsedEntry
from feedmill.parse.xml import handlers
from feedmill.parse.xml.elements import ElementScope
from feedmill.parse.xml.repair import with_windows_characters
from feedmill.parse.xml.slices import start_tags
from feedmill.parse.xml.source import MarkupSource
from feedmill.parse.xml.tree import (
    cap_depth,
    parse_strictly,
    read_broken,
    read_fragment,
    read_without_repair,
)

_MAX_HEAD: Final = 1_000_000  # bytes of a document without its entries
_WRAPPING_BYTES: Final = 10_000_000  # what start tags around slices may cost in all
# So much of what is not well-formed is repaired; more than that is no mistake.
_MENDED_SLICES: Final = 2_000
_MENDED_BYTES: Final = 4_000_000
_MENDED_TAGS: Final = 30_000
_NAMESPACE: Final = re.compile(rb"""\b(xmlns(?::[A-Za-z_][\w.-]*)?)=(?:"[^"<&]*"|'[^'<&]*')""")
_TAG_NAME: Final = re.compile(rb"<([^\s/>]+)")


class Salvaged(Value):
    """Entries, and how many of them were broken and too many to mend."""

    entries: tuple[ParsedEntry, ...]
    hasty: int = 0


def read_root_without_entries(source: MarkupSource) -> etree._Element | None:
    """The root of the document without its entries: a broken entry cannot disturb the feed."""
    head = source.text_with([])
    return read_fragment(head) if len(head) <= _MAX_HEAD else None


def read_slices(source: MarkupSource, numbers: list[int], scope: ElementScope) -> Salvaged:
    """Every entry from its own bytes, wrapped in the start tags around it for their namespaces."""
    before, after = _wrapping(source, len(numbers))
    entries: list[ParsedEntry] = []
    patience = _RepairBudget()
    for number in numbers:
        start, end = source.spans[number]
        wrapped, _ = with_windows_characters(before + source.utf8[start:end] + after)
        root = patience.read(wrapped)
        if cap_depth(root, scope.limits.max_xml_depth):
            scope.notes.add("depth-capped")
        element = _entry_in(root)
        if element is not None:
            entries.append(handlers.read_entry(element, scope, source.place(number)))
    return Salvaged(entries=tuple(entries), hasty=patience.hasty)


class _RepairBudget:
    """How many more broken slices are worth mending."""

    __slots__ = ("hasty", "size", "slices", "tags")

    def __init__(self) -> None:
        self.slices, self.size, self.tags = _MENDED_SLICES, _MENDED_BYTES, _MENDED_TAGS
        self.hasty = 0

    def read(self, piece: bytes) -> etree._Element | None:
        """The root of a piece: mended if need be, or in haste once there were too many."""
        root = parse_strictly(piece) if self.hasty == 0 else None
        if root is not None:
            return root
        self.slices -= 1
        self.size -= len(piece)
        self.tags -= piece.count(b"<")
        if min(self.slices, self.size, self.tags) >= 0:
            return read_broken(piece)
        self.hasty += 1
        return read_without_repair(piece)


def _wrapping(source: MarkupSource, count: int) -> tuple[bytes, bytes]:
    """What to write around a slice: the start tags as they are, else only their namespaces."""
    tags = start_tags(source.utf8, source.root, source.spans[0][0])
    most = _WRAPPING_BYTES // max(count, 1)
    names = [found[1] for tag in tags if (found := _TAG_NAME.match(tag))]
    before = b"".join([tag.removesuffix(b"/>").removesuffix(b">") + b">" for tag in tags])
    after = b"".join([b"</" + name + b">" for name in reversed(names)])
    if len(before) <= most and parse_strictly(before + after) is not None:
        return before, after
    # A start tag that is broken itself would break every entry.
    spaces = {found[1]: found.group() for found in _NAMESPACE.finditer(before)}
    before = b"<feed " + b" ".join(spaces.values()) + b">"
    return (before if len(before) <= most else b"<feed>"), b"</feed>"


def _entry_in(root: etree._Element | None) -> etree._Element | None:
    inside = root.iterdescendants("*") if root is not None else ()
    return next((one for one in inside if _is_entry(one.tag)), None)


def _is_entry(tag: str) -> bool:
    return tag.rpartition("}")[2].rpartition(":")[2].lower() in ("item", "entry")
