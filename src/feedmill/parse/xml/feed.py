"""Parses RSS and Atom documents: the tree, the slices of the entries, and their values.

A sound tree gives the entries; a broken document gives them slice by slice. Entries that the
caller knows are cut out before the tree is built (D31).

Salvages broken documents: every entry is read from its own slice, so one broken entry costs one entry.
"""

import re
from typing import Any, Final

from lxml import etree
from msgspec.structs import replace

from feedmill.config import ParseLimits
from feedmill.model.base import Value
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import (
    KnownSlices,
    ParsedEntry,
    ParsedFeed,
    Repair,
    RepairCode,
    Unreadable,
)
from feedmill.parse.input import sniff
from feedmill.parse.input.encoding import Decoded
from feedmill.parse.xml import handlers
from feedmill.parse.xml.elements import ElementScope
from feedmill.parse.xml.repair import with_windows_characters
from feedmill.parse.xml.slices import Scan, start_tags
from feedmill.parse.xml.source import MarkupSource, prepare_source, realign_spans
from feedmill.parse.xml.tree import (
    Tree,
    cap_depth,
    parse_strictly,
    read_broken,
    read_fragment,
    read_tree,
    read_without_repair,
)

_ROOT_NAME: Final = re.compile(rb"<([^\s/>]+)")
_INHERITED: Final = re.compile(rb"xml:(?:base|lang)")
_NOTES: Final[dict[RepairCode, str]] = {
    "values-capped": "an entry repeats an element more often than the limit",
    "namespace-guessed": "a well-known prefix is bound to an unknown namespace",
    "depth-capped": "an entry is nested deeper than the limit",
    "items-salvaged": "entries were read one by one from a broken document",
}
_MAX_HEAD: Final = 1_000_000  # bytes of a document without its entries
_WRAPPING_BYTES: Final = 10_000_000  # what start tags around slices may cost in all
# So much of what is not well-formed is repaired; more than that is no mistake.
_MENDED_SLICES: Final = 2_000
_MENDED_BYTES: Final = 4_000_000
_MENDED_TAGS: Final = 30_000
_NAMESPACE: Final = re.compile(rb"""\b(xmlns(?::[A-Za-z_][\w.-]*)?)=(?:"[^"<&]*"|'[^'<&]*')""")
_TAG_NAME: Final = re.compile(rb"<([^\s/>]+)")


class _Job(Value):
    """A document to read, and how."""

    document: RawDocument
    decoded: Decoded
    limits: ParseLimits
    known: KnownSlices


class _Reading(Value):
    """A document that turned out to be a feed: its tree, its entries, and which of them to read."""

    job: _Job
    source: MarkupSource
    text: bytes  # of what is read
    tree: Tree
    containers: list[etree._Element]
    elements: list[etree._Element]
    fresh: list[int]


def parse_markup(
    document: RawDocument,
    decoded: Decoded,
    limits: ParseLimits,
    known: KnownSlices,
    scan: Scan | None = None,
) -> ParsedFeed | Unreadable:
    """Read an XML feed, well-formed or not; `scan` is given when its bytes were scanned already."""
    source = prepare_source(document, decoded, limits.max_items, known, scan)
    if source is None:
        return Unreadable(reason="malformed", detail="markup without an element")
    job = _Job(document=document, decoded=decoded, limits=limits, known=known)
    reading = _without_known(job, source) or _whole(job, source)
    return _read(reading) if isinstance(reading, _Reading) else reading


def _without_known(job: _Job, source: MarkupSource) -> _Reading | None:
    """The reading of new entries alone; None when the tree does not bear out the scan."""
    fresh = source.unknown(job.known)
    if len(fresh) == len(source.spans) or not source.scan.regular:
        return None
    text = source.text_with(fresh)
    tree = read_tree(text, job.limits.max_xml_depth)
    if tree is None or handlers.format_of(tree.root) is None:
        return None
    containers, elements = handlers.split_entries(tree.root)
    if tree.sound and not _agree(source, elements, len(fresh)):
        return None
    return _reading(
        job, source, text if tree.sound else source.utf8, tree, containers, elements, fresh
    )


def _whole(job: _Job, source: MarkupSource) -> _Reading | Unreadable:
    """The reading of a whole document; entries that are known are still not read again."""
    tree = read_tree(source.utf8[source.start :], job.limits.max_xml_depth)
    if tree is None:
        return Unreadable(reason="malformed", detail="no element could be read")
    if handlers.format_of(tree.root) is None:
        head = source.utf8[source.start : source.start + 200_000]
        return sniff.classify_root(tree.root.tag, head.decode("utf-8", "replace"))
    containers, elements = handlers.split_entries(tree.root)
    if tree.sound and not _agree(source, elements, len(source.spans)):
        most = job.limits.max_items
        source = realign_spans(source, tree.root, elements, job.decoded, job.document, most)
    fresh = source.unknown(job.known)
    if tree.sound and source.spans:
        elements = [elements[number] for number in fresh]
    return _reading(job, source, source.utf8, tree, containers, elements, fresh)


def _reading(
    job: _Job,
    source: MarkupSource,
    text: bytes,
    tree: Tree,
    containers: list[etree._Element],
    elements: list[etree._Element],
    fresh: list[int],
) -> _Reading:
    """A broken document's head takes the place of its tree, which would stay in memory."""
    head = read_root_without_entries(source) if source.spans and not tree.sound else None
    if head is not None:
        tree, containers, elements = replace(tree, root=head), handlers.split_entries(head)[0], []
    return _Reading(
        job=job,
        source=source,
        text=text,
        tree=tree,
        containers=containers,
        elements=elements,
        fresh=fresh,
    )


def _agree(source: MarkupSource, elements: list[etree._Element], count: int) -> bool:
    """True when a sound tree's entries are those that the scan saw, in number and in spelling."""
    scan = source.scan
    fits = len(elements) > count if scan.more else len(elements) == count
    if not fits or not scan.regular:
        return False
    prefix, _, local = scan.name.decode().rpartition(":")
    elements = elements[:count]
    tags = {element.tag for element in elements}
    return {element.prefix for element in elements} <= {prefix or None} and {
        tag.rpartition("}")[2] for tag in tags
    } <= {local}


def _read(reading: _Reading) -> ParsedFeed:
    job, source, tree = reading.job, reading.source, reading.tree
    notes: set[RepairCode] = set()
    scope = ElementScope(
        base=job.document.url,
        lang=None,
        inherits=_INHERITED.search(reading.text) is not None,
        limits=job.limits,
        notes=notes,
    )
    cut = _is_cut(tree, source)
    fields, read = _values(reading, scope, cut=cut)
    entries = read.entries
    form = handlers.format_of(tree.root) or "rss20"
    if form.startswith("atom"):
        entries = _with_feed_authors(entries, fields)
    capped = source.scan.more or len(entries) < len(reading.elements) > job.limits.max_items
    return ParsedFeed(
        **fields,
        format=form,
        encoding=job.decoded.encoding,
        encoding_source=job.decoded.source,
        entries=entries,
        touched=source.touched(reading.fresh),
        repairs=_repairs(source, tree, notes, job.limits, hasty=read.hasty, cut=cut, capped=capped),
        truncated=cut or capped,
    )


class Salvaged(Value):
    """Entries, and how many of them were broken and too many to mend."""

    entries: tuple[ParsedEntry, ...]
    hasty: int = 0


def _values(
    reading: _Reading, scope: ElementScope, *, cut: bool
) -> tuple[dict[str, Any], Salvaged]:
    """The feed's fields, and the entries within the limit."""
    source = reading.source
    if reading.tree.sound or not source.spans:
        fields, inside = handlers.read_feed(reading.containers, scope)
        # Without slices it is unknown where a broken document was cut: take its last entry.
        elements = reading.elements[:-1] if cut else reading.elements
        return fields, Salvaged(entries=_read_elements(reading, elements, inside))
    scope.notes.add("items-salvaged")
    fields, inside = handlers.read_feed(reading.containers, scope)
    return fields, read_slices(source, reading.fresh, inside)


def _read_elements(
    reading: _Reading, elements: list[etree._Element], scope: ElementScope
) -> tuple[ParsedEntry, ...]:
    source = reading.source
    if not source.spans:
        elements = elements[: scope.limits.max_items]
        return tuple([handlers.read_entry(element, scope, None) for element in elements])
    return tuple(
        [
            handlers.read_entry(element, scope, source.place(number))
            for element, number in zip(elements, reading.fresh, strict=False)
        ]
    )


def _with_feed_authors(
    entries: tuple[ParsedEntry, ...], fields: dict[str, Any]
) -> tuple[ParsedEntry, ...]:
    """RFC 4287 §4.2.1: an entry without an author has its source's, else the feed's."""
    authors = fields.get("authors", ())
    return tuple(
        [
            entry
            if entry.authors or not (inherited := _source_authors(entry) or authors)
            else replace(entry, authors=inherited)
            for entry in entries
        ]
    )


def _source_authors(entry: ParsedEntry) -> tuple[object, ...]:
    return entry.source.authors if entry.source is not None else ()


def _is_cut(tree: Tree, source: MarkupSource) -> bool:
    """The document ended too early: the parser says so, and the root's end tag is missing."""
    if not (tree.cut or tree.deep or source.scan.cut):
        return False
    name = _ROOT_NAME.match(source.utf8, source.root)
    last = source.spans[-1][1] if source.spans else source.root
    return tree.deep or name is None or source.utf8.rfind(b"</" + name[1], last) < 0


def _repairs(
    source: MarkupSource,
    tree: Tree,
    notes: set[RepairCode],
    limits: ParseLimits,
    *,
    hasty: int,
    cut: bool,
    capped: bool,
) -> tuple[Repair, ...]:
    repairs = [*source.repairs, *tree.repairs]
    repairs += [Repair(code=note, detail=_NOTES[note]) for note in sorted(notes)]
    if hasty:
        detail = (
            f"{hasty:,} after more broken ones than are mended: as far as they could be recovered"
        )
        repairs.append(Repair(code="items-salvaged", detail=detail))
    if cut:
        detail = "the document ends in the middle; an entry that was cut is not kept"
        repairs.append(Repair(code="truncated", detail=detail))
    if capped:
        repairs.append(Repair(code="items-capped", detail=f"only {limits.max_items:,} are read"))
    return tuple(repairs)


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
