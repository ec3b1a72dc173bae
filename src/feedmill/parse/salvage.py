"""Broken documents: every entry is read from its own slice, so one broken entry costs one entry."""

import re
from typing import Final

from lxml import etree

from feedmill.model.parsed import ParsedEntry
from feedmill.parse import walk
from feedmill.parse.elements import Scope
from feedmill.parse.slices import start_tags
from feedmill.parse.source import Source
from feedmill.parse.xml import read_fragment

_WRAPPING_BYTES: Final = 50_000_000  # what start tags around broken slices may cost in all
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
        tags = (b"<feed>",)
    names = [found[1] for tag in tags if (found := _TAG_NAME.match(tag))]
    before = b"".join([tag.removesuffix(b"/>").removesuffix(b">") + b">" for tag in tags])
    return before, b"".join([b"</" + name + b">" for name in reversed(names)])


def _read_slice(wrapped: bytes) -> etree._Element | None:
    root = read_fragment(wrapped)
    inside = root.iterdescendants("*") if root is not None else ()
    return next((one for one in inside if _is_entry(one.tag)), None)


def _is_entry(tag: str) -> bool:
    return tag.rpartition("}")[2].rpartition(":")[2].lower() in ("item", "entry")
